package rdmacm

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"

	"cnuas/hca"
)

var (
	le = binary.LittleEndian
	be = binary.BigEndian
)

// afIB is the address family of InfiniBand (include/rdma/ib.h of Linux).
const afIB = 27

// Lengths of struct sockaddr_in, sockaddr_in6, sockaddr_ib, sockaddr_storage.
const (
	sockaddrIn      = 16
	sockaddrIn6     = 28
	sockaddrIB      = 48
	sockaddrStorage = 128
)

// address is what a program's struct sockaddr says.
type address struct {
	family uint16 // 0: none
	ip     netip.Addr
	port   uint16
	scope  uint32 // sin6_scope_id

	// AF_IB.
	gid       hca.GID
	pkey      uint16
	sid, mask uint64
}

// parseAddress reads a struct sockaddr of at most len(b) bytes: EINVAL if the
// family is unknown or the bytes too few.
func parseAddress(b []byte) (a address, err error) {
	if len(b) < 2 {
		return a, unix.EINVAL
	}
	a.family = le.Uint16(b)
	switch {
	case a.family == 0:
	case a.family == unix.AF_INET && len(b) >= sockaddrIn:
		a.port, a.ip = be.Uint16(b[2:]), netip.AddrFrom4([4]byte(b[4:8]))
	case a.family == unix.AF_INET6 && len(b) >= sockaddrIn6:
		a.port, a.ip, a.scope = be.Uint16(b[2:]), netip.AddrFrom16([16]byte(b[8:24])), le.Uint32(b[24:])
		if a.ip.Is4In6() {
			return a, unix.EINVAL
		}
	case a.family == afIB && len(b) >= sockaddrIB:
		a.pkey, a.gid = be.Uint16(b[2:]), hca.GID(b[8:24])
		a.sid, a.mask = be.Uint64(b[24:]), be.Uint64(b[32:])
		a.port = uint16(a.sid)
	default:
		return a, unix.EINVAL
	}
	return a, nil
}

// put writes the address as a struct sockaddr and returns its length.
func (a *address) put(b []byte) int {
	clear(b)
	le.PutUint16(b, a.family)
	switch a.family {
	case unix.AF_INET:
		be.PutUint16(b[2:], a.port)
		x := a.ip.As4()
		copy(b[4:], x[:])
		return sockaddrIn
	case unix.AF_INET6:
		be.PutUint16(b[2:], a.port)
		x := a.ip.As16()
		copy(b[8:], x[:])
		le.PutUint32(b[24:], a.scope)
		return sockaddrIn6
	case afIB:
		if len(b) < sockaddrIB { // the older commands have no room
			return 0
		}
		be.PutUint16(b[2:], a.pkey)
		copy(b[8:], a.gid[:])
		be.PutUint64(b[24:], a.sid)
		be.PutUint64(b[32:], a.mask)
		return sockaddrIB
	}
	return 0
}

// any tells whether the address leaves the choice to us.
func (a *address) any() bool {
	switch a.family {
	case 0:
		return true
	case afIB:
		return a.gid == hca.GID{}
	}
	return a.ip.IsUnspecified()
}

// anyOf is the wildcard of a family.
func anyOf(family uint16) address {
	a := address{family: family}
	switch family {
	case unix.AF_INET:
		a.ip = netip.IPv4Unspecified()
	case unix.AF_INET6:
		a.ip = netip.IPv6Unspecified()
	case afIB:
		a.mask = ^uint64(0)
	}
	return a
}

// ipAddress is the address of an IP address and port.
func ipAddress(ip netip.Addr, port uint16) address {
	a := address{family: unix.AF_INET6, ip: ip, port: port}
	if ip.Is4() {
		a.family = unix.AF_INET
	}
	return a
}
