package rtu

// The builders append one request ADU, with its CRC, to b. They do not check
// quantities, so that a client can also send what a slave must refuse; limits
// are those of MaxReadRegisters and the like. A request longer than MaxADU is
// no frame.

// AppendRequest appends a request of function code fc with the given data: also
// those without (07, 0B, 0C, 11h).
func AppendRequest(b []byte, addr, fc uint8, data ...byte) []byte {
	base := len(b)
	b = append(append(b, addr, fc), data...)
	return seal(b, base)
}

// AppendRead appends a read of n registers or bits from reg on: fc 01 to 04.
func AppendRead(b []byte, addr, fc uint8, reg, n uint16) []byte {
	base := len(b)
	b = append16(append16(append(b, addr, fc), reg), n)
	return seal(b, base)
}

// AppendWriteRegister appends a 06.
func AppendWriteRegister(b []byte, addr uint8, reg, v uint16) []byte {
	return AppendRead(b, addr, WriteSingleRegister, reg, v)
}

// AppendWriteCoil appends a 05.
func AppendWriteCoil(b []byte, addr uint8, coil uint16, on bool) []byte {
	v := uint16(0)
	if on {
		v = 0xFF00
	}
	return AppendRead(b, addr, WriteSingleCoil, coil, v)
}

// AppendWriteRegisters appends a 10h: 1 to MaxWriteRegisters values.
func AppendWriteRegisters(b []byte, addr uint8, reg uint16, v []uint16) []byte {
	base := len(b)
	b = append16(append16(append(b, addr, WriteMultipleRegisters), reg), uint16(len(v)))
	b = appendRegisters(append(b, byte(2*len(v))), v)
	return seal(b, base)
}

// AppendWriteCoils appends a 0F: 1 to MaxWriteBits values.
func AppendWriteCoils(b []byte, addr uint8, coil uint16, v []bool) []byte {
	base := len(b)
	b = append16(append16(append(b, addr, WriteMultipleCoils), coil), uint16(len(v)))
	b = appendBits(append(b, byte((len(v)+7)/8)), v)
	return seal(b, base)
}

// AppendMaskWrite appends a 16h: register = register & and | or &^ and.
func AppendMaskWrite(b []byte, addr uint8, reg, and, or uint16) []byte {
	base := len(b)
	b = append16(append16(append16(append(b, addr, MaskWriteRegister), reg), and), or)
	return seal(b, base)
}

// AppendReadWrite appends a 17h, which writes v from wreg on, 1 to MaxRWWrite
// values, and then reads n registers from rreg on.
func AppendReadWrite(b []byte, addr uint8, rreg, n, wreg uint16, v []uint16) []byte {
	base := len(b)
	b = append16(append16(append(b, addr, ReadWriteRegisters), rreg), n)
	b = append16(append16(b, wreg), uint16(len(v)))
	b = appendRegisters(append(b, byte(2*len(v))), v)
	return seal(b, base)
}

// FilePart is one sub-request of 14h.
type FilePart struct {
	File   uint16 // 1 to FFFFh
	Record uint16 // the first, 0 to MaxFileRecord
	Words  uint16 // how many
}

// AppendReadFile appends a 14h: at most 35 parts, whose answers of 2 bytes and
// their words each must fit MaxFileBytes.
func AppendReadFile(b []byte, addr uint8, parts ...FilePart) []byte {
	base := len(b)
	b = append(b, addr, ReadFileRecord, byte(7*len(parts)))
	for _, p := range parts {
		b = append16(append16(append16(append(b, fileReference), p.File), p.Record), p.Words)
	}
	return seal(b, base)
}

// AppendDiagnostic appends an 08 with sub-function sub and one word of data.
func AppendDiagnostic(b []byte, addr uint8, sub, data uint16) []byte {
	return AppendRead(b, addr, Diagnostics, sub, data)
}

// AppendDeviceID appends a 2Bh/0Eh: code 1 to 3 streams the objects of a
// category from object on, 4 reads that object.
func AppendDeviceID(b []byte, addr, code, object uint8) []byte {
	return AppendRequest(b, addr, Encapsulated, MEIDeviceID, code, object)
}

// fileReference is the only reference type of 14h and 15h.
const fileReference = 6

// seal appends the CRC of what was appended since base.
func seal(b []byte, base int) []byte {
	c := CRC(b[base:])
	return append(b, byte(c), byte(c>>8))
}

// appendBits packs v, the first in the least significant bit.
func appendBits(b []byte, v []bool) []byte {
	for i, on := range v {
		if i%8 == 0 {
			b = append(b, 0)
		}
		if on {
			b[len(b)-1] |= 1 << (i % 8)
		}
	}
	return b
}
