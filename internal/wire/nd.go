package wire

import "encoding/binary"

// Lengths of neighbour discovery messages in bytes.
const (
	NDLen       = 24 // without options
	NDOptionLen = 8  // a link-layer address option of Ethernet
)

// Options of neighbour discovery (RFC 4861 §4.6.1).
const (
	NDSourceLinkAddr = 1
	NDTargetLinkAddr = 2
)

// Flags of a neighbour advertisement (RFC 4861 §4.4).
const (
	NDRouter    = 0x80
	NDSolicited = 0x40
	NDOverride  = 0x20
)

// NDHopLimit is the only hop limit with which a neighbour discovery message is
// valid: it proves that no router forwarded it (RFC 4861 §7.1).
const NDHopLimit = 255

// ND is a view of a neighbour solicitation or advertisement, which is an
// ICMPv6 message (RFC 4861 §4.3, §4.4).
//
//	+---------------+---------------+-------------------------------+
//	|  135 or 136   |       0       |           checksum            |
//	+-+-+-+---------+---------------+-------------------------------+
//	|R|S|O|                      reserved                           |
//	+-+-+-+---------------------------------------------------------+
//	|                   target address (128 bits)                   |
//	+---------------------------------------------------------------+
//	|  options: type, length in units of 8 bytes, address           |
//	+---------------------------------------------------------------+
type ND []byte

// Valid reports whether h is a whole solicitation or advertisement, up to the
// options.
func (h ND) Valid() bool {
	return len(h) >= NDLen && (h[0] == ICMPv6NeighborSol || h[0] == ICMPv6NeighborAdv) && h[1] == 0
}

// Flags of an advertisement.
func (h ND) Flags() uint8 { return h[4] & 0xe0 }

// Target is the address that is asked for or advertised.
func (h ND) Target() [16]byte { return [16]byte(h[8:24]) }

// LinkAddr returns the Ethernet address in the option of the given type, and
// whether there is one. Options that are not well formed end the search.
func (h ND) LinkAddr(option uint8) (a [6]byte, ok bool) {
	for b := h[NDLen:]; len(b) >= 8; {
		n := int(b[1]) * 8
		if n == 0 || n > len(b) {
			return a, false
		}
		if b[0] == option {
			return [6]byte(b[2:8]), true
		}
		b = b[n:]
	}
	return a, false
}

// Encode writes a message with one link-layer address option: that of the
// source in a solicitation, of the target in an advertisement. h has NDLen +
// NDOptionLen bytes. Seal6 has to follow.
func (h ND) Encode(typ, flags uint8, target [16]byte, mac [6]byte) {
	h[0], h[1] = typ, 0
	binary.BigEndian.PutUint16(h[2:], 0)
	binary.BigEndian.PutUint32(h[4:], uint32(flags)<<24)
	copy(h[8:], target[:])
	o := h[NDLen:]
	o[0], o[1] = NDSourceLinkAddr, 1
	if typ == ICMPv6NeighborAdv {
		o[0] = NDTargetLinkAddr
	}
	copy(o[2:8], mac[:])
}

// SolicitedNode is the group in which an address is asked for (RFC 4291
// §2.7.1).
func SolicitedNode(a [16]byte) [16]byte {
	return [16]byte{0: 0xff, 1: 0x02, 11: 1, 12: 0xff, 13: a[13], 14: a[14], 15: a[15]}
}

// MulticastMAC is the Ethernet address of an IPv6 group (RFC 2464 §7).
func MulticastMAC(group [16]byte) [6]byte {
	return [6]byte{0x33, 0x33, group[12], group[13], group[14], group[15]}
}
