package rack

import (
	"testing"

	"cnuas/internal/topology"
	"cnuas/modbus/orv3"
	"cnuas/modbus/rtu"
)

// TestVentura2: the 56 slaves of a real rack's first segment answer one client
// of its terminal, each time.
func TestVentura2(t *testing.T) {
	spec, bad := topology.Parse("v.toml", []byte("rack = \"ventura2\"\n[generate]\ntype = \"star\"\nhosts = 2\n"))
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	r := run(t, spec.Rack, Options{Nodes: func() []float64 { return []float64{500, 500} }})
	seg := spec.Rack.Segments[0]
	c := client(t, r.TTY(seg.Name), seg.Line)
	asked := uint64(0)
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	for range rounds {
		for i := range spec.Rack.Shelves {
			s := &spec.Rack.Shelves[i]
			if s.Segment != 0 {
				continue
			}
			for _, x := range s.Devices() {
				name := s.Name + "/" + x.Name
				for _, g := range registers(r, s.Name, x.Name) {
					if _, err := c.ReadRegisters(x.Address, g.Addr, g.Words); err != nil {
						t.Fatalf("%s, register %d: %v", name, g.Addr, err)
					}
					asked++
				}
			}
		}
	}
	r.Do(func() {
		n := r.Segment(seg.Name).Counters()
		if len(n.Stations) != 56 || n.Replies != asked || n.BadFrames+n.Exceptions+n.Unanswered+n.BadReplies+n.Collisions != 0 {
			t.Errorf("%d stations; %d asked: %+v", len(n.Stations), asked, n)
		}
	})
	if c.Bad+c.Timeouts+c.Exceptions != 0 || c.Port.Line() != (rtu.Line{Baud: 115200, Data: 8, Parity: rtu.Even, Stop: 1}) {
		t.Errorf("%+v", c)
	}
}

// registers are the first, the last and one between of a device's map.
func registers(r *Rack, shelf, slot string) (l []orv3.Register) {
	r.Do(func() {
		m := r.Plant().Device(shelf, slot).Map().Registers
		l = []orv3.Register{m[0], m[len(m)/2], m[len(m)-1]}
	})
	return l
}
