package orv3

import (
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// TestHolesAndWrites: what is not there or may not be written is exception 2 as
// a whole, a value out of bounds exception 3, and nothing has changed then.
func TestHolesAndWrites(t *testing.T) {
	b := newBench(t, 2, 3000)
	read := func(dev string, addr uint16, n int) rtu.Exception {
		return b.dev(dev).ReadRegisters(b.e.Now(), addr, make([]uint16, n))
	}
	for _, c := range []struct {
		dev  string
		addr uint16
		n    int
		want rtu.Exception
	}{
		{"psu/psu1", 0, 58, rtu.OK},
		{"psu/psu1", 0, 59, rtu.IllegalDataAddress}, // 58 is a hole
		{"psu/psu1", 58, 1, rtu.IllegalDataAddress},
		{"psu/psu1", 59, 2, rtu.IllegalDataAddress},
		{"psu/psu1", 60, 40, rtu.OK},
		{"psu/psu1", 99, 2, rtu.IllegalDataAddress},
		{"psu/psu1", 53, 1, rtu.OK}, // the second word of a number
		{"psu/psu1", 126, 1, rtu.IllegalDataAddress},
		{"psu/psu1", 0xffff, 2, rtu.IllegalDataAddress},
		{"psu/psu1", 0x302, 1, rtu.OK},
		{"psu/psu1", 0x305, 1, rtu.IllegalDataAddress},
		{"psu/pmm", 0x188, 24, rtu.OK},
		{"psu/pmm", 0x188, 25, rtu.IllegalDataAddress}, // no profile names 0x1a0
		{"bbu/pmm", 0x101, 11, rtu.OK},
		{"bbu/pmm", 0x100, 12, rtu.IllegalDataAddress},
	} {
		if got := read(c.dev, c.addr, c.n); got != c.want {
			t.Errorf("%s read %d+%d: exception %d, want %d", c.dev, c.addr, c.n, got, c.want)
		}
	}
	for _, c := range []struct {
		dev  string
		addr uint16
		src  []uint16
		want rtu.Exception
	}{
		{"psu/psu1", 90, []uint16{0x6955, 0xb900}, rtu.OK},
		{"psu/psu1", 89, []uint16{1, 0x6955, 0xb900}, rtu.IllegalDataAddress}, // 89 is read only
		{"psu/psu1", 60, []uint16{0}, rtu.IllegalDataAddress},
		{"psu/psu1", 58, []uint16{0}, rtu.IllegalDataAddress},
		{"bbu/bbu1", 0x121, []uint16{90}, rtu.OK},
		{"bbu/bbu1", 0x121, []uint16{5}, rtu.IllegalDataValue},
		{"bbu/bbu1", 0x121, []uint16{90, 1}, rtu.IllegalDataAddress},
		{"bbu/bbu1", 101, []uint16{0x6955, 0xb900}, rtu.OK},
		{"psu/pmm", 80, []uint16{0x6955, 0xb900}, rtu.OK},
		{"psu/pmm", 123, []uint16{1}, rtu.OK},
		{"psu/pmm", 123, []uint16{2}, rtu.IllegalDataValue},
	} {
		if got := b.dev(c.dev).WriteRegisters(b.e.Now(), c.addr, c.src); got != c.want {
			t.Errorf("%s write %d %x: exception %d, want %d", c.dev, c.addr, c.src, got, c.want)
		}
	}
	b.at(7)
	for dev, reg := range map[string]string{"psu/psu1": "Unix_Time", "bbu/bbu1": "Wall_Clock_Time", "psu/pmm": "Unix_Time"} {
		if got := b.value(dev, reg); got != 0x6955b900+7 {
			t.Errorf("%s: clock %x", dev, int64(got))
		}
	}
	if got := b.value("psu/psu2", "Unix_Time"); got != 1767225600+7 {
		t.Errorf("the clock of another module is %x", int64(got))
	}
	if got := b.value("bbu/bbu1", "Configurable_BBU_Maximum_Discharge_Time"); got != 90 {
		t.Errorf("discharge time %g", got)
	}
	// A broadcast of the slave engine sets clocks and stays silent.
	s := rtu.NewSlave(0x91, b.dev("psu/psu2"), rtu.Options{})
	adu := rtu.AppendCRC([]byte{0, 0x10, 0, 90, 0, 2, 4, 0x70, 0, 0, 0})
	if r := s.Serve(b.e.Now(), adu, nil); r != nil {
		t.Errorf("a broadcast is answered: %x", r)
	}
	if got := b.value("psu/psu2", "Unix_Time"); got != 0x70000000 {
		t.Errorf("after the broadcast the clock is %x", int64(got))
	}
}

// TestDischargeTimeIsObeyed: the maximum discharge time that a master writes
// ends a discharge.
func TestDischargeTimeIsObeyed(t *testing.T) {
	b := newBench(t, 6, 12000)
	var lost []sim.Time
	b.p.OnPower(func(now sim.Time, shelf int, on bool) {
		if !on {
			lost = append(lost, now)
		}
	})
	for i := 1; i <= 6; i++ {
		if x := b.dev("bbu/bbu"+string(rune('0'+i))).WriteRegisters(0, 0x121, []uint16{90}); x != rtu.OK {
			t.Fatal(x)
		}
	}
	b.at(10)
	b.p.SetAC(0, -1, false)
	b.at(99.9)
	if !b.p.Snapshot().Shelves[0].Powered {
		t.Error("the busbar is down before its time")
	}
	b.at(120)
	if len(lost) != 1 || lost[0] != 100*sim.Second {
		t.Errorf("power lost at %v, want 100 s", lost)
	}
	if b.word("bbu/bbu1", 108)&(1<<11) == 0 {
		t.Error("Terminate_Discharge_Alarm is not set")
	}
}

func TestPMM(t *testing.T) {
	b := newBench(t, 6, 12000)
	pmm := b.dev("psu/pmm")
	pmm.SetBusStats(func(slot int) (uint16, uint16) { return uint16(slot * 10), uint16(slot * 100) })
	b.at(10)
	if b.word("psu/pmm", 95) != 0 || b.word("psu/pmm", 97) != 20 || b.word("psu/pmm", 104) != 300 {
		t.Errorf("counters %d %d %d", b.word("psu/pmm", 95), b.word("psu/pmm", 97), b.word("psu/pmm", 104))
	}
	for n := uint16(0); n < 6; n++ {
		dev := "psu/psu" + string(rune('1'+n))
		if v, i := b.word("psu/pmm", 0x101+16*n), b.word("psu/pmm", 0x102+16*n); v != b.word(dev, 88) || i != b.word(dev, 89) || v == 0 {
			t.Errorf("mirror of %s: %04x %04x", dev, v, i)
		}
		bb := "bbu/bbu" + string(rune('1'+n))
		for k := uint16(0); k < 11; k++ {
			if got := b.word("bbu/pmm", 0x101+16*n+k); got != b.word(bb, 90+k) {
				t.Errorf("mirror of %s register %d: %04x", bb, 90+k, got)
			}
		}
	}
	if err := b.p.SetFault("psu/psu3", "comm_fault", true); err != nil {
		t.Fatal(err)
	}
	b.dev("psu/psu6").Unplug()
	for addr, want := range map[uint16]uint16{87: 0x1f, 88: 0x04, 89: 1<<0 | 1<<4 | 1<<8, 93: 1 << 3, 90: 0x3f} {
		if got := b.word("psu/pmm", addr); got != want {
			t.Errorf("register %d is %04x, want %04x", addr, got, want)
		}
	}
	if b.word("psu/pmm", 0x151) != 0 {
		t.Error("a module that is out is mirrored")
	}
}

// TestProfilesAreProbed reads what the phosphor master compares, of a device
// with each profile.
func TestProfilesAreProbed(t *testing.T) {
	n := 0
	for _, pr := range Profiles() {
		k, ok := KindOf(pr.Kind)
		if !ok {
			t.Fatalf("%s: kind %q", pr.Name, pr.Kind)
		}
		slot := SlotConfig{Number: 1, Name: "x", Address: 1, Profile: pr.Name}
		if pr.IsShelf {
			for _, other := range Profiles() {
				if other.Shelf == pr.Name {
					slot.Profile = other.Name
				}
			}
		}
		s := ShelfConfig{Name: "s", Kind: pr.Kind, Slots: []SlotConfig{slot}, Backs: -1}
		if k.Role == RolePMM {
			s.Kind, s.PMM, s.Slots = strings.Replace(pr.Kind, "pmm-", "", 1), &slot, nil
		}
		e := sim.NewEngine(1)
		p, err := NewPlant(e.NewProc(), PlantConfig{Shelves: []ShelfConfig{s}})
		if err != nil {
			t.Fatal(err)
		}
		d := p.Device("s", "x")
		w := make([]uint16, pr.Words)
		if x := d.ReadRegisters(0, pr.Probe, w); x != rtu.OK {
			t.Errorf("%s: probe: exception %d", pr.Name, x)
		}
		var text []byte
		for _, v := range w {
			for _, c := range []byte{byte(v >> 8), byte(v)} {
				if c != 0 {
					text = append(text, c)
				}
			}
		}
		if pr.Expect == "4" { // an integer in the master's profile
			text[0] += '0'
		}
		if string(text) != pr.Expect {
			t.Errorf("%s: %q, want %q", pr.Name, text, pr.Expect)
		}
		for _, r := range pr.Registers {
			if x := d.ReadRegisters(0, r.Addr, make([]uint16, r.Words)); x != rtu.OK {
				t.Errorf("%s %d %s: exception %d", pr.Name, r.Addr, r.Name, x)
			}
			for _, f := range r.Flags {
				if g := d.m.At(r.Addr); !g.hasBit(f.Bit) {
					t.Errorf("%s %d: bit %d %s is missing", pr.Name, r.Addr, f.Bit, f.Name)
				}
			}
		}
		if d.Line() != pr.Line {
			t.Errorf("%s talks at %v, want %v", pr.Name, d.Line(), pr.Line)
		}
		n++
	}
	if n != 18 {
		t.Errorf("%d profiles, want 18", n)
	}
}

func TestUpdateMailbox(t *testing.T) {
	b := newBench(t, 6, 12000)
	d := b.dev("psu/psu1")
	write := func(addr uint16, src ...uint16) rtu.Exception { return d.WriteRegisters(b.e.Now(), addr, src) }
	status := func() uint16 { return b.word("psu/psu1", 0x302) }
	block := make([]uint16, 32)
	b.at(5)
	for _, c := range []struct {
		at   float64
		do   func() rtu.Exception
		want rtu.Exception
		stat uint16
	}{
		{5, func() rtu.Exception { return write(0x301, 0xaa55) }, rtu.ServerDeviceFailure, 0}, // locked
		{5, func() rtu.Exception { return write(0x300, 0x1234) }, rtu.IllegalDataValue, 0},
		{5, func() rtu.Exception { return write(0x310, block...) }, rtu.ServerDeviceFailure, 0},
		{5, func() rtu.Exception { return write(0x300, 0x55aa) }, rtu.OK, 0},
		{6, func() rtu.Exception { return write(0x301, 0xaa55) }, rtu.OK, 0x18},
		{7, func() rtu.Exception { return write(0x310, block...) }, rtu.ServerDeviceFailure, 0x18},
		{21, func() rtu.Exception { return rtu.OK }, rtu.OK, 0x01},
		{21, func() rtu.Exception { return write(0x310, block[:16]...) }, rtu.IllegalDataValue, 0x01},
		{21, func() rtu.Exception { return write(0x310, block...) }, rtu.OK, 0x18},
		{21.1, func() rtu.Exception { return write(0x310, block...) }, rtu.OK, 0x18},
		{21.2, func() rtu.Exception { return rtu.OK }, rtu.OK, 0x06},
		{22, func() rtu.Exception { return write(0x303, 0x55aa) }, rtu.OK, 0x18},
		{23, func() rtu.Exception { return write(0x304, 0x55aa) }, rtu.ServerDeviceBusy, 0x18},
		{25, func() rtu.Exception { return write(0x304, 0x55aa) }, rtu.OK, 0x18},
		{29, func() rtu.Exception { return rtu.OK }, rtu.OK, 0x00},
	} {
		b.at(c.at)
		if got := c.do(); got != c.want {
			t.Errorf("at %g: exception %d, want %d", c.at, got, c.want)
		}
		if got := status(); got != c.stat {
			t.Errorf("at %g: status %02x, want %02x", c.at, got, c.stat)
		}
		if out := b.value("psu/psu1", "PSU_Output_Power"); c.at > 6.2 && c.at < 28 && out != 0 {
			t.Errorf("at %g: %g W out of a boot loader", c.at, out)
		}
	}
	b.at(30)
	if out := b.value("psu/psu1", "PSU_Output_Power"); out < 1900 {
		t.Errorf("%g W after the update", out)
	}
	if d.WrongCRC(0x310) {
		t.Error("wrong CRC without the fault")
	}
	for _, f := range []string{"update_wrong_crc", "update_fails"} {
		if err := d.SetFault(f, true); err != nil {
			t.Fatal(err)
		}
	}
	write(0x300, 0x55aa)
	write(0x301, 0xaa55)
	b.at(50)
	write(0x310, block...)
	if !d.WrongCRC(0x310) || d.WrongCRC(0x303) {
		t.Error("the quirk is not there, or elsewhere too")
	}
	b.at(51)
	write(0x303, 0x55aa)
	b.at(54)
	if status() != 0x55 {
		t.Errorf("a bad image verifies: %02x", status())
	}
}

func TestBlackBox(t *testing.T) {
	b := newBench(t, 6, 12000)
	b.at(10)
	b.p.SetAC(0, -1, false)
	b.at(20)
	b.p.SetFault("bbu/bbu1", "fan_fault", true)
	d := b.dev("bbu/bbu1")
	var w [8 + 2*8]uint16
	if x := d.ReadFile(b.e.Now(), 1, 0, w[:]); x != rtu.OK {
		t.Fatal(x)
	}
	if w[0] != 0x4242 || w[4] != 2 || w[8+4] != uint16(eventDischarge) || w[16+4] != uint16(eventFault) {
		t.Errorf("black box %04x", w)
	}
	if got := uint32(w[8])<<16 | uint32(w[9]); got != 1767225600+10 {
		t.Errorf("time of the event %d", got)
	}
	if x := d.ReadFile(b.e.Now(), 2, 0, w[:]); x != rtu.IllegalDataAddress {
		t.Errorf("file 2: exception %d", x)
	}
	if x := d.ReadFile(b.e.Now(), 1, 8+64*8, w[:1]); x != rtu.IllegalDataAddress {
		t.Errorf("beyond the end: exception %d", x)
	}
	for i := range 200 {
		b.p.SetFault("bbu/bbu1", "fan_fault", i%2 == 0)
	}
	if n := len(d.Events()); n != boxEvents {
		t.Errorf("%d events kept", n)
	}
}

// TestEventDetail is what people read of an event's value.
func TestEventDetail(t *testing.T) {
	b := newBench(t, 6, 12000)
	b.at(5)
	if err := b.p.Set("psu/psu1", "Oring_Fail", "true"); err != nil {
		t.Fatal(err)
	}
	d := b.dev("psu/psu1")
	if l := d.Events(); len(l) == 0 || l[len(l)-1].Detail != "DCDC_Alarm_Status_Register.Oring_Fail" {
		t.Errorf("events %+v", l)
	}
	for _, c := range []struct {
		code  eventCode
		value uint32
		want  string
	}{
		{eventMainsOff, 331, "331 W"}, {eventOverTemp, 110, "110 C"}, {eventChargeEnd, 987, "charge 98.7 %"}, {eventTimeUp, 240, "240 s"},
		{eventFault, 1, "over_temperature"}, {eventFaultEnd, 99, ""}, {eventFlag, 0xffff0000, ""}, {eventUnplugged, 2, "slot 2"},
		{eventUpdate, 0x18, "state 0x18"}, {eventMainsOn, 0, ""}, {eventRedundancyLost, 0, "0 W to give"},
	} {
		if got := d.detail(c.code, c.value); got != c.want {
			t.Errorf("%v %d: %q, want %q", c.code, c.value, got, c.want)
		}
	}
}

// TestSet is what people type.
func TestSet(t *testing.T) {
	b := newBench(t, 6, 12000)
	b.at(5)
	for _, c := range []struct{ dev, name, value, err string }{
		{"psu/psu1", "fan_fault", "true", ""},
		{"psu/psu1", "Fan_Failure", "true", ""},
		{"psu/psu1", "fan_fault", "yes", "want true or false"},
		{"psu/psu1", "psu_output_voltage", "49.5", ""},
		{"psu/psu1", "79", "0xC800", ""},
		{"psu/psu1", "psu_output_voltage", "99", "holds at most 63.9"},
		{"psu/psu1", "psu_output_voltage", "NaN", "want a number V"},
		{"psu/psu1", "psu_output_voltage", "-inf", "want a number V"},
		{"psu/psu1", "psu_output_voltage", "-1", "holds at least 0 V"},
		{"psu/psu1", "PSU_MFR_Model", "XYZ", ""},
		{"psu/psu1", "PSU_MFR_Model", "a text that is too long", "it holds 16"},
		{"psu/psu1", "58", "1", "no register begins at 58"},
		{"psu/psu1", "nonsense", "1", "neither a fault nor a register"},
		{"psu/psu9", "fan_fault", "true", "it has psu1, psu2"},
		{"rack/psu1", "fan_fault", "true", "there are psu, bbu"},
	} {
		err := b.p.Set(c.dev, c.name, c.value)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("set %s %s=%s: %v, want %q", c.dev, c.name, c.value, err, c.err)
		}
	}
	if b.word("psu/psu1", 79) != 0xc800 || b.word("psu/psu1", 8) != 'X'<<8|'Y' || b.word("psu/psu1", 67) != 0 {
		t.Errorf("%04x %04x %04x", b.word("psu/psu1", 79), b.word("psu/psu1", 8), b.word("psu/psu1", 67))
	}
	if err := b.p.Set("psu/psu1", "79", "auto"); err != nil {
		t.Fatal(err)
	}
	if v := b.value("psu/psu1", "PSU_Output_Voltage"); v < 50 || v > 50.6 {
		t.Errorf("after auto: %g V", v)
	}
	s, err := b.p.Show("psu/psu1")
	if err != nil || len(s.Registers) != 65 || !s.Alarm {
		t.Errorf("show: %v, %d registers, alarm %v", err, len(s.Registers), s.Alarm)
	}
}

