package rtu

import "cnuas/internal/sim"

// readBits serves 01 and 02 (V1.1b3, 6.1, 6.2).
func (s *Slave) readBits(now sim.Time, pdu, out []byte) ([]byte, Exception) {
	addr, n, ex := readRange(pdu, MaxReadBits)
	if ex != OK {
		return nil, ex
	}
	v := s.bools[:n]
	if pdu[0] == ReadCoils {
		ex = s.bits.ReadCoils(now, addr, v)
	} else {
		ex = s.bits.ReadDiscrete(now, addr, v)
	}
	if ex != OK {
		return nil, ex
	}
	return appendBits(append(out, byte((n+7)/8)), v), OK
}

// writeCoil serves 05 (6.5): FF00h is on, 0000h off, all else is refused. The
// reply is the request.
func (s *Slave) writeCoil(now sim.Time, pdu, out []byte) ([]byte, Exception) {
	if len(pdu) != 5 {
		return nil, IllegalDataValue
	}
	v := be16(pdu, 3)
	if v != 0 && v != 0xFF00 {
		return nil, IllegalDataValue
	}
	s.bools[0] = v != 0
	if ex := s.bits.WriteCoils(now, be16(pdu, 1), s.bools[:1]); ex != OK {
		return nil, ex
	}
	return append(out, pdu[1:]...), OK
}

// writeCoils serves 0F (6.11).
func (s *Slave) writeCoils(now sim.Time, pdu, out []byte) ([]byte, Exception) {
	if len(pdu) < 6 {
		return nil, IllegalDataValue
	}
	n := int(be16(pdu, 3))
	if n < 1 || n > MaxWriteBits || int(pdu[5]) != (n+7)/8 || len(pdu) != 6+(n+7)/8 {
		return nil, IllegalDataValue
	}
	addr := be16(pdu, 1)
	if int(addr)+n > 1<<16 {
		return nil, IllegalDataAddress
	}
	v := s.bools[:n]
	for i := range v {
		v[i] = pdu[6+i/8]>>(i%8)&1 != 0
	}
	if ex := s.bits.WriteCoils(now, addr, v); ex != OK {
		return nil, ex
	}
	return append(out, pdu[1:5]...), OK
}
