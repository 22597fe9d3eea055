package orv3

import (
	"math"
	"testing"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// rackOfAll has one shelf of each kind, full, with its PMM.
func rackOfAll(t testing.TB) (*sim.Engine, *Plant) {
	t.Helper()
	cfg := PlantConfig{Seed: 3, Unix: 1767225600}
	addr := uint8(1)
	psu := -1
	for _, k := range Kinds() {
		if k.Role == RolePMM {
			continue
		}
		s := ShelfConfig{Name: k.Name, Kind: k.Name, Backs: -1, Load: 500 * float64(k.MaxSlots)}
		for n := range k.MaxSlots {
			s.Slots = append(s.Slots, SlotConfig{Number: n + 1, Name: k.SlotName + string(rune('a'+n)), Address: addr})
			addr++
		}
		if k.PMM != "" {
			s.PMM = &SlotConfig{Name: "pmm", Address: addr}
			addr++
		}
		switch {
		case k.Name == "hpr-psu":
			psu = len(cfg.Shelves)
		case k.Role == RoleBBU && psu >= 0:
			s.Backs = psu
		}
		cfg.Shelves = append(cfg.Shelves, s)
	}
	e := sim.NewEngine(1)
	p, err := NewPlant(e.NewProc(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e, p
}

// TestEveryRegisterOfTheTables walks the 823 registers and 781 flags of the
// tables: each is answered by a device of its kind, encodes what it decodes, and
// each flag shows on its bit.
func TestEveryRegisterOfTheTables(t *testing.T) {
	e, p := rackOfAll(t)
	e.RunUntil(90 * sim.Second)
	byMap := map[string]*Device{}
	for _, d := range p.Devices() {
		if byMap[d.kind.Map.Name] == nil {
			byMap[d.kind.Map.Name] = d
		}
	}
	regs := 0
	for _, row := range table("registers/rackmon_registers.csv") {
		d := byMap[row.get("device_map")]
		addr, words := uint16(row.int("addr_dec")), row.int("words")
		r := d.Map().At(addr)
		if r == nil || r.Addr != addr || int(r.Words) != words || r.Format != row.format("format") {
			t.Errorf("%s %d %s: the map has %+v", row.get("device_map"), addr, row.get("name"), r)
			continue
		}
		if r.Bits != uint8(row.int("precision_bits")) || r.Signed != (row.get("signed") == "True") || r.Little != (row.get("endian") == "L") ||
			r.Scale != row.float("scale") || r.Shift != row.float("shift") {
			t.Errorf("%s %d: precision, sign, endian, scale or shift differ: %+v", row.get("device_map"), addr, r)
		}
		if r.src.name == "" {
			t.Errorf("%s %d %s has no source", row.get("device_map"), addr, r.Name)
		}
		w := make([]uint16, words)
		if x := d.ReadRegisters(e.Now(), addr, w); x != rtu.OK {
			t.Errorf("%s %d %s: exception %d", row.get("device_map"), addr, r.Name, x)
		}
		roundTrip(t, row.get("device_map"), r, w)
		regs++
	}
	flags := 0
	for _, row := range table("registers/rackmon_flags.csv") {
		d := byMap[row.get("device_map")]
		r, bit := d.Map().At(uint16(row.int("addr_dec"))), uint(row.int("bit"))
		w := make([]uint16, r.Words)
		if err := d.SetFault(r.Name+"."+row.get("name"), true); err != nil {
			t.Error(err)
			continue
		}
		d.ReadRegisters(e.Now(), r.Addr, w)
		i := len(w) - 1 - int(bit/16)
		if w[i]>>(bit%16)&1 == 0 {
			t.Errorf("%s %d: flag %s is not on bit %d: %04x", row.get("device_map"), r.Addr, row.get("name"), bit, w)
		}
		if err := d.SetFault(r.Name+"."+row.get("name"), false); err != nil {
			t.Error(err)
		}
		flags++
	}
	if regs != 823 || flags != 781 {
		t.Errorf("%d registers and %d flags, want 823 and 781", regs, flags)
	}
}

// roundTrip encodes values over the register's range and wants them back within
// half a step.
func roundTrip(t *testing.T, where string, r *Register, now []uint16) {
	t.Helper()
	w := make([]uint16, r.Words)
	switch r.Format {
	case String:
		for _, s := range []string{"", "A", "AB", r.DecodeString(now), "0123456789ABCDEF0123456789ABCDEF"[:min(2*int(r.Words), 32)]} {
			r.EncodeString(w, s)
			if got := r.DecodeString(w); got != s {
				t.Errorf("%s %d %s: %q comes back as %q", where, r.Addr, r.Name, s, got)
			}
		}
	case Integer, Float:
		lo, hi := r.Decode(fill(w, 0)), r.Decode(fill(w, 0xffff))
		if r.Signed {
			w[0] = 0x8000
			clear(w[1:])
			lo, hi = r.Decode(w), -r.Decode(w)
		}
		step := r.Resolution()
		for k := 0; k <= 16; k++ {
			v := lo + (hi-lo)*float64(k)/16
			if k == 16 {
				v = hi - step
			}
			r.Encode(w, v)
			if got := r.Decode(w); math.Abs(got-v) > step/2*(1+1e-9)+1e-9*math.Abs(v) {
				t.Errorf("%s %d %s: %g comes back as %g, step %g", where, r.Addr, r.Name, v, got, step)
			}
		}
	}
}

func fill(w []uint16, v uint16) []uint16 {
	for i := range w {
		w[i] = v
	}
	return w
}

func TestFloat32Saturates(t *testing.T) {
	r := Register{Words: 2, Format: Float32}
	var w [2]uint16
	for _, v := range []float64{1e40, -1e40} {
		r.Encode(w[:], v)
		if got := r.Decode(w[:]); got != math.Copysign(math.MaxFloat32, v) {
			t.Errorf("%g is held as %g", v, got)
		}
	}
}
