package rtu

import "cnuas/internal/sim"

// readFile serves 14h (V1.1b3, 6.14): parts of 7 bytes, answered by a length
// that counts the reference type, the type, and the words. All parts are
// checked before the first is read.
func (s *Slave) readFile(now sim.Time, pdu, out []byte) ([]byte, Exception) {
	if len(pdu) < 2 {
		return nil, IllegalDataValue
	}
	bc := int(pdu[1])
	if bc < 7 || bc > MaxFileBytes || bc%7 != 0 || len(pdu) != 2+bc {
		return nil, IllegalDataValue
	}
	answer := 0
	for p := pdu[2:]; len(p) > 0; p = p[7:] {
		n := int(be16(p, 5))
		if n == 0 {
			return nil, IllegalDataValue
		}
		// A quantity that no reply could carry is one even where the address
		// is wrong too: quantity comes before address.
		if answer += 2 + 2*n; answer > MaxFileBytes {
			return nil, IllegalDataValue
		}
	}
	for p := pdu[2:]; len(p) > 0; p = p[7:] {
		file, record, n := be16(p, 1), be16(p, 3), int(be16(p, 5))
		if p[0] != fileReference || file == 0 || int(record)+n > MaxFileRecord+1 {
			return nil, IllegalDataAddress
		}
	}
	out = append(out, byte(answer))
	for p := pdu[2:]; len(p) > 0; p = p[7:] {
		r := s.regs[:be16(p, 5)]
		if ex := s.files.ReadFile(now, be16(p, 1), be16(p, 3), r); ex != OK {
			return nil, ex
		}
		out = appendRegisters(append(out, byte(1+2*len(r)), fileReference), r)
	}
	return out, OK
}
