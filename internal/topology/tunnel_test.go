package topology

import (
	"strings"
	"testing"
)

func TestTunnels(t *testing.T) {
	s := mustParse(t, twoIB(""))
	if s.HasTunnels() || s.TunnelListen.IsValid() {
		t.Error("a fabric has tunnels that nobody asked for")
	}
	s = mustParse(t, twoIB(`
[tunnel]
listen = "127.0.0.1:4800"
[defaults]
link = { tunnel = true }`))
	if !s.HasTunnels() || !s.Links[1].IB.Tunnel || s.TunnelListen.String() != "127.0.0.1:4800" || s.Remote(s.Links[0].B).IsValid() {
		t.Errorf("%+v, %v", s.Links[1].IB, s.TunnelListen)
	}
	s = mustParse(t, strings.Replace(twoIB(""), `kind = "ib"`, "kind = \"ib\"\nremote = \"[::1]:4794\"", 1)+"[tunnel]\nlisten = \"[::1]:4793\"\n")
	if l := s.Links[0]; !s.HasTunnels() || !l.IB.Tunnel || s.Remote(l.B).String() != "[::1]:4794" || s.Remote(l.A).IsValid() {
		t.Errorf("%+v", l)
	}
}
