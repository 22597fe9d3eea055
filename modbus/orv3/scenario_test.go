package orv3

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update)", err)
	}
	if !bytes.Equal(want, got) {
		w, g := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
		for i := range min(len(w), len(g)) {
			if w[i] != g[i] {
				t.Fatalf("%s line %d (run with -update if it is meant):\n-%s\n+%s", path, i+1, w[i], g[i])
			}
		}
		t.Fatalf("%s: %d lines, want %d (run with -update if it is meant)", path, len(g), len(w))
	}
}

// bench is a PSU shelf and a BBU shelf that backs it.
type bench struct {
	t testing.TB
	e *sim.Engine
	p *Plant
}

func newBench(t testing.TB, modules int, load float64) *bench {
	t.Helper()
	cfg := PlantConfig{Seed: 11, Unix: 1767225600, Shelves: []ShelfConfig{
		{Name: "psu", Kind: "hpr-psu", Load: load, PMM: &SlotConfig{Name: "pmm", Address: 0x20}},
		{Name: "bbu", Kind: "hpr-bbu", PMM: &SlotConfig{Name: "pmm", Address: 0x10}},
	}}
	for i := range modules {
		cfg.Shelves[0].Slots = append(cfg.Shelves[0].Slots, SlotConfig{Number: i + 1, Name: fmt.Sprintf("psu%d", i+1), Address: uint8(0x90 + i)})
		cfg.Shelves[1].Slots = append(cfg.Shelves[1].Slots, SlotConfig{Number: i + 1, Name: fmt.Sprintf("bbu%d", i+1), Address: uint8(0x30 + i)})
	}
	e := sim.NewEngine(1)
	p, err := NewPlant(e.NewProc(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t, e, p}
}

func (b *bench) at(s float64) { b.e.RunUntil(sim.Time(s*1000) * sim.Millisecond) }

func (b *bench) dev(name string) *Device {
	d, err := b.p.find(name)
	if err != nil {
		b.t.Fatal(err)
	}
	return d
}

// word reads one register over the interface that the slave engine uses.
func (b *bench) word(dev string, addr uint16) uint16 {
	b.t.Helper()
	var w [1]uint16
	if x := b.dev(dev).ReadRegisters(b.e.Now(), addr, w[:]); x != rtu.OK {
		b.t.Fatalf("%s %d: exception %d", dev, addr, x)
	}
	return w[0]
}

// value reads a register by its name, in its unit.
func (b *bench) value(dev, name string) float64 {
	b.t.Helper()
	d := b.dev(dev)
	r, ok := d.Map().ByName(name)
	if !ok {
		b.t.Fatalf("%s has no %s", dev, name)
	}
	w := make([]uint16, r.Words)
	if x := d.ReadRegisters(b.e.Now(), r.Addr, w); x != rtu.OK {
		b.t.Fatalf("%s %s: exception %d", dev, name, x)
	}
	return r.Decode(w)
}

// line is what a master sees now.
func (b *bench) line(out *bytes.Buffer) {
	fmt.Fprintf(out, "%8.1fs  pin %6.0f pout %6.0f vout %6.2f vin %6.1f hot %5.1f fan %5.0f outages %2.0f | soc %3.0f vbat %6.2f ibat %7.2f idis %6.1f rtte %5.0f events %2.0f vbus %6.2f shelf %5.0f ac %1.0f",
		b.e.Now().Seconds(), b.value("psu/psu1", "PSU_Input_Power"), b.value("psu/psu1", "PSU_Output_Power"), b.value("psu/psu1", "PSU_Output_Voltage"),
		b.value("psu/psu1", "PSU_Input_Voltage_AC"), b.value("psu/psu1", "PSU_Max_Temp"), b.value("psu/psu1", "PSU_RPM_Fan1"), b.value("psu/psu1", "AC_Outage_Counter"),
		b.value("bbu/bbu1", "Relative_State_Of_Charge"), b.value("bbu/bbu1", "Battery_Voltage"), b.value("bbu/bbu1", "Battery_Current"),
		b.value("bbu/bbu1", "Discharge_Current"), b.value("bbu/bbu1", "Run_Time_To_Empty"), b.value("bbu/bbu1", "Count_of_Discharge_Events"),
		b.value("bbu/bbu1", "Shelf_Busbar_Voltage"), b.value("bbu/bbu1", "PSU_Shelf_Output_Power"), b.value("bbu/bbu1", "PSU_AC_OK"))
	fmt.Fprintf(out, " | psu %04x %04x %04x %04x bbu %04x %04x %04x pmm %04x %04x %04x\n",
		b.word("psu/psu1", 60), b.word("psu/psu1", 61), b.word("psu/psu1", 62), b.word("psu/psu1", 63),
		b.word("bbu/bbu1", 104), b.word("bbu/bbu1", 107), b.word("bbu/bbu1", 108),
		b.word("psu/pmm", 87), b.word("psu/pmm", 88), b.word("psu/pmm", 89))
}

// scenarios act on a bench at times, in seconds.
var scenarios = []struct {
	name    string
	modules int
	load    float64
	end     float64
	every   float64
	steps   []step
}{
	{"ac_loss", 6, 20000, 4000, 40, []step{
		{60.03, func(b *bench) error { return b.p.SetAC(0, -1, false) }},
		{200, func(b *bench) error { return b.p.SetAC(0, -1, true) }},
	}},
	{"ac_loss_to_the_end", 6, 26000, 500, 10, []step{
		{20, func(b *bench) error { return b.p.SetAC(0, -1, false) }},
		{400.5, func(b *bench) error { return b.p.SetAC(0, -1, true) }},
	}},
	{"phase_loss", 6, 24000, 200, 5, []step{
		{20, func(b *bench) error { return b.p.SetAC(0, 0, false) }},
		{100, func(b *bench) error { return b.p.SetAC(0, 0, true) }},
	}},
	{"redundancy", 6, 26000, 120, 3, []step{
		{20, func(b *bench) error { b.dev("psu/psu1").Unplug(); return nil }},
		{40, func(b *bench) error { return b.p.SetFault("psu/psu2", "pfc_fault", true) }},
		{60, func(b *bench) error { return b.p.SetFault("psu/psu2", "pfc_fault", false) }},
		{80, func(b *bench) error { b.dev("psu/psu1").Plug(); return nil }},
	}},
	{"over_temperature", 6, 20000, 400, 10, []step{
		{30, func(b *bench) error { return b.p.SetFault("psu/psu1", "over_temperature", true) }},
		{200, func(b *bench) error { return b.p.SetFault("psu/psu1", "over_temperature", false) }},
		{300, func(b *bench) error { return b.p.SetFault("psu/psu1", "fan_fault", true) }},
	}},
	{"overload", 2, 8000, 100, 1, []step{
		{10, func(b *bench) error { b.p.SetLoad(0, 14000); return nil }},
		{30, func(b *bench) error { b.p.SetLoad(0, 30000); return nil }},
		{50, func(b *bench) error { b.p.SetLoad(0, 8000); return nil }},
	}},
}

type step struct {
	at float64
	do func(b *bench) error
}

// TestScenarios runs each scenario twice: once read at its lines only, once
// read all the time as well. Both give the same table.
func TestScenarios(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			var out [2]bytes.Buffer
			for run := range out {
				b := newBench(t, s.modules, s.load)
				steps := s.steps
				for now := 0.0; now <= s.end; now += s.every {
					for len(steps) > 0 && steps[0].at <= now {
						b.at(steps[0].at)
						if err := steps[0].do(b); err != nil {
							t.Fatal(err)
						}
						steps = steps[1:]
					}
					if run == 1 {
						for x := b.e.Now().Seconds(); x < now; x += s.every / 7.3 {
							b.at(x)
							b.p.Snapshot()
							b.word("bbu/bbu1", 94)
						}
					}
					b.at(now)
					b.line(&out[run])
				}
				for _, d := range b.p.Devices() {
					for _, e := range d.Events() {
						if strings.HasSuffix(d.Name(), "1") || strings.HasSuffix(d.Name(), "pmm") {
							fmt.Fprintf(&out[run], "%s %.1fs %s %d\n", d.Name(), e.At.Seconds(), e.Name, e.Value)
						}
					}
				}
				if n := b.p.shelves[0].zone.books.Balance(); n != 0 {
					t.Errorf("the books miss %d uJ", n)
				}
			}
			if !bytes.Equal(out[0].Bytes(), out[1].Bytes()) {
				a, c := strings.Split(out[0].String(), "\n"), strings.Split(out[1].String(), "\n")
				for i := range a {
					if i < len(c) && a[i] != c[i] {
						t.Fatalf("reading changed the model, line %d:\n%s\n%s", i+1, a[i], c[i])
					}
				}
			}
			golden(t, s.name+".txt", out[0].Bytes())
		})
	}
}
