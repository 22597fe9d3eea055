package smtest

import (
	"fmt"

	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Hops is how many links a packet of data goes from an end port to a LID; an
// error says where it would be lost.
func (f *Fabric) Hops(from *Port, to wire.LID) (int, error) {
	p := packet{node: from.Node}
	n, ok := p.byLID(from, to, true)
	if !ok {
		return n, fmt.Errorf("from %s to LID %d: lost at %s port %d after %d hops", from.Node.Name, to, p.node.Name, p.in, n)
	}
	return n, nil
}

// Multicast is which end ports get what a port sends to a multicast LID.
func (f *Fabric) Multicast(from *Port, mlid wire.LID) (l []*Port) {
	type step struct {
		n  *Node
		in uint8
	}
	var queue []step
	if from.Node.Type == mad.NodeSwitch {
		queue = append(queue, step{from.Node, 0})
	} else if from.open(true) {
		queue = append(queue, step{from.Peer.Node, from.Peer.Num})
	}
	for i := 0; i < len(queue) && i < 10000; i++ {
		n, in := queue[i].n, queue[i].in
		if n.Type != mad.NodeSwitch {
			l = append(l, n.Ports[in])
			continue
		}
		e := uint32(mlid - wire.LIDMulticastMin)
		for _, p := range n.Ports {
			t := n.MFT[uint32(p.Num)/16<<28|e/32]
			if t.PortMask[e%32]>>(p.Num%16)&1 == 0 || p.Num == in {
				continue
			}
			if p.Num == 0 {
				l = append(l, p)
			} else if p.open(true) {
				queue = append(queue, step{p.Peer.Node, p.Peer.Num})
			}
		}
	}
	return l
}

// State describes everything that a subnet manager sets, as text: two fabrics
// that were managed alike have the same.
func (f *Fabric) State() string {
	var s []byte
	for _, n := range f.Nodes {
		s = fmt.Appendf(s, "%s %v\n", n.Name, n.Info.NodeGUID)
		if n.Type == mad.NodeSwitch {
			s = fmt.Appendf(s, " top %d life %d change %v lft %x\n", n.SI.LinearFDBTop, n.SI.LifeTimeValue, n.SI.PortStateChange, n.LFT)
			for pos := range uint32(16) {
				for b := range uint32(n.SI.MulticastFDBCap / 32) {
					if t := n.MFT[pos<<28|b]; t != (mad.MulticastForwarding{}) {
						s = fmt.Appendf(s, " mft %d/%d %v\n", b, pos, t.PortMask)
					}
				}
			}
		}
		for _, p := range n.Ports {
			if p != nil {
				s = fmt.Appendf(s, " port %d %+v %x\n", p.Num, p.Info, p.PKeys)
			}
		}
	}
	return string(s)
}
