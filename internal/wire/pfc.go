package wire

import "encoding/binary"

// Read IEEE 802.1Q-2018 clause 36 (priority-based flow control) and IEEE
// 802.3-2018 annex 31D (the MAC control PFC operation) before editing.
//
//	 0               6               12        14        16        18
//	+---------------+---------------+---------+---------+---------+-----...-----+
//	| 01:80:C2:00:00:01 | source MAC |  0x8808 |  0x0101 | enable  | 8 x time    |
//	+---------------+---------------+---------+---------+---------+-----...-----+

// PFCLen is the length of a PFC frame without FCS.
const PFCLen = 60

// OpcodePFC is the MAC control opcode of priority-based flow control.
const OpcodePFC = 0x0101

// QuantumBits is the unit of a pause time: 512 bit times of the link.
const QuantumBits = 512

// PauseAddr is the address that bridges never forward (IEEE 802.3 annex 31B).
var PauseAddr = [6]byte{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01}

// PFC is the content of a PFC frame: for each enabled priority a time in
// quanta, of which 0 means resume.
type PFC struct {
	Enable uint8 // bit n: Time[n] is meant
	Time   [8]uint16
}

// Encode fills b, of PFCLen bytes, with a PFC frame from the given station.
func (p *PFC) Encode(b []byte, src [6]byte) {
	clear(b[:PFCLen])
	copy(b, PauseAddr[:])
	copy(b[6:], src[:])
	binary.BigEndian.PutUint16(b[12:], EtherTypeMACControl)
	binary.BigEndian.PutUint16(b[14:], OpcodePFC)
	b[17] = p.Enable
	for i, t := range p.Time {
		binary.BigEndian.PutUint16(b[18+2*i:], t)
	}
}

// Decode reads a PFC frame. It reports false if b is not one.
func (p *PFC) Decode(b []byte) bool {
	if len(b) < 34 || binary.BigEndian.Uint16(b[12:]) != EtherTypeMACControl || binary.BigEndian.Uint16(b[14:]) != OpcodePFC {
		return false
	}
	p.Enable = b[17]
	for i := range p.Time {
		p.Time[i] = binary.BigEndian.Uint16(b[18+2*i:])
	}
	return true
}