func TestVentura2(t *testing.T) {
	pop := Ventura2()
	count := map[int]int{}
	used := map[[2]int]bool{}
	cfg := PlantConfig{}
	for _, s := range pop.Shelves {
		slots := append([]SlotConfig(nil), s.Slots...)
		if s.PMM != nil {
			slots = append(slots, *s.PMM)
		}
		for _, x := range slots {
			count[s.Segment]++
			if used[[2]int{s.Segment, int(x.Address)}] {
				t.Errorf("%s/%s: address 0x%02x is taken", s.Name, x.Name, x.Address)
			}
			used[[2]int{s.Segment, int(x.Address)}] = true
		}
		cfg.Shelves = append(cfg.Shelves, s.ShelfConfig)
	}
	if count[0] != 56 {
		t.Errorf("%d slaves on the first segment, want 56", count[0])
	}
	for _, a := range []int{0x90, 0x9f, 0xaa, 0xbf, 0x20, 0x23, 0x30, 0x3f, 0x5a, 0x6f, 0x10, 0x13} {
		if !used[[2]int{0, a}] {
			t.Errorf("nobody at 0x%02x of the first segment", a)
		}
	}
	if pop.Segments[0].Line.String() != "115200 8E1" || pop.Segments[0].Turnaround != 3*sim.Millisecond || pop.Segments[3].Line.String() != "19200 8N1" {
		t.Errorf("segments %+v", pop.Segments)
	}
	if _, err := NewPlant(sim.NewEngine(1).NewProc(), cfg); err != nil {
		t.Error(err)
	}
}

