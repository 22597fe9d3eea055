package wire

import "encoding/binary"

// MaxVID is the highest VLAN identifier in use; 0 means "priority only" and
// 4095 is reserved (IEEE 802.1Q table 9-2).
const MaxVID = 4094

// VLAN is a view of an Ethernet header with an IEEE 802.1Q tag, from its
// destination address to the EtherType behind the tag (IEEE 802.1Q clause 9.6).
//
//	 0             6             12      14              16     18
//	+-------------+-------------+-------+---+-+---------+------+----
//	| destination |   source    | 0x8100|PCP|D|   VID   | type |
//	+-------------+-------------+-------+---+-+---------+------+----
type VLAN []byte

// Valid reports whether h holds a whole header that is tagged.
func (h VLAN) Valid() bool {
	return len(h) >= EthernetLen+VLANTagLen && binary.BigEndian.Uint16(h[12:]) == EtherTypeVLAN
}

// TCI is the tag control information: PCP, DEI and VID.
func (h VLAN) TCI() uint16 { return binary.BigEndian.Uint16(h[14:]) }

// SetTCI sets the tag control information.
func (h VLAN) SetTCI(v uint16) { binary.BigEndian.PutUint16(h[14:], v) }

// PCP is the priority code point, 0 to 7.
func (h VLAN) PCP() uint8 { return h[14] >> 5 }

// DEI is the drop eligible indicator.
func (h VLAN) DEI() bool { return h[14]&0x10 != 0 }

// VID is the VLAN identifier, 0 to 4095.
func (h VLAN) VID() uint16 { return h.TCI() & 0xfff }

// Type is the EtherType behind the tag.
func (h VLAN) Type() uint16 { return binary.BigEndian.Uint16(h[16:]) }

// TCI builds tag control information from its parts.
func TCI(pcp uint8, dei bool, vid uint16) uint16 {
	v := uint16(pcp&7)<<13 | vid&0xfff
	if dei {
		v |= 0x1000
	}
	return v
}

// PushTag makes room for a tag in b: the first VLANTagLen bytes of b are free,
// an untagged Ethernet header follows. Afterwards b begins with a tagged one.
func PushTag(b []byte, tci uint16) {
	copy(b[:12], b[VLANTagLen:VLANTagLen+12])
	binary.BigEndian.PutUint16(b[12:], EtherTypeVLAN)
	binary.BigEndian.PutUint16(b[14:], tci)
}

// PopTag removes the tag of b, which begins with a tagged header: afterwards
// an untagged header begins VLANTagLen bytes further on.
func PopTag(b []byte) {
	copy(b[VLANTagLen:VLANTagLen+12], b[:12])
}
