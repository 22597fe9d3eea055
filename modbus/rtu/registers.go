package rtu

import "cnuas/internal/sim"

// readRange checks a request of 03, 04, 01 or 02: address and quantity, the
// quantity first (6.3, figure of the state diagram).
func readRange(pdu []byte, most int) (addr uint16, n int, ex Exception) {
	if len(pdu) != 5 {
		return 0, 0, IllegalDataValue
	}
	n = int(be16(pdu, 3))
	if n < 1 || n > most {
		return 0, 0, IllegalDataValue
	}
	addr = be16(pdu, 1)
	if int(addr)+n > 1<<16 {
		return 0, 0, IllegalDataAddress
	}
	return addr, n, OK
}

// readHolding serves 03 (V1.1b3, 6.3).
func (s *Slave) readHolding(now sim.Time, pdu, out []byte) ([]byte, Exception) {
	addr, n, ex := readRange(pdu, MaxReadRegisters)
	if ex == OK {
		ex = s.dev.ReadRegisters(now, addr, s.regs[:n])
	}
	if ex != OK {
		return nil, ex
	}
	return appendRegisters(append(out, byte(2*n)), s.regs[:n]), OK
}

// readInputs serves 04 (6.4).
func (s *Slave) readInputs(now sim.Time, pdu, out []byte) ([]byte, Exception) {
	addr, n, ex := readRange(pdu, MaxReadRegisters)
	if ex == OK {
		ex = s.inputs.ReadInputs(now, addr, s.regs[:n])
	}
	if ex != OK {
		return nil, ex
	}
	return appendRegisters(append(out, byte(2*n)), s.regs[:n]), OK
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
