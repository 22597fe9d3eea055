package ipoib

import (
	"encoding/binary"
	"net/netip"

	"cnuas/internal/wire"
)

// The node's kernel does not tell a tun device which multicast groups it
// listens to, but it reports them to routers: by IGMP (RFC 2236, RFC 3376) and
// MLD (RFC 2710, RFC 3810). The reports that it sends are read here, and go to
// the network as well.

const (
	protoIGMP      = 2
	igmpReport1    = 0x12
	igmpReport2    = 0x16
	igmpLeave      = 0x17
	igmpReport3    = 0x22
	mldReport1     = 131
	mldDone        = 132
	mldReport2     = 143
	hopByHop       = 0
	recordIsIn     = 1 // record types of IGMPv3 and MLDv2: INCLUDE and EXCLUDE state,
	recordIsEx     = 2
	recordToIn     = 3 // changes to them,
	recordToEx     = 4
	recordAllow    = 5 // and new sources
	maxReportGroup = 64
)

// snoop looks at a packet of the kernel's for reports.
func (i *Interface) snoop(p []byte, dst netip.Addr) {
	if !dst.IsMulticast() || i.pkey == 0 {
		return
	}
	if dst.Is4() {
		h := wire.IPv4(p)
		if h.Proto() == protoIGMP && len(p) >= h.HeaderLen()+8 {
			i.igmp(p[h.HeaderLen():])
		}
		return
	}
	h := wire.IPv6(p)
	m := p[wire.IPv6Len:]
	if h.NextHeader() != hopByHop || len(m) < 8 || m[0] != wire.ProtoICMPv6 {
		return // MLD has the router alert option (RFC 3810 §5)
	}
	if n := 8 + 8*int(m[1]); len(m) >= n+8 {
		i.mld(m[n:])
	}
}

func (i *Interface) igmp(m []byte) {
	switch m[0] {
	case igmpReport1, igmpReport2:
		i.report(netip.AddrFrom4([4]byte(m[4:8])), recordIsEx, 0)
	case igmpLeave:
		i.report(netip.AddrFrom4([4]byte(m[4:8])), recordToIn, 0)
	case igmpReport3:
		i.records(m, 4)
	}
}

func (i *Interface) mld(m []byte) {
	switch m[0] {
	case mldReport1, mldDone:
		if len(m) < 24 {
			return
		}
		typ := uint8(recordIsEx)
		if m[0] == mldDone {
			typ = recordToIn
		}
		i.report(netip.AddrFrom16([16]byte(m[8:24])), typ, 0)
	case mldReport2:
		i.records(m, 16)
	}
}

// records reads the group records of an IGMPv3 or MLDv2 report: type, length of
// auxiliary data, number of sources, group, sources, auxiliary data.
func (i *Interface) records(m []byte, addrLen int) {
	count := min(int(binary.BigEndian.Uint16(m[6:])), maxReportGroup)
	for b := m[8:]; count > 0 && len(b) >= 4+addrLen; count-- {
		sources := int(binary.BigEndian.Uint16(b[2:]))
		if a, ok := netip.AddrFromSlice(b[4 : 4+addrLen]); ok {
			i.report(a, b[0], sources)
		}
		n := 4 + addrLen*(1+sources) + 4*int(b[1])
		if n > len(b) {
			return
		}
		b = b[n:]
	}
}

// report joins or leaves a group as a record says. The groups that all hosts
// are in stay.
func (i *Interface) report(a netip.Addr, typ uint8, sources int) {
	if !a.IsMulticast() || a.IsInterfaceLocalMulticast() {
		return
	}
	switch {
	case typ == recordIsEx, typ == recordToEx, typ == recordAllow, (typ == recordIsIn || typ == recordToIn) && sources > 0:
		i.member(a)
	case typ == recordToIn && !i.permanent(a):
		i.leaveGroup(a)
	}
}

// permanent tells whether a group is one of ownGroups.
func (i *Interface) permanent(a netip.Addr) bool {
	if a == netip.AddrFrom4([4]byte{224, 0, 0, 1}) || a == netip.IPv6LinkLocalAllNodes() {
		return true
	}
	for _, p := range i.addrs {
		if p.Addr().Is6() && netip.AddrFrom16(wire.SolicitedNode(p.Addr().As16())) == a {
			return true
		}
	}
	return false
}
