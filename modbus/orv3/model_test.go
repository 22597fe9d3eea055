package orv3

import (
	"math"
	"testing"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// TestEnergyIsConserved runs five hours with loads, losses of mains, unplugging
// and overload, and holds the books against sums that it makes itself.
func TestEnergyIsConserved(t *testing.T) {
	b := newBench(t, 6, 0)
	z := b.p.shelves[0].zone
	var served, input, lost float64 // J
	h := 0.1
	load := 0.0
	for i := 0; i < 5*3600*10; i++ {
		s := float64(i) * h
		switch {
		case i%6000 == 0:
			load = 3000 + 1000*float64(i/6000%25)
			b.p.SetLoad(0, load)
		case i%30000 == 10000:
			b.p.SetAC(0, -1, false)
		case i%30000 == 12000:
			b.p.SetAC(0, -1, true)
		case i%30000 == 20000:
			b.p.SetAC(0, i/30000%3, false)
		case i%30000 == 24000:
			b.p.SetAC(0, -1, true)
		case i == 70000:
			b.dev("psu/psu2").Unplug()
			b.dev("bbu/bbu1").Unplug()
		case i == 90000:
			b.dev("psu/psu2").Plug()
			b.dev("bbu/bbu1").Plug()
		}
		if z.powered {
			served += (z.demand - z.short) * h
		}
		for _, d := range z.psus {
			input += (d.psu.out + d.psu.loss) * h
			x := d.psu.out / d.psu.rated
			if d.psu.on && z.powered {
				lost += d.psu.rated * (0.004 + 0.008*x + 0.012*x*x) * h
			} else {
				lost += d.psu.loss * h
			}
		}
		b.at(s + h)
		b.p.advance(b.e.Now())
	}
	k := z.books
	if k.Balance() != 0 {
		t.Errorf("the books miss %d uJ", k.Balance())
	}
	if k.Unserved == 0 || k.BatteryLoss == 0 || k.Stored == k.StoredAtStart {
		t.Errorf("the scenario did not reach what it should: %+v", k)
	}
	// A step is booked in whole microjoules: by so much the sums may differ.
	near(t, "served", float64(k.Served)/1e6, served, 1e-9*input)
	near(t, "PSU losses", float64(k.PSULoss)/1e6, lost, 1e-9*input)
	near(t, "input", float64(k.Input)/1e6, input, 1e-9*input)
	var in, out, loss, bloss, stored int64
	for _, d := range z.psus {
		in, out, loss = in+d.psu.inJ, out+d.psu.outJ, loss+d.psu.lossJ
		if d.psu.inJ != d.psu.outJ+d.psu.lossJ {
			t.Errorf("%s: in %d, out %d, lost %d uJ", d.Name(), d.psu.inJ, d.psu.outJ, d.psu.lossJ)
		}
	}
	var bin, bout int64
	for _, d := range z.bats {
		bin, bout, bloss, stored = bin+d.bat.inJ, bout+d.bat.outJ, bloss+d.bat.lossJ, stored+d.bat.stored
		if got := d.bat.full + d.bat.inJ - d.bat.outJ - d.bat.lossJ; got != d.bat.stored {
			t.Errorf("%s: its flows leave %d uJ, it holds %d", d.Name(), got, d.bat.stored)
		}
		if d.bat.stored < 0 || d.bat.stored > d.bat.full {
			t.Errorf("%s holds %d of %d uJ", d.Name(), d.bat.stored, d.bat.full)
		}
	}
	if in != k.Input || loss != k.PSULoss || bloss != k.BatteryLoss || stored != k.Stored || out+bout-bin != k.Served {
		t.Errorf("modules: in %d, lost %d, batteries lost %d, stored %d, served %d; books %+v", in, loss, bloss, stored, out+bout-bin, k)
	}
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s: %.12g, want %.12g +- %.2g", what, got, want, tolerance)
	}
}

// TestStrideEqualsSteps: hours crossed in one stride give what single steps do.
func TestStrideEqualsSteps(t *testing.T) {
	var words [2][]uint16
	var books [2]Books
	for run := range words {
		b := newBench(t, 6, 15000)
		for s := 100.0; run == 1 && s < 7200; s += 13.37 {
			b.at(s)
			b.p.Snapshot()
		}
		b.at(7200)
		words[run] = make([]uint16, 58)
		if x := b.dev("psu/psu3").ReadRegisters(b.e.Now(), 0, words[run]); x != rtu.OK {
			t.Fatal(x)
		}
		books[run] = b.p.shelves[0].zone.books
	}
	if books[0] != books[1] {
		t.Errorf("books differ:\n%+v\n%+v", books[0], books[1])
	}
	for i := range words[0] {
		if words[0][i] != words[1][i] {
			t.Errorf("register %d: %04x and %04x", i, words[0][i], words[1][i])
		}
	}
}

