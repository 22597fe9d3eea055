package wire

import "fmt"

// AETHLen is the length of an AETH in bytes.
const AETHLen = 4

// AETH is a view of an acknowledge header (IBTA vol. 1 §9.3.5).
//
//	 0             1             2             3
//	+-------------+-------------+-------------+-------------+
//	|  Syndrome   |                  MSN                    |
//	+-------------+-------------+-------------+-------------+
type AETH []byte

// Valid reports whether h holds a whole header.
func (h AETH) Valid() bool { return len(h) >= AETHLen }

// Syndrome says whether this is an ACK, RNR NAK or NAK, and which.
func (h AETH) Syndrome() Syndrome { return Syndrome(h[0]) }

// SetSyndrome sets the syndrome.
func (h AETH) SetSyndrome(s Syndrome) { h[0] = byte(s) }

// MSN is the 24-bit message sequence number.
func (h AETH) MSN() uint32 { return be24(h[1:]) }

// SetMSN sets the message sequence number.
func (h AETH) SetMSN(n uint32) { putBE24(h[1:], n) }

// Encode writes the whole header; h has at least AETHLen bytes.
func (h AETH) Encode(s Syndrome, msn uint32) {
	h.SetSyndrome(s)
	h.SetMSN(msn)
}

// Syndrome of an AETH: bit 7 is reserved (0), bits 6-5 the kind, bits 4-0 the
// value (IBTA vol. 1 §9.7.5.1.1, table 44).
type Syndrome uint8

// SyndromeKind is bits 7 to 5 of a Syndrome.
type SyndromeKind uint8

// Kinds of syndrome.
const (
	KindACK      SyndromeKind = 0x00 // value: credit count
	KindRNRNAK   SyndromeKind = 0x20 // value: RNR timer
	KindReserved SyndromeKind = 0x40
	KindNAK      SyndromeKind = 0x60 // value: NAK code
)

// NAK codes (IBTA vol. 1 §9.7.5.1.1, table 45), as whole syndromes.
const (
	NAKSequence          Syndrome = 0x60 // PSN sequence error
	NAKInvalidRequest    Syndrome = 0x61
	NAKRemoteAccess      Syndrome = 0x62
	NAKRemoteOperational Syndrome = 0x63
	NAKInvalidRD         Syndrome = 0x64
)

// CreditInvalid in an ACK says that no end-to-end credits are reported.
const CreditInvalid = 0x1f

// ACK returns the syndrome of an ACK with a credit count of 0 to 31.
func ACK(credits uint8) Syndrome { return Syndrome(credits & 0x1f) }

// RNRNAK returns the syndrome of an RNR NAK with timer code 0 to 31.
func RNRNAK(timer uint8) Syndrome { return Syndrome(KindRNRNAK) | Syndrome(timer&0x1f) }

// Kind of the syndrome. Anything with the reserved bit set is KindReserved.
func (s Syndrome) Kind() SyndromeKind {
	if s&0x80 != 0 {
		return KindReserved
	}
	return SyndromeKind(s & 0x60)
}

// Value is the credit count, timer code or NAK code: 0 to 31.
func (s Syndrome) Value() uint8 { return uint8(s & 0x1f) }

// String names the syndrome.
func (s Syndrome) String() string {
	switch s.Kind() {
	case KindACK:
		if s.Value() == CreditInvalid {
			return "ACK"
		}
		return fmt.Sprintf("ACK (credits %d)", s.Value())
	case KindRNRNAK:
		return fmt.Sprintf("RNR NAK (timer %d)", s.Value())
	case KindNAK:
		switch s {
		case NAKSequence:
			return "NAK PSN sequence error"
		case NAKInvalidRequest:
			return "NAK invalid request"
		case NAKRemoteAccess:
			return "NAK remote access error"
		case NAKRemoteOperational:
			return "NAK remote operational error"
		case NAKInvalidRD:
			return "NAK invalid RD request"
		}
		return fmt.Sprintf("NAK code %d", s.Value())
	}
	return fmt.Sprintf("reserved syndrome %#02x", uint8(s))
}
