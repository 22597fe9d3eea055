package ipoib

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"cnuas/hca"
)

// AddrLen is the length of a link-layer address in bytes.
const AddrLen = 20

// Addr is a link-layer address (RFC 4391 §9.1.1): a queue pair and the GID of
// its port.
//
//	+----------+-----------------------------+
//	| flags: 0 |    queue pair (24 bits)     |
//	+----------+-----------------------------+
//	|             GID (16 bytes)             |
//	+----------------------------------------+
type Addr [AddrLen]byte

// NewAddr returns the address of a queue pair.
func NewAddr(qpn uint32, gid hca.GID) (a Addr) {
	binary.BigEndian.PutUint32(a[:], qpn&0xffffff)
	copy(a[4:], gid[:])
	return a
}

// QPN is the queue pair.
func (a *Addr) QPN() uint32 { return binary.BigEndian.Uint32(a[:]) & 0xffffff }

// GID is the port.
func (a *Addr) GID() hca.GID { return hca.GID(a[4:]) }

// unicast tells whether the address can be that of one interface.
func (a *Addr) unicast() bool {
	return a.QPN() > 1 && a.QPN() != 0xffffff && a[4] != 0xff && a.GID() != hca.GID{}
}

// String prints the address as Linux does.
func (a Addr) String() string { return fmt.Sprintf("%x:%v", a[:4], netip.AddrFrom16(a.GID())) }

// LinkLocal is the IPv6 link-local address of an interface on a port: its
// interface identifier is the port GUID in modified EUI-64 form (RFC 4391 §8).
func LinkLocal(gid hca.GID) netip.Addr {
	a := [16]byte{0: 0xfe, 1: 0x80}
	copy(a[8:], gid[8:])
	a[8] |= 2
	return netip.AddrFrom16(a)
}

// Signatures of groups that carry IP (RFC 4391 §4).
const (
	signature4 = 0x401b
	signature6 = 0x601b
)

// groupGID is ff1S:signature:P_Key and the group's number; scope 2 is the
// subnet (RFC 4391 §4).
func groupGID(signature, pkey uint16) (g hca.GID) {
	g[0], g[1] = 0xff, 0x12
	binary.BigEndian.PutUint16(g[2:], signature)
	binary.BigEndian.PutUint16(g[4:], pkey|0x8000)
	return g
}

// BroadcastGID is the group of all interfaces of a partition (RFC 4391 §5).
func BroadcastGID(pkey uint16) hca.GID {
	g := groupGID(signature4, pkey)
	copy(g[12:], []byte{255, 255, 255, 255})
	return g
}

// MulticastGID is the group that carries an IP multicast group: 28 bits of an
// IPv4 one, 80 of an IPv6 one, in the scope of the subnet (RFC 4391 §4).
func MulticastGID(ip netip.Addr, pkey uint16) hca.GID {
	if ip.Is4() {
		a := ip.As4()
		g := groupGID(signature4, pkey)
		copy(g[12:], a[:])
		g[12] &= 0x0f
		return g
	}
	a := ip.As16()
	g := groupGID(signature6, pkey)
	copy(g[6:], a[6:])
	return g
}
