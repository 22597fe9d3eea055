package rtu

import "cnuas/internal/sim"

// model is a device with everything: holding registers 0 to 299, 400 to 527 of
// which are read only; inputs 0 to 9; coils 0 to 2499; file 4.
type model struct {
	regs    [528]uint16
	coils   [2500]bool
	fail    Exception // of what is executed
	objects map[uint8]string
	id      []byte
	writes  int
}

func newModel() *model {
	m := &model{id: []byte{0x42, 0xFF, 'x'}, objects: map[uint8]string{0: "Maker", 1: "PSU", 2: "V1"}}
	for i := range m.regs {
		m.regs[i] = 0x1000 + uint16(i)
	}
	return m
}

func (m *model) has(addr uint16, n int) bool {
	end := int(addr) + n
	return end <= 300 || addr >= 400 && end <= len(m.regs)
}

func (m *model) ReadRegisters(_ sim.Time, addr uint16, dst []uint16) Exception {
	if !m.has(addr, len(dst)) {
		return IllegalDataAddress
	}
	if m.fail != OK {
		return m.fail
	}
	copy(dst, m.regs[addr:])
	return OK
}

func (m *model) WriteRegisters(_ sim.Time, addr uint16, src []uint16) Exception {
	if int(addr)+len(src) > 300 {
		return IllegalDataAddress
	}
	if m.fail != OK {
		return m.fail
	}
	m.writes++
	copy(m.regs[addr:], src)
	return OK
}

func (m *model) ReadInputs(_ sim.Time, addr uint16, dst []uint16) Exception {
	if int(addr)+len(dst) > 10 {
		return IllegalDataAddress
	}
	for i := range dst {
		dst[i] = 0x2000 + addr + uint16(i)
	}
	return OK
}

func (m *model) ReadCoils(_ sim.Time, addr uint16, dst []bool) Exception {
	if int(addr)+len(dst) > len(m.coils) {
		return IllegalDataAddress
	}
	if m.fail != OK {
		return m.fail
	}
	copy(dst, m.coils[addr:])
	return OK
}

func (m *model) ReadDiscrete(_ sim.Time, addr uint16, dst []bool) Exception {
	if int(addr)+len(dst) > 2000 {
		return IllegalDataAddress
	}
	for i := range dst {
		dst[i] = (int(addr)+i)%3 == 0
	}
	return OK
}

func (m *model) WriteCoils(_ sim.Time, addr uint16, src []bool) Exception {
	if int(addr)+len(src) > len(m.coils) {
		return IllegalDataAddress
	}
	if m.fail != OK {
		return m.fail
	}
	m.writes++
	copy(m.coils[addr:], src)
	return OK
}

func (m *model) ReadFile(_ sim.Time, file, record uint16, dst []uint16) Exception {
	if file != 4 && file != 3 {
		return IllegalDataAddress
	}
	for i := range dst {
		dst[i] = file<<12 + record + uint16(i)
	}
	return m.fail
}

func (m *model) ServerID() []byte { return m.id }

func (m *model) Object(id uint8) ([]byte, bool) {
	s, ok := m.objects[id]
	return []byte(s), ok
}

func (m *model) NextObject(id uint8) (uint8, bool) {
	for i := int(id) + 1; i < 256; i++ {
		if _, ok := m.objects[uint8(i)]; ok {
			return uint8(i), true
		}
	}
	return 0, false
}

// holding is a device with registers only.
type holding struct{ m *model }

func (h holding) ReadRegisters(now sim.Time, a uint16, d []uint16) Exception {
	return h.m.ReadRegisters(now, a, d)
}

func (h holding) WriteRegisters(now sim.Time, a uint16, s []uint16) Exception {
	return h.m.WriteRegisters(now, a, s)
}
