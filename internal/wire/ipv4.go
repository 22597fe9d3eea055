package wire

import "encoding/binary"

// IPv4 is a view of an IPv4 header (RFC 791, RFC 2474, RFC 3168).
//
//	+-------+-------+-----------+---+-------------------------------+
//	|Version|  IHL  |   DSCP    |ECN|         total length          |
//	+-------+-------+-----------+---+-----+-------------------------+
//	|        identification         |flags|     fragment offset     |
//	+---------------+---------------+-----+-------------------------+
//	|      TTL      |   protocol    |        header checksum        |
//	+---------------+---------------+-------------------------------+
//	|                          source address                       |
//	|                       destination address                     |
//	+---------------------------------------------------------------+
//
// Setters leave the checksum alone, except those called Update.
type IPv4 []byte

// Valid reports whether h begins with a whole IPv4 header, options included,
// whose total length covers at least the header.
func (h IPv4) Valid() bool {
	if len(h) < IPv4Len || h[0]>>4 != 4 {
		return false
	}
	n := h.HeaderLen()
	return n >= IPv4Len && n <= len(h) && h.TotalLen() >= n
}

// HeaderLen is the length of the header with options, 20 to 60 bytes.
func (h IPv4) HeaderLen() int { return int(h[0]&15) * 4 }

// TOS is the type of service byte: DSCP and ECN.
func (h IPv4) TOS() uint8 { return h[1] }

// SetTOS sets DSCP and ECN.
func (h IPv4) SetTOS(v uint8) { h[1] = v }

// UpdateTOS sets DSCP and ECN and corrects the checksum.
func (h IPv4) UpdateTOS(v uint8) {
	was := binary.BigEndian.Uint16(h)
	h[1] = v
	h.SetChecksum(UpdateChecksum(h.Checksum(), was, binary.BigEndian.Uint16(h)))
}

// TotalLen is the length of header and payload in bytes.
func (h IPv4) TotalLen() int { return int(binary.BigEndian.Uint16(h[2:])) }

// SetTotalLen sets the length of header and payload.
func (h IPv4) SetTotalLen(n int) { binary.BigEndian.PutUint16(h[2:], uint16(n)) }

// ID is the identification.
func (h IPv4) ID() uint16 { return binary.BigEndian.Uint16(h[4:]) }

// SetID sets the identification.
func (h IPv4) SetID(v uint16) { binary.BigEndian.PutUint16(h[4:], v) }

// DontFragment is the DF flag.
func (h IPv4) DontFragment() bool { return h[6]&0x40 != 0 }

// MoreFragments is the MF flag.
func (h IPv4) MoreFragments() bool { return h[6]&0x20 != 0 }

// FragmentOffset is where the fragment belongs, in units of 8 bytes.
func (h IPv4) FragmentOffset() uint16 { return binary.BigEndian.Uint16(h[6:]) & 0x1fff }

// TTL is the time to live in hops.
func (h IPv4) TTL() uint8 { return h[8] }

// SetTTL sets the time to live.
func (h IPv4) SetTTL(v uint8) { h[8] = v }

// UpdateTTL sets the time to live and corrects the checksum.
func (h IPv4) UpdateTTL(v uint8) {
	was := binary.BigEndian.Uint16(h[8:])
	h[8] = v
	h.SetChecksum(UpdateChecksum(h.Checksum(), was, binary.BigEndian.Uint16(h[8:])))
}

// Proto is the protocol of the payload.
func (h IPv4) Proto() uint8 { return h[9] }

// Checksum is the header checksum as it stands.
func (h IPv4) Checksum() uint16 { return binary.BigEndian.Uint16(h[10:]) }

// SetChecksum sets the header checksum.
func (h IPv4) SetChecksum(v uint16) { binary.BigEndian.PutUint16(h[10:], v) }

// ComputeChecksum returns the right checksum of a Valid header.
func (h IPv4) ComputeChecksum() uint16 {
	return Fold(Sum(Sum(0, h[:10]), h[12:h.HeaderLen()]))
}

// ChecksumOK tells whether a Valid header's checksum is right.
func (h IPv4) ChecksumOK() bool { return Fold(Sum(0, h[:h.HeaderLen()])) == 0 }

// Src is the source address.
func (h IPv4) Src() [4]byte { return [4]byte(h[12:16]) }

// SetSrc sets the source address.
func (h IPv4) SetSrc(a [4]byte) { copy(h[12:16], a[:]) }

// Dst is the destination address.
func (h IPv4) Dst() [4]byte { return [4]byte(h[16:20]) }

// SetDst sets the destination address.
func (h IPv4) SetDst(a [4]byte) { copy(h[16:20], a[:]) }

// IPv4Fields are the contents of an IPv4 header without options.
type IPv4Fields struct {
	TOS          uint8
	TotalLen     int // header and payload, bytes
	ID           uint16
	DontFragment bool
	TTL          uint8
	Proto        uint8
	Src, Dst     [4]byte
}

// Encode writes the header with its checksum; h has at least IPv4Len bytes.
func (f *IPv4Fields) Encode(h IPv4) {
	h[0], h[1] = 0x45, f.TOS
	h.SetTotalLen(f.TotalLen)
	h.SetID(f.ID)
	h[6], h[7] = 0, 0
	if f.DontFragment {
		h[6] = 0x40
	}
	h[8], h[9] = f.TTL, f.Proto
	h.SetSrc(f.Src)
	h.SetDst(f.Dst)
	h.SetChecksum(h.ComputeChecksum())
}
