package wire

import "encoding/binary"

// EtherTypes the fabric looks at (IEEE 802 numbers).
const (
	EtherTypeIPv4       = 0x0800
	EtherTypeARP        = 0x0806
	EtherTypeVLAN       = 0x8100 // IEEE 802.1Q C-TAG
	EtherTypeIPv6       = 0x86dd
	EtherTypeMACControl = 0x8808 // IEEE 802.3 clause 31
)

// IP protocol numbers.
const (
	ProtoICMP   = 1
	ProtoTCP    = 6
	ProtoUDP    = 17
	ProtoICMPv6 = 58
)

// RoCEv2Port is the UDP destination port of RoCEv2 (IBTA annex A17).
const RoCEv2Port = 4791

// Lengths of headers in bytes.
const (
	EthernetLen = 14
	VLANTagLen  = 4
	IPv4Len     = 20 // without options
	IPv6Len     = 40
	UDPLen      = 8
	FCSLen      = 4
	ICRCLen     = 4
)

// Layers is what one look at a frame's headers finds: the offsets and the few
// fields that classification and forwarding need. It is computed once, where
// the frame enters, and travels with it.
type Layers struct {
	EtherType uint16 // of the payload, behind any tag
	VID       uint16 // VLAN identifier, valid if Tagged
	L3        uint8  // offset of the network header
	L4        uint8  // offset of the transport header; 0: none, or not the first fragment
	Proto     uint8  // IP protocol behind IPv6 extension headers as far as they are understood
	TOS       uint8  // IPv4 TOS or IPv6 traffic class
	PCP       uint8  // priority code point, valid if Tagged
	Tagged    bool
	RoCE      bool // UDP to port 4791
	IP        bool // L3 is a well-formed IPv4 or IPv6 header
	SrcPort   uint16
	DstPort   uint16
}

// ECN codepoints (RFC 3168), the low two bits of TOS.
const (
	ECNNotECT = 0
	ECNECT1   = 1
	ECNECT0   = 2
	ECNCE     = 3
)

// ECN returns the ECN codepoint of an IP frame.
func (l *Layers) ECN() uint8 { return l.TOS & 3 }

// DSCP returns the differentiated services code point of an IP frame.
func (l *Layers) DSCP() uint8 { return l.TOS >> 2 }

// Parse looks at the headers in b, the beginning of an Ethernet frame. It
// reports false only for a frame that has no complete Ethernet header; an IP
// header that is not well formed leaves IP false, which routing and marking
// treat as "not IP".
func (l *Layers) Parse(b []byte) bool {
	*l = Layers{}
	if len(b) < EthernetLen {
		return false
	}
	et := binary.BigEndian.Uint16(b[12:])
	off := EthernetLen
	if et == EtherTypeVLAN {
		if len(b) < EthernetLen+VLANTagLen {
			return false
		}
		tci := binary.BigEndian.Uint16(b[14:])
		l.Tagged, l.VID, l.PCP = true, tci&0xfff, uint8(tci>>13)
		et = binary.BigEndian.Uint16(b[16:])
		off += VLANTagLen
	}
	l.EtherType, l.L3 = et, uint8(off)
	switch et {
	case EtherTypeIPv4:
		l.parseIPv4(b, off)
	case EtherTypeIPv6:
		l.parseIPv6(b, off)
	}
	return true
}

func (l *Layers) parseIPv4(b []byte, off int) {
	p := b[off:]
	if len(p) < IPv4Len || p[0]>>4 != 4 {
		return
	}
	n := int(p[0]&15) * 4
	if n < IPv4Len || len(p) < n {
		return
	}
	l.IP, l.TOS, l.Proto = true, p[1], p[9]
	if binary.BigEndian.Uint16(p[6:])&0x1fff == 0 { // first or only fragment
		l.parseL4(b, off+n)
	}
}

func (l *Layers) parseIPv6(b []byte, off int) {
	p := b[off:]
	if len(p) < IPv6Len || p[0]>>4 != 6 {
		return
	}
	l.IP, l.TOS, l.Proto = true, p[0]<<4|p[1]>>4, p[6]
	l.parseL4(b, off+IPv6Len)
}

func (l *Layers) parseL4(b []byte, off int) {
	if (l.Proto != ProtoUDP && l.Proto != ProtoTCP) || len(b) < off+4 {
		return
	}
	l.L4 = uint8(off)
	l.SrcPort = binary.BigEndian.Uint16(b[off:])
	l.DstPort = binary.BigEndian.Uint16(b[off+2:])
	l.RoCE = l.Proto == ProtoUDP && l.DstPort == RoCEv2Port
}