// TestUpdateOfABattery: a battery in its boot loader gives nothing, and gives
// again when it has left.
func TestUpdateOfABattery(t *testing.T) {
	b := newBench(t, 2, 4000)
	d := b.dev("bbu/bbu1")
	for i, w := range []struct{ addr, v uint16 }{{0x300, 0x55aa}, {0x301, 0xaa55}} {
		if x := d.WriteRegisters(b.e.Now(), w.addr, []uint16{w.v}); x != rtu.OK {
			t.Fatalf("write %d: exception %d", i, x)
		}
	}
	b.at(10)
	b.p.SetAC(0, -1, false)
	b.at(12)
	if a, c := b.value("bbu/bbu1", "Discharge_Current"), b.value("bbu/bbu2", "Discharge_Current"); a != 0 || c < 70 {
		t.Errorf("in the boot loader %g A, the other %g A", a, c)
	}
	if s := b.p.Snapshot().Shelves[1]; s.Modules[0].State != "boot loader" || s.Modules[1].State != "discharging" {
		t.Errorf("states %q and %q", s.Modules[0].State, s.Modules[1].State)
	}
	if x := d.WriteRegisters(b.e.Now(), 0x304, []uint16{0x55aa}); x != rtu.OK {
		t.Fatalf("exit: exception %d", x)
	}
	b.at(20)
	if a, c := b.value("bbu/bbu1", "Discharge_Current"), b.value("bbu/bbu2", "Discharge_Current"); a < 35 || a > 45 || c < 35 || c > 45 {
		t.Errorf("after the update %g A, the other %g A", a, c)
	}
}

