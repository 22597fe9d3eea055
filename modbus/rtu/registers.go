package rtu

import "cnuas/internal/sim"

// read serves 03 and 04 (V1.1b3, 6.3, 6.4).
func (s *Slave) read(now sim.Time, pdu, out []byte, get func(sim.Time, uint16, []uint16) Exception) ([]byte, Exception) {
	if len(pdu) != 5 {
		return nil, IllegalDataValue
	}
	n := int(be16(pdu, 3))
	if n < 1 || n > MaxReadRegisters {
		return nil, IllegalDataValue
	}
	addr := be16(pdu, 1)
	if int(addr)+n > 1<<16 {
		return nil, IllegalDataAddress
	}
	r := s.regs[:n]
	if ex := get(now, addr, r); ex != OK {
		return nil, ex
	}
	return appendRegisters(append(out, byte(2*n)), r), OK
}

// writeOne serves 06 (6.6): any value will do, the reply is the request.
func (s *Slave) writeOne(now sim.Time, pdu, out []byte) ([]byte, Exception) {
	if len(pdu) != 5 {
		return nil, IllegalDataValue
	}
	s.regs[0] = be16(pdu, 3)
	if ex := s.dev.WriteRegisters(now, be16(pdu, 1), s.regs[:1]); ex != OK {
		return nil, ex
	}
	return append(out, pdu[1:]...), OK
}

// writeMany serves 10h (6.12).
func (s *Slave) writeMany(now sim.Time, pdu, out []byte) ([]byte, Exception) {
	if len(pdu) < 6 {
		return nil, IllegalDataValue
	}
	n := int(be16(pdu, 3))
	if n < 1 || n > MaxWriteRegisters || int(pdu[5]) != 2*n || len(pdu) != 6+2*n {
		return nil, IllegalDataValue
	}
	addr := be16(pdu, 1)
	if int(addr)+n > 1<<16 {
		return nil, IllegalDataAddress
	}
	if ex := s.dev.WriteRegisters(now, addr, s.words(pdu[6:])); ex != OK {
		return nil, ex
	}
	return append(out, pdu[1:5]...), OK
}

// words of b, in the scratch registers.
func (s *Slave) words(b []byte) []uint16 {
	r := s.regs[:len(b)/2]
	for i := range r {
		r[i] = be16(b, 2*i)
	}
	return r
}

func appendRegisters(b []byte, r []uint16) []byte {
	for _, v := range r {
		b = append16(b, v)
	}
	return b
}
