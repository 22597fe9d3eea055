package daemon

import (
	"bytes"
	"net"
	"net/netip"
	"strings"
	"testing"

	"cnuas/internal/topology"
)

const tunnelled = `
name = "tunnels"
[defaults]
link = { tunnel = true }
[[node]]
name = "h1"
[[node]]
name = "h2"
[[switch]]
name = "s1"
kind = "ib"
[[link]]
a = "h1"
b = "s1"
[[link]]
a = "h2"
b = "s1"
`

// The socket of tunnels: none without tunnels; the default port or, if that is
// taken, any; the one that the topology asks for or an error.
func TestListenTunnels(t *testing.T) {
	listen := func(text string) (*Daemon, *bytes.Buffer, error) {
		s, problems := topology.Parse("t.toml", []byte(text))
		if s == nil {
			t.Fatal(problems)
		}
		var log bytes.Buffer
		d := &Daemon{cfg: Config{Spec: s, Scale: 2, Log: &log}}
		o, err := d.listenTunnels()
		if (o != nil) != (d.tunnels != nil) {
			t.Errorf("options %+v, socket %v", o, d.tunnels)
		}
		if o != nil && (o.At != d.tunnels.Addr() || o.Hub.Session == 0 || o.Hub.Scale != 2) {
			t.Errorf("%+v", o)
		}
		if d.tunnels != nil {
			t.Cleanup(func() { d.tunnels.Close() })
		}
		return d, &log, err
	}
	if d, _, err := listen(strings.Replace(tunnelled, "tunnel = true", "tunnel = false", 1)); d.tunnels != nil || err != nil {
		t.Errorf("a socket for nothing, %v", err)
	}
	// Somebody has the default port: this test, or already another fabric.
	if c, err := net.ListenPacket("udp", "127.0.0.1:4793"); err == nil {
		defer c.Close()
	}
	d, log, err := listen(tunnelled)
	if err != nil || d.tunnels.Addr().Port() == 4793 || !strings.Contains(log.String(), "127.0.0.1:4793 is taken, so they are at "+d.tunnels.Addr().String()) {
		t.Fatalf("%v, %s", err, log)
	}
	given := netip.AddrPortFrom(d.tunnels.Addr().Addr(), d.tunnels.Addr().Port())
	if _, _, err := listen("[tunnel]\nlisten = \"" + given.String() + "\"\n" + strings.Replace(tunnelled, "\nname = \"tunnels\"", "", 1)); err == nil || !strings.Contains(err.Error(), "another fabric or cnuas switch has it") {
		t.Errorf("a port that is taken: %v", err)
	}
}