// TestMeasurementsHangTogether: power is voltage times current, input power
// output by the efficiency, within what the registers can tell.
func TestMeasurementsHangTogether(t *testing.T) {
	for _, kind := range []string{"orv2-psu", "orv3-psu", "hpr-psu", "power-tether"} {
		k, _ := KindOf(kind)
		cfg := PlantConfig{Seed: 5, Shelves: []ShelfConfig{{Name: "s", Kind: kind}}}
		for n := range k.MaxSlots {
			cfg.Shelves[0].Slots = append(cfg.Shelves[0].Slots, SlotConfig{Number: n + 1, Name: string(rune('a' + n)), Address: uint8(n + 1)})
		}
		e := sim.NewEngine(1)
		p, err := NewPlant(e.NewProc(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		b := &bench{t, e, p}
		name := func(s string) string {
			if kind != "orv2-psu" {
				return s
			}
			return map[string]string{"PSU_Input_Voltage_AC": "PSU Input VAC", "PSU_Input_Current_AC": "PSU Input Current AC"}[s]
		}
		for i, load := range []float64{100, 2000, 4500, 5500} {
			p.SetLoad(0, load)
			b.at(float64(i+1) * 100)
			v, a, w := b.value("s/a", "PSU_Output_Voltage"), b.value("s/a", "PSU_Output_Current"), b.value("s/a", "PSU_Output_Power")
			if math.Abs(v*a-w) > v/64+a/512+0.25 {
				t.Errorf("%s at %g W: %g V * %g A is not %g W", kind, load, v, a, w)
			}
			in := b.value("s/a", "PSU_Input_Power")
			if eta := w / in; load > 2000 && (eta < 0.96 || eta > 0.985) {
				t.Errorf("%s at %g W: efficiency %g", kind, load, eta)
			}
			if kind != "power-tether" {
				vi, ai, pf := b.value("s/a", name("PSU_Input_Voltage_AC")), b.value("s/a", name("PSU_Input_Current_AC")), b.value("s/a", "PSU_Power_Factor")
				if math.Abs(vi*ai*pf-in) > 0.005*in+2 {
					t.Errorf("%s at %g W: %g V * %g A * %g is not %g W", kind, load, vi, ai, pf, in)
				}
			}
		}
	}
}

// TestNothingIsAbsurd reads every register of every kind and holds its value
// against what a value of that unit can be; nothing is in alarm.
func TestNothingIsAbsurd(t *testing.T) {
	e, p := rackOfAll(t)
	e.RunUntil(300 * sim.Second)
	limits := map[string][2]float64{"V": {0, 420}, "A": {-150, 160}, "W": {0, 60000}, "C": {20, 75}, "rpm": {0, 17000}, "%": {0, 100}, "Hz": {59, 61},
		"Ah": {0, 40}, "Wh": {0, 1000}, "kPa": {0, 400}, "l/min": {0, 300}, "J": {0, 30000}, "rad": {0, 2}, "h": {0, 100}}
	seen := map[string]int{}
	for _, d := range p.Devices() {
		if d.Alarm(e.Now()) {
			t.Errorf("%s is in alarm: %v", d.Name(), d.alarmFlags(e.Now()))
		}
		for i := range d.m.Registers {
			r := d.registerState(i, e.Now())
			if r.Format == "STRING" && r.Text == "" {
				t.Errorf("%s %d %s is empty", d.Name(), r.Addr, r.Name)
			}
			if l, ok := limits[r.Unit]; ok && (r.Value < l[0] || r.Value > l[1]) {
				t.Errorf("%s %d %s = %s", d.Name(), r.Addr, r.Name, r.Text)
			}
			seen[r.Unit]++
		}
	}
	for u := range limits {
		if seen[u] == 0 {
			t.Errorf("no register has unit %s", u)
		}
	}
}

func TestReadsDoNotAllocate(t *testing.T) {
	b := newBench(t, 6, 15000)
	d, pmm := b.dev("bbu/bbu1"), b.dev("psu/pmm")
	var w [48]uint16
	s := 0.0
	if n := testing.AllocsPerRun(100, func() {
		s += 0.3
		b.at(s)
		d.ReadRegisters(b.e.Now(), 121, w[:3])
		d.ReadRegisters(b.e.Now(), 133, w[:38])
		pmm.ReadRegisters(b.e.Now(), 76, w[:15])
		pmm.ReadRegisters(b.e.Now(), 0x101, w[:2])
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

// BenchmarkRack is one second of a rack of 56 slaves and more while batteries
// discharge, with the reads of one master.
func BenchmarkRack(b *testing.B) {
	pop := Ventura2()
	cfg := PlantConfig{Seed: 1}
	for _, s := range pop.Shelves {
		cfg.Shelves = append(cfg.Shelves, s.ShelfConfig)
	}
	e := sim.NewEngine(1)
	p, err := NewPlant(e.NewProc(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	var w [120]uint16
	for i := range b.N {
		if i%200 == 0 {
			p.SetAC(0, -1, i/200%2 == 1)
			p.SetLoad(0, float64(5000+i%7*1000))
		}
		e.RunUntil(sim.Time(i) * sim.Second)
		for _, d := range p.devices {
			d.ReadRegisters(e.Now(), 0, w[:32])
		}
	}
}
