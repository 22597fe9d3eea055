package cm

import (
	"encoding/binary"
	"net/netip"
)

// Port spaces of the RDMA IP CM service, in bytes 4 and 5 of a service ID (IBTA
// vol. 1 annex A11.3), and Linux's own for InfiniBand services.
const (
	PortSpaceIPoIB uint16 = 0x0002
	PortSpaceTCP   uint16 = 0x0106
	PortSpaceUDP   uint16 = 0x0111
	PortSpaceIB    uint16 = 0x013f
)

// ServiceID of a port of a port space (IBTA vol. 1 annex A11.3).
func ServiceID(space, port uint16) uint64 { return uint64(space)<<16 | uint64(port) }

// SplitServiceID is the inverse of ServiceID; ok is false for other services.
func SplitServiceID(id uint64) (space, port uint16, ok bool) {
	return uint16(id >> 16), uint16(id), id>>32 == 0
}

// IPHeaderLen is the length of an IPHeader in bytes.
const IPHeaderLen = 36

// IPHeader begins the private data of a REQ or a SIDR_REQ of the RDMA IP CM
// service (IBTA vol. 1 annex A11.4).
//
//	 0             1             2             3
//	+------+------+------+------+---------------------------+
//	| MajV | MinV |  IPV |  0   |        source port        |
//	+------+------+------+------+---------------------------+
//	|               source IP address (16 bytes)            |
//	+-------------------------------------------------------+
//	|            destination IP address (16 bytes)          |
//	+-------------------------------------------------------+
//
// An IPv4 address is in the last four of its 16 bytes.
type IPHeader struct {
	Port     uint16
	Src, Dst netip.Addr // of one IP version
}

// Encode writes the header into the first IPHeaderLen bytes of b.
func (h *IPHeader) Encode(b []byte) {
	clear(b[:IPHeaderLen])
	binary.BigEndian.PutUint16(b[2:], h.Port)
	if h.Dst.Is4() {
		b[1] = 4 << 4
		s, d := h.Src.As4(), h.Dst.As4()
		copy(b[16:], s[:])
		copy(b[32:], d[:])
		return
	}
	b[1] = 6 << 4
	s, d := h.Src.As16(), h.Dst.As16()
	copy(b[4:], s[:])
	copy(b[20:], d[:])
}

// Decode reads the header. It reports false for a length, a version of the
// header or of IP, or an address that cannot be.
func (h *IPHeader) Decode(b []byte) bool {
	if len(b) < IPHeaderLen || b[0] != 0 {
		return false
	}
	x := IPHeader{Port: binary.BigEndian.Uint16(b[2:])}
	switch b[1] >> 4 {
	case 4:
		x.Src, x.Dst = netip.AddrFrom4([4]byte(b[16:20])), netip.AddrFrom4([4]byte(b[32:36]))
	case 6:
		x.Src, x.Dst = netip.AddrFrom16([16]byte(b[4:20])), netip.AddrFrom16([16]byte(b[20:36]))
		if x.Src.Is4In6() || x.Dst.Is4In6() {
			return false
		}
	default:
		return false
	}
	if x.Src.IsMulticast() || x.Dst.IsMulticast() {
		return false
	}
	*h = x
	return true
}
