package wire

import "encoding/binary"

// BTHLen is the length of the base transport header in bytes (IBTA vol. 1 §9.2).
const BTHLen = 12

// PSNMask is the range of a packet sequence number, and of a QP number: 24 bits.
const PSNMask = 1<<24 - 1

// DefaultPKey is the P_Key of the default partition, full membership
// (IBTA vol. 1 §10.9.1.2). RoCE knows no other.
const DefaultPKey = 0xffff

// BTH is a view of a base transport header (IBTA vol. 1 §9.2).
//
//	 0             1             2             3
//	+-------------+-+-+---+----+-------------+-------------+
//	|   OpCode    |S|M|Pad|TVer|           P_Key           |
//	+-+-+---------+-+-+---+----+-------------+-------------+
//	|F|B| resv6   |           Destination QP               |
//	+-+-+---------+-------------+-------------+------------+
//	|A|  resv7    |           PSN                          |
//	+-------------+-------------+-------------+------------+
//
// F and B are FECN and BECN, which annex A17 leaves to IB; the byte they are
// in is masked in the ICRC.
type BTH []byte

// Valid reports whether b holds a whole header. After that no accessor panics.
func (b BTH) Valid() bool { return len(b) >= BTHLen }

// Opcode of the packet.
func (b BTH) Opcode() Opcode { return Opcode(b[0]) }

// SetOpcode sets the opcode.
func (b BTH) SetOpcode(o Opcode) { b[0] = byte(o) }

// Solicited tells whether the responder is to raise a solicited event.
func (b BTH) Solicited() bool { return b[1]&0x80 != 0 }

// SetSolicited sets the solicited event bit.
func (b BTH) SetSolicited(v bool) { setBit(b[1:], 0x80, v) }

// MigReq is the migration state bit; set when migrated or not using APM.
func (b BTH) MigReq() bool { return b[1]&0x40 != 0 }

// SetMigReq sets the migration state bit.
func (b BTH) SetMigReq(v bool) { setBit(b[1:], 0x40, v) }

// Pad is the number of bytes, 0 to 3, behind the payload in front of the ICRC.
func (b BTH) Pad() int { return int(b[1] >> 4 & 3) }

// SetPad sets the pad count, 0 to 3.
func (b BTH) SetPad(n int) { b[1] = b[1]&^0x30 | byte(n&3)<<4 }

// TVer is the transport header version; 0 is the only one there is.
func (b BTH) TVer() uint8 { return b[1] & 0x0f }

// SetTVer sets the transport header version.
func (b BTH) SetTVer(v uint8) { b[1] = b[1]&0xf0 | v&0x0f }

// PKey is the partition key.
func (b BTH) PKey() uint16 { return binary.BigEndian.Uint16(b[2:]) }

// SetPKey sets the partition key.
func (b BTH) SetPKey(k uint16) { binary.BigEndian.PutUint16(b[2:], k) }

// FECN is the forward congestion bit of IB (IBTA vol. 1 annex A10).
func (b BTH) FECN() bool { return b[4]&0x80 != 0 }

// SetFECN sets the forward congestion bit.
func (b BTH) SetFECN(v bool) { setBit(b[4:], 0x80, v) }

// BECN is the backward congestion bit; a CNP of RoCEv2 carries it set
// (IBTA annex A17.9.3).
func (b BTH) BECN() bool { return b[4]&0x40 != 0 }

// SetBECN sets the backward congestion bit.
func (b BTH) SetBECN(v bool) { setBit(b[4:], 0x40, v) }

// DestQP is the 24-bit number of the destination queue pair.
func (b BTH) DestQP() uint32 { return be24(b[5:]) }

// SetDestQP sets the destination queue pair.
func (b BTH) SetDestQP(qpn uint32) { putBE24(b[5:], qpn) }

// AckReq asks the responder for an acknowledgement.
func (b BTH) AckReq() bool { return b[8]&0x80 != 0 }

// SetAckReq sets the acknowledge request bit.
func (b BTH) SetAckReq(v bool) { setBit(b[8:], 0x80, v) }

// PSN is the 24-bit packet sequence number.
func (b BTH) PSN() uint32 { return be24(b[9:]) }

// SetPSN sets the packet sequence number.
func (b BTH) SetPSN(psn uint32) { putBE24(b[9:], psn) }

// Payload returns what is behind the header.
func (b BTH) Payload() []byte { return b[BTHLen:] }

// BTHFields are the contents of a BTH, for building a whole one.
type BTHFields struct {
	Opcode     Opcode
	Solicited  bool
	MigReq     bool
	Pad        uint8 // 0 to 3
	TVer       uint8 // 0 to 15
	PKey       uint16
	FECN, BECN bool
	DestQP     uint32 // 24 bits
	AckReq     bool
	PSN        uint32 // 24 bits
}

// Encode writes the header into b, of at least BTHLen bytes. Reserved bits
// become 0.
func (f *BTHFields) Encode(b BTH) {
	clear(b[:BTHLen])
	b.SetOpcode(f.Opcode)
	b.SetSolicited(f.Solicited)
	b.SetMigReq(f.MigReq)
	b.SetPad(int(f.Pad))
	b.SetTVer(f.TVer)
	b.SetPKey(f.PKey)
	b.SetFECN(f.FECN)
	b.SetBECN(f.BECN)
	b.SetDestQP(f.DestQP)
	b.SetAckReq(f.AckReq)
	b.SetPSN(f.PSN)
}

// Fields returns the contents of the header.
func (b BTH) Fields() BTHFields {
	return BTHFields{
		Opcode: b.Opcode(), Solicited: b.Solicited(), MigReq: b.MigReq(), Pad: uint8(b.Pad()), TVer: b.TVer(),
		PKey: b.PKey(), FECN: b.FECN(), BECN: b.BECN(), DestQP: b.DestQP(), AckReq: b.AckReq(), PSN: b.PSN(),
	}
}