// A PMM sums up the alarms of the modules of its shelf: it must not be one.
func TestNoShelfOfPMMs(t *testing.T) {
	_, err := NewPlant(sim.NewEngine(1).NewProc(), PlantConfig{Shelves: []ShelfConfig{
		{Name: "shelf1", Kind: "hpr-pmm-psu", Slots: []SlotConfig{{Number: 1, Name: "pmm", Address: 32}}},
	}})
	if err == nil || !strings.Contains(err.Error(), "give the shelf's kind") {
		t.Error(err)
	}
}

// A battery that can give nothing does not say that it is full.
func TestStatesOfABattery(t *testing.T) {
	b := newBench(t, 2, 4000)
	for _, c := range []struct{ fault, want string }{{"converter_fault", "failed"}, {"pack_fault", "failed"}, {"charger_fault", "full"}, {"over_temperature", "hot"}} {
		b.p.Set("bbu/bbu1", c.fault, "true")
		b.at(b.e.Now().Seconds() + 100)
		if s := b.p.Snapshot().Shelves[1].Modules; s[0].State != c.want || s[1].State != "full" {
			t.Errorf("%s: %q, the other is %q", c.fault, s[0].State, s[1].State)
		}
		b.p.Set("bbu/bbu1", c.fault, "false")
		b.at(b.e.Now().Seconds() + 600)
	}
}

// Without a source a busbar is down, also where nobody draws from it; batteries
// hold it at their own voltage.
func TestBusbarWithoutLoad(t *testing.T) {
	b := newBench(t, 2, 0)
	b.at(5)
	b.p.SetAC(0, -1, false)
	b.at(6)
	if s := b.p.Snapshot().Shelves[0]; !s.Powered || s.Busbar < 48 || s.Busbar > 49.1 {
		t.Errorf("on batteries: powered %v, %g V", s.Powered, s.Busbar)
	}
	for _, d := range []string{"bbu/bbu1", "bbu/bbu2"} {
		b.dev(d).Unplug()
	}
	b.at(7)
	if s := b.p.Snapshot().Shelves[0]; s.Powered || s.Busbar != 0 || s.Collapses != 1 {
		t.Errorf("without a source: powered %v, %g V, down %d times", s.Powered, s.Busbar, s.Collapses)
	}
	b.p.SetAC(0, -1, true)
	b.at(20)
	if s := b.p.Snapshot().Shelves[0]; !s.Powered || s.Busbar < 50 {
		t.Errorf("mains are back: powered %v, %g V", s.Powered, s.Busbar)
	}
}
