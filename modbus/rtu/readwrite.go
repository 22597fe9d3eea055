package rtu

import "cnuas/internal/sim"

// maskWrite serves 16h (V1.1b3, 6.16): register = register & and | or &^ and.
// The reply is the request.
func (s *Slave) maskWrite(now sim.Time, pdu, out []byte) ([]byte, Exception) {
	if len(pdu) != 7 {
		return nil, IllegalDataValue
	}
	addr, and, or := be16(pdu, 1), be16(pdu, 3), be16(pdu, 5)
	r := s.regs[:1]
	if ex := s.dev.ReadRegisters(now, addr, r); ex != OK {
		return nil, ex
	}
	r[0] = r[0]&and | or&^and
	if ex := s.dev.WriteRegisters(now, addr, r); ex != OK {
		return nil, ex
	}
	return append(out, pdu[1:]...), OK
}

// readWrite serves 17h (6.17): it writes, then reads. Both address ranges are
// checked before anything is written, so what is to be read is read twice.
func (s *Slave) readWrite(now sim.Time, pdu, out []byte) ([]byte, Exception) {
	if len(pdu) < 10 {
		return nil, IllegalDataValue
	}
	n, wn := int(be16(pdu, 3)), int(be16(pdu, 7))
	if n < 1 || n > MaxReadRegisters || wn < 1 || wn > MaxRWWrite || int(pdu[9]) != 2*wn || len(pdu) != 10+2*wn {
		return nil, IllegalDataValue
	}
	raddr, waddr := be16(pdu, 1), be16(pdu, 5)
	if int(raddr)+n > 1<<16 || int(waddr)+wn > 1<<16 {
		return nil, IllegalDataAddress
	}
	if ex := s.dev.ReadRegisters(now, raddr, s.regs[:n]); ex != OK {
		return nil, ex
	}
	if ex := s.dev.WriteRegisters(now, waddr, s.words(pdu[10:])); ex != OK {
		return nil, ex
	}
	if ex := s.dev.ReadRegisters(now, raddr, s.regs[:n]); ex != OK {
		return nil, ex
	}
	return appendRegisters(append(out, byte(2*n)), s.regs[:n]), OK
}
