package fabric

import (
	"testing"

	"cnuas/internal/topology"
)

type taker struct{ n int }

func (t *taker) Deliver([]byte) bool { t.n++; return true }

// TestManagement: the ports are those of the Spec, and what passes between them
// leaves no event, no frame and nothing in the fabric's accounts.
func TestManagement(t *testing.T) {
	spec, bad := topology.Parse("mgmt.toml", []byte(`
name = "mgmt"
[[switch]]
name = "s1"
[[node]]
name = "h1"
[[node]]
name = "h2"
management = true
[[node]]
name = "h3"
management = true
[[link]]
a = "h1:eth0"
b = "s1:1"
[[link]]
a = "h2:eth0"
b = "s1:2"
[[link]]
a = "h3:eth0"
b = "s1:3"
`))
	if bad != nil {
		t.Fatal(bad)
	}
	f, err := Build(spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := f.ManagementPort(0); ok {
		t.Error("h1 has a management port")
	}
	p2, ok2 := f.ManagementPort(1)
	p3, ok3 := f.ManagementPort(2)
	if !ok2 || !ok3 || f.Management().Name(p2) != "h2:mgmt0" || f.Management().Name(p3) != "h3:mgmt0" {
		t.Fatalf("ports %d %v, %d %v", p2, ok2, p3, ok3)
	}
	a, b := &taker{}, &taker{}
	f.Management().Plug(p2, a)
	f.Management().Plug(p3, b)
	m := spec.Management
	frame := append(append(m.Ports[p3].MAC[:], m.Ports[p2].MAC[:]...), 8, 0, 0x45)
	f.Management().Send(f.Engine.Now(), p2, frame)
	s := f.Snapshot()
	if a.n != 0 || b.n != 1 || f.Engine.Fired() != 0 || f.Pool.Live() != 0 || len(f.Check()) != 0 {
		t.Errorf("delivered %d and %d, %d events, %d frames, %v", a.n, b.n, f.Engine.Fired(), f.Pool.Live(), f.Check())
	}
	if s.Nodes[0].Management != nil || s.Nodes[1].Management.TxFrames != 1 || s.Nodes[2].Management.RxBytes != 15 || s.Nodes[2].Management.MTU != 1500 {
		t.Errorf("%+v %+v", s.Nodes[1].Management, s.Nodes[2].Management)
	}
}
