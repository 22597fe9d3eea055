package orv3

import (
	"fmt"
	"sort"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// Range is a range of slave addresses, both ends in it.
type Range struct{ First, Last uint8 }

// Map is a register map: what a kind of device answers and where.
type Map struct {
	Name      string
	Ranges    []Range  // of addresses at which masters look for it
	Probe     uint16   // register by which masters find it
	Line      rtu.Line // at which it talks
	TimeSync  uint16   // register of the clock, two words of Unix time; 0: none
	Sync      bool     // TimeSync is valid
	Period    sim.Time // of the masters' writes to it
	Registers []Register
}

// Has reports whether a slave address is in the map's ranges.
func (m *Map) Has(addr uint8) bool {
	for _, r := range m.Ranges {
		if addr >= r.First && addr <= r.Last {
			return true
		}
	}
	return false
}

// At returns the register that the word at addr belongs to, nil in a hole.
func (m *Map) At(addr uint16) *Register {
	if i := m.index(addr); i >= 0 {
		return &m.Registers[i]
	}
	return nil
}

func (m *Map) index(addr uint16) int {
	i := sort.Search(len(m.Registers), func(i int) bool { return m.Registers[i].End() > int(addr) })
	if i < len(m.Registers) && m.Registers[i].Addr <= addr {
		return i
	}
	return -1
}

// ByName returns a register by its name, compared without regard to case and
// to what is not a letter or digit.
func (m *Map) ByName(name string) (*Register, bool) {
	want := plain(name)
	for i := range m.Registers {
		if plain(m.Registers[i].Name) == want {
			return &m.Registers[i], true
		}
	}
	return nil, false
}

// add puts registers into the map in ascending order; what overlaps a register
// that is there already is left out: the same words under another name.
func (m *Map) add(l []Register) {
	for _, r := range l {
		i := sort.Search(len(m.Registers), func(i int) bool { return m.Registers[i].End() > int(r.Addr) })
		if i < len(m.Registers) && int(m.Registers[i].Addr) < r.End() {
			continue
		}
		m.Registers = append(m.Registers, Register{})
		copy(m.Registers[i+1:], m.Registers[i:])
		m.Registers[i] = r
	}
}

// check finds what no map may have: registers that overlap or leave the
// address space, flags beyond their register.
func (m *Map) check() error {
	for i := range m.Registers {
		r := &m.Registers[i]
		switch {
		case r.Words < 1 || r.Words > 125:
			return fmt.Errorf("register %s at %d: length %d: want 1 to 125 words", r.Name, r.Addr, r.Words)
		case r.End() > 0x10000:
			return fmt.Errorf("register %s at %d: %d words end beyond 65535: give a lower begin or a shorter length", r.Name, r.Addr, r.Words)
		case (r.Format == Integer || r.Format == Float) && r.Words > 4:
			return fmt.Errorf("register %s at %d: %d words are no number: want 1 to 4, or format STRING or RAW", r.Name, r.Addr, r.Words)
		case r.Format == Float32 && r.Words != 2:
			return fmt.Errorf("register %s at %d: %d words: a FLOAT32 has 2", r.Name, r.Addr, r.Words)
		case r.Bits > 63:
			return fmt.Errorf("register %s at %d: precision %d: want 0 to 63 bits", r.Name, r.Addr, r.Bits)
		}
		for _, f := range r.Flags {
			if int(f.Bit) >= 16*int(r.Words) {
				return fmt.Errorf("register %s at %d: flag %s: bit %d is beyond its %d bits", r.Name, r.Addr, f.Name, f.Bit, 16*r.Words)
			}
		}
		if i > 0 && m.Registers[i-1].End() > int(r.Addr) {
			p := &m.Registers[i-1]
			return fmt.Errorf("register %s at %d overlaps %s (%d to %d): give it another begin or shorten one", r.Name, r.Addr, p.Name, p.Addr, p.End()-1)
		}
	}
	return nil
}
