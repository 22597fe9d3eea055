package fabric

import (
	"cnuas/hca"
	"cnuas/internal/topology"
)

// GIDs returns the GID table of a port, as the kernel would fill it for RoCE
// v2: index 0 is the link-local GID made from the MAC address, then one GID
// per address in the order of the topology: IPv4 first, so index 1 is the
// IPv4-mapped GID that perftest wants (-x 1).
func GIDs(i *topology.Interface) []hca.GID {
	l := []hca.GID{linkLocal(i.MAC)}
	for _, p := range i.Addrs {
		g := hca.GID(p.Addr().As16())
		if g != l[0] {
			l = append(l, g)
		}
	}
	return l
}

// linkLocal is fe80::/64 with the modified EUI-64 of the address (RFC 4291
// appendix A).
func linkLocal(m topology.MAC) hca.GID {
	g := hca.GID{0: 0xfe, 1: 0x80}
	e := eui64(m)
	copy(g[8:], e[:])
	return g
}

func eui64(m topology.MAC) [8]byte {
	return [8]byte{m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]}
}

// guid is the node GUID of the device on a port: the EUI-64 of its address.
func guid(m topology.MAC) (v uint64) {
	for _, b := range eui64(m) {
		v = v<<8 | uint64(b)
	}
	return v
}
