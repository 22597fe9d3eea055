package conformance

import (
	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// device has everything that a slave may serve:
//
//	holding registers  0-299, and 400-527 read only; number n holds 1000h + n
//	                   1000 + c refuses reads and writes with exception c
//	input registers    0-9, number n holds 2000h + n
//	coils              0-2499, off
//	discrete inputs    0-1999, every third is on, from 0
//	files              3 and 4: word n of file f holds f000h + n
type device struct {
	regs    [528]uint16
	coils   [2500]bool
	objects map[uint8]string
}

// serverID is what function code 11h answers: id, run indicator on, more.
const serverID = "\x42\xffPSU"

func newDevice() *device {
	d := &device{objects: map[uint8]string{0: "Maker", 1: "PSU-3", 2: "V1.2", 3: "http://maker", 4: "Shelf"}}
	for i := range 4 { // too long for one reply, so that a stream says "more follows"
		d.objects[0x80+uint8(i)] = string(make([]byte, 80)) + string(rune('a'+i))
	}
	for i := range d.regs {
		d.regs[i] = 0x1000 + uint16(i)
	}
	return d
}

// refuses is the exception of registers 1001 to 1011.
func refuses(addr uint16) rtu.Exception {
	if addr > 1000 && addr <= 1011 {
		return rtu.Exception(addr - 1000)
	}
	return rtu.IllegalDataAddress
}

func (d *device) ReadRegisters(_ sim.Time, addr uint16, dst []uint16) rtu.Exception {
	end := int(addr) + len(dst)
	if end > 300 && (addr < 400 || end > len(d.regs)) {
		return refuses(addr)
	}
	copy(dst, d.regs[addr:])
	return rtu.OK
}

func (d *device) WriteRegisters(_ sim.Time, addr uint16, src []uint16) rtu.Exception {
	if int(addr)+len(src) > 300 {
		return refuses(addr)
	}
	copy(d.regs[addr:], src)
	return rtu.OK
}

func (d *device) ReadInputs(_ sim.Time, addr uint16, dst []uint16) rtu.Exception {
	if int(addr)+len(dst) > 10 {
		return rtu.IllegalDataAddress
	}
	for i := range dst {
		dst[i] = 0x2000 + addr + uint16(i)
	}
	return rtu.OK
}

func (d *device) ReadCoils(_ sim.Time, addr uint16, dst []bool) rtu.Exception {
	if int(addr)+len(dst) > len(d.coils) {
		return rtu.IllegalDataAddress
	}
	copy(dst, d.coils[addr:])
	return rtu.OK
}

func (d *device) ReadDiscrete(_ sim.Time, addr uint16, dst []bool) rtu.Exception {
	if int(addr)+len(dst) > 2000 {
		return rtu.IllegalDataAddress
	}
	for i := range dst {
		dst[i] = (int(addr)+i)%3 == 0
	}
	return rtu.OK
}

func (d *device) WriteCoils(_ sim.Time, addr uint16, src []bool) rtu.Exception {
	if int(addr)+len(src) > len(d.coils) {
		return rtu.IllegalDataAddress
	}
	copy(d.coils[addr:], src)
	return rtu.OK
}

func (d *device) ReadFile(_ sim.Time, file, record uint16, dst []uint16) rtu.Exception {
	if file != 3 && file != 4 {
		return rtu.IllegalDataAddress
	}
	for i := range dst {
		dst[i] = file<<12 + record + uint16(i)
	}
	return rtu.OK
}

func (d *device) ServerID() []byte { return []byte(serverID) }

func (d *device) Object(id uint8) ([]byte, bool) {
	s, ok := d.objects[id]
	return []byte(s), ok
}

func (d *device) NextObject(id uint8) (uint8, bool) {
	for i := int(id) + 1; i < 256; i++ {
		if _, ok := d.objects[uint8(i)]; ok {
			return uint8(i), true
		}
	}
	return 0, false
}

// registers is a device that has holding registers and nothing else, as real
// power shelves are known to.
type registers struct{ d *device }

func (r registers) ReadRegisters(now sim.Time, addr uint16, dst []uint16) rtu.Exception {
	return r.d.ReadRegisters(now, addr, dst)
}

func (r registers) WriteRegisters(now sim.Time, addr uint16, src []uint16) rtu.Exception {
	return r.d.WriteRegisters(now, addr, src)
}
