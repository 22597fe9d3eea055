package wire

import "encoding/binary"

// Ethernet is a view of an Ethernet header (IEEE 802.3 clause 3.2).
//
//	 0             6             12     14
//	+-------------+-------------+------+----
//	| destination |   source    | type |
//	+-------------+-------------+------+----
type Ethernet []byte

// Broadcast is the address of all stations.
var Broadcast = [6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// Valid reports whether h holds a whole header.
func (h Ethernet) Valid() bool { return len(h) >= EthernetLen }

// Dst is the destination address.
func (h Ethernet) Dst() [6]byte { return [6]byte(h[:6]) }

// SetDst sets the destination address.
func (h Ethernet) SetDst(a [6]byte) { copy(h[:6], a[:]) }

// Src is the source address.
func (h Ethernet) Src() [6]byte { return [6]byte(h[6:12]) }

// SetSrc sets the source address.
func (h Ethernet) SetSrc(a [6]byte) { copy(h[6:12], a[:]) }

// Type is the EtherType, or the TPID of a tag that follows.
func (h Ethernet) Type() uint16 { return binary.BigEndian.Uint16(h[12:]) }

// SetType sets the EtherType.
func (h Ethernet) SetType(t uint16) { binary.BigEndian.PutUint16(h[12:], t) }

// Multicast tells whether the destination is a group, which includes the
// broadcast address.
func (h Ethernet) Multicast() bool { return h[0]&1 != 0 }

// Encode writes the whole header; h has at least EthernetLen bytes.
func (h Ethernet) Encode(dst, src [6]byte, etherType uint16) {
	h.SetDst(dst)
	h.SetSrc(src)
	h.SetType(etherType)
}

// Group tells whether a is a multicast or the broadcast address.
func Group(a [6]byte) bool { return a[0]&1 != 0 }
