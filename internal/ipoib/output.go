package ipoib

import (
	"net/netip"

	"cnuas/hca"
	"cnuas/internal/wire"
)

// Output sends an IP packet of the node's kernel: b has HeaderLen bytes of room
// in front of it, which are overwritten. b is the caller's again on return.
func (i *Interface) Output(b []byte) {
	if len(b) < HeaderLen+1 {
		i.ctr.TxMalformed++
		return
	}
	p := b[HeaderLen:]
	var dst netip.Addr
	etherType := uint16(wire.EtherTypeIPv4)
	switch h4, h6 := wire.IPv4(p), wire.IPv6(p); {
	case h4.Valid():
		dst = netip.AddrFrom4(h4.Dst())
	case h6.Valid():
		dst = netip.AddrFrom16(h6.Dst())
		etherType = wire.EtherTypeIPv6
		if neighbourDiscovery(p) != nil {
			return // resolution is here
		}
	default:
		i.ctr.TxMalformed++
		return
	}
	i.snoop(p, dst)
	switch {
	case !i.running:
		i.ctr.TxNotJoined++
		return
	case len(p) > i.mtu:
		i.ctr.TxTooLong++
		return
	case dst.IsUnspecified() || dst.IsLoopback() || dst.Is4In6():
		i.ctr.TxMalformed++
		return
	}
	b[0], b[1], b[2], b[3] = byte(etherType>>8), byte(etherType), 0, 0
	i.ctr.TxPackets++
	i.ctr.TxBytes += uint64(len(p))
	switch {
	case dst.IsMulticast():
		i.toGroup(dst, b)
	case i.isBroadcast(dst):
		i.broadcast.send(b)
	default:
		if n := i.neighbour(dst); n != nil {
			n.send(b)
		} else {
			i.ctr.TxOverflow++
		}
	}
}

// toGroup sends to an IP multicast group, which is joined as a sender first.
func (i *Interface) toGroup(ip netip.Addr, b []byte) {
	mgid := MulticastGID(ip, i.pkey)
	g := i.groups[mgid]
	if g == nil {
		if g = i.addGroup(mgid, false); g == nil {
			i.ctr.TxOverflow++
			return
		}
	}
	g.send(b)
}

// isBroadcast tells whether the address is that of all hosts, of the subnet or
// of one of the interface's prefixes.
func (i *Interface) isBroadcast(a netip.Addr) bool {
	if !a.Is4() {
		return false
	}
	x := a.As4()
	if x == [4]byte{255, 255, 255, 255} {
		return true
	}
	for _, p := range i.addrs {
		if p.Addr().Is4() && p.Bits() < 31 && p.Contains(a) {
			m := p.Masked().Addr().As4()
			host := 1<<(32-p.Bits()) - 1
			if be32(x)-be32(m) == uint32(host) {
				return true
			}
		}
	}
	return false
}

func be32(b [4]byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// transmit hands a datagram to the queue pair.
func (i *Interface) transmit(b []byte, to hca.MADAddress) {
	i.out = hca.Datagram{Data: b, Addr: to}
	if i.qp.Send(&i.out) != nil {
		i.ctr.TxFailed++
	}
	i.out.Data = nil
}
