package orv3

import (
	"testing"

	"cnuas/internal/sim"
)

// TestMainsLossHooks is what masters watch when mains are lost and come back,
// on each generation: the registers and bits that the public maps name.
func TestMainsLossHooks(t *testing.T) {
	type bit struct {
		dev  string
		addr uint16
		mask uint16
		want [3]uint16 // before, while mains are lost, after recharging
	}
	for _, c := range []struct {
		psu, bbu string
		bits     []bit
		soc      string
	}{
		{"orv3-psu", "orv3-bbu", []bit{
			{"p/a", 60, 1, [3]uint16{0, 1, 0}},
			{"p/a", 61, 0x0301, [3]uint16{0, 0x0301, 0}},
			{"p/a", 57, 0xffff, [3]uint16{0, 1, 1}},
			{"b/a", 107, 2, [3]uint16{0, 2, 0}},
			{"b/a", 108, 0x70, [3]uint16{0x20, 0x40, 0x20}},
			{"b/a", 311, 1, [3]uint16{1, 0, 1}},
			{"b/a", 167, 0xffff, [3]uint16{0, 1, 1}},
		}, "Relative_State_Of_Charge"},
		{"hpr-psu", "hpr-bbu", []bit{
			{"p/a", 61, 0x1301, [3]uint16{0, 0x1301, 0}},
			{"b/a", 107, 2, [3]uint16{0, 2, 0}},
			{"b/a", 108, 0x70, [3]uint16{0x20, 0x40, 0x20}},
			{"b/a", 164, 0x0600, [3]uint16{0x0600, 0, 0x0600}},
			{"b/a", 311, 1, [3]uint16{1, 0, 1}},
		}, "Relative_State_Of_Charge"},
		{"orv2-psu", "", []bit{
			{"p/a", 104, 0x2800, [3]uint16{0, 0x2800, 0}},
			{"p/a", 108, 0x70, [3]uint16{0x20, 0x40, 0x20}},
			{"p/a", 208, 1, [3]uint16{0, 1, 0}},
			{"p/a", 209, 0x0301, [3]uint16{0x0100, 0x0201, 0x0100}},
		}, "BBU Relative State of Charge (0x0D of the BBU)"},
	} {
		cfg := PlantConfig{Seed: 2, Shelves: []ShelfConfig{{Name: "p", Kind: c.psu, Load: 5000}}}
		if c.bbu != "" {
			cfg.Shelves = append(cfg.Shelves, ShelfConfig{Name: "b", Kind: c.bbu})
		}
		for i := range cfg.Shelves {
			for n := range 3 {
				cfg.Shelves[i].Slots = append(cfg.Shelves[i].Slots, SlotConfig{Number: n + 1, Name: string(rune('a' + n)), Address: uint8(10*i + n + 1)})
			}
		}
		e := sim.NewEngine(1)
		p, err := NewPlant(e.NewProc(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		b := &bench{t, e, p}
		bat := "b/a"
		if c.bbu == "" {
			bat = "p/a"
		}
		var soc [3]float64
		for phase, at := range []float64{30, 90, 9000} {
			b.at(at)
			for _, x := range c.bits {
				if got := b.word(x.dev, x.addr) & x.mask; got != x.want[phase] {
					t.Errorf("%s, phase %d: %s register %d & %04x = %04x, want %04x", c.psu, phase, x.dev, x.addr, x.mask, got, x.want[phase])
				}
			}
			soc[phase] = b.value(bat, c.soc)
			if phase < 2 {
				if err := p.SetAC(0, -1, phase == 1); err != nil {
					t.Fatal(err)
				}
			}
			if v := b.p.Snapshot().Shelves[0].Busbar; v < 11 {
				t.Errorf("%s, phase %d: busbar %g V", c.psu, phase, v)
			}
		}
		if soc[0] != 100 || soc[1] > 97 || soc[1] < 50 || soc[2] != 100 {
			t.Errorf("%s: state of charge %v", c.psu, soc)
		}
		if n := p.shelves[0].zone.books.Balance(); n != 0 {
			t.Errorf("%s: the books miss %d uJ", c.psu, n)
		}
	}
}

// FuzzPlant acts on a rack of all kinds as bytes say; nothing panics and the
// books stay true.
func FuzzPlant(f *testing.F) {
	f.Add([]byte{0, 3, 1, 200, 4, 9, 2, 1, 3, 5, 9, 9, 7, 3, 1, 0, 8, 2, 3, 0x31, 0xaa})
	f.Add([]byte("a longer run of arbitrary things that somebody may do to a rack in some order"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 400 {
			return
		}
		e, p := rackOfAll(t)
		next := func() int {
			if len(b) == 0 {
				return 0
			}
			x := b[0]
			b = b[1:]
			return int(x)
		}
		var w [123]uint16
		for len(b) > 0 {
			op := next()
			d := p.devices[next()%len(p.devices)]
			x := next()
			switch op % 8 {
			case 0:
				p.SetLoad(x%len(p.shelves), float64(next())*300)
			case 1:
				if err := p.SetAC(x%len(p.shelves), next()%4-1, next()%2 == 0); err == nil && p.zoneOf(x%len(p.shelves)) == nil {
					t.Fatal("mains of a shelf without")
				}
			case 2:
				if l := Faults(d.kind.Name); len(l) > 0 {
					if err := d.SetFault(l[x%len(l)], next()%2 == 0); err != nil {
						t.Fatal(err)
					}
				}
			case 3:
				d.Unplug()
			case 4:
				d.Plug()
			case 5:
				addr := uint16(x)<<8 | uint16(next())
				d.ReadRegisters(e.Now(), addr, w[:next()%123+1])
			case 6:
				addr := uint16(x)<<8 | uint16(next())
				n := next()%4 + 1
				for i := range n {
					w[i] = uint16(next())<<8 | uint16(next())
				}
				d.WriteRegisters(e.Now(), addr, w[:n])
			case 7:
				e.RunUntil(e.Now() + sim.Time(x*x)*10*sim.Millisecond)
				p.Snapshot()
			}
		}
		e.RunUntil(e.Now() + 100*sim.Second)
		p.Snapshot()
		for _, s := range p.shelves {
			if z := s.zone; z != nil && z.shelf == s && z.books.Balance() != 0 {
				t.Fatalf("%s: the books miss %d uJ: %+v", s.cfg.Name, z.books.Balance(), z.books)
			}
		}
		for _, d := range p.devices {
			if d.bat != nil && (d.bat.stored < 0 || d.bat.stored > d.bat.full) {
				t.Fatalf("%s holds %d of %d uJ", d.Name(), d.bat.stored, d.bat.full)
			}
		}
	})
}
