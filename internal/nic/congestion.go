package nic

import (
	"encoding/binary"

	"cnuas/internal/frame"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// DefaultCNPInterval is the least time between two CNPs of a flow if
// Congestion.Interval is 0. The emulated HCA has the same.
const DefaultCNPInterval = 50 * sim.Microsecond

// Congestion makes the NIC the congestion point of RoCEv2 for the node's
// kernel, whose rdma_rxe neither sends congestion notification packets nor
// obeys them (IBTA annex A17.9; the DCQCN paper, section 3).
//
// Notification point: a frame for the kernel that carries the CE mark is
// answered with a CNP, at most one in each interval and flow. Reaction point:
// CNPs for the kernel end here, and are handed to the cc.ReactionPoint of the
// flow. There is no control law yet, so that is nil; one that is there is to be
// asked by Sent where fromQueue takes a RoCE frame, and its answer holds the
// flow's next frame back.
type Congestion struct {
	CNPDSCP  uint8    // 0 to 63: DSCP of the CNPs
	Interval sim.Time // least time between two CNPs of a flow; 0: DefaultCNPInterval
	Flows    int      // flows that are remembered; 0: DefaultFlows
}

// points are the congestion points of one NIC.
type points struct {
	nic   *NIC
	cfg   Congestion
	prio  uint8 // of CNPs
	flows flowTable
}

func newPoints(n *NIC, cfg Congestion) *points {
	if cfg.Interval == 0 {
		cfg.Interval = DefaultCNPInterval
	}
	if cfg.Flows <= 0 {
		cfg.Flows = DefaultFlows
	}
	p := &points{nic: n, cfg: cfg}
	p.prio = n.cfg.Classifier.Priority(&wire.Layers{IP: true, TOS: cfg.CNPDSCP << 2})
	p.flows.init(cfg.Flows)
	return p
}

// packet is what the congestion points look at.
type packet struct {
	op       wire.Opcode
	qpn, psn uint32
	port     uint16 // UDP source port
	src, dst [16]byte
}

// read decodes a frame that was parsed and is RoCE; false if it is too short.
func (p *packet) read(f *frame.Frame) bool {
	l := &f.Meta.Layers
	bth := wire.BTH(f.Data[min(int(l.L4)+wire.UDPLen, len(f.Data)):])
	if !l.IP || !bth.Valid() {
		return false
	}
	p.op, p.qpn, p.psn, p.port = bth.Opcode(), bth.DestQP(), bth.PSN(), l.SrcPort
	if ip := f.Data[l.L3:]; l.EtherType == wire.EtherTypeIPv4 {
		p.src, p.dst = mapped(wire.IPv4(ip).Src()), mapped(wire.IPv4(ip).Dst())
	} else {
		p.src, p.dst = wire.IPv6(ip).Src(), wire.IPv6(ip).Dst()
	}
	return true
}

func (p *packet) reliable() bool {
	return p.op.Known() && p.op.Service() == wire.ServiceRC
}

// mapped is an IPv4 address as an IPv6 one (RFC 4291 §2.5.5.2).
func mapped(a [4]byte) (b [16]byte) {
	b[10], b[11] = 0xff, 0xff
	copy(b[12:], a[:])
	return b
}

// sends looks at a RoCE frame of the kernel that leaves.
func (c *points) sends(f *frame.Frame) {
	var p packet
	if p.read(f) && p.reliable() {
		c.flows.sent(&p.dst, p.op, p.qpn, p.psn, p.port)
	}
}

// arrived looks at a RoCE frame for the kernel. It reports whether the frame
// ended here.
func (c *points) arrived(f *frame.Frame) bool {
	var p packet
	if !p.read(f) {
		return false
	}
	n := c.nic
	if p.op == wire.CNP && intact(f) {
		n.count.CNPReceived++
		if fl := c.flows.local(&p.src, p.qpn); fl != nil && fl.rp != nil {
			fl.rp.Notified(n.port.Proc().Now())
		}
		n.pool.Put(f)
		return true
	}
	var fl *flow
	if p.reliable() {
		fl = c.flows.received(&p.src, p.op, p.qpn, p.psn, p.port)
	}
	if marked(f) {
		n.count.ECNMarked++
		c.mark(f, fl)
	}
	return false
}

// marked tells whether a frame has the CE mark. The bytes are looked at, not
// the layers: switches mark after parsing.
func marked(f *frame.Frame) bool {
	ip := f.Data[f.Meta.Layers.L3:]
	if f.Meta.Layers.EtherType == wire.EtherTypeIPv4 {
		return wire.IPv4(ip).TOS()&3 == wire.ECNCE
	}
	return wire.IPv6(ip).TrafficClass()&3 == wire.ECNCE
}

// intact checks the ICRC of a frame that has one: what an emulated device sent
// gets it only where it leaves the process.
func intact(f *frame.Frame) bool {
	if f.Meta.ICRCDeferred {
		return true
	}
	l := &f.Meta.Layers
	end := int(l.L4) + wire.UDP(f.Data[l.L4:]).Len() - wire.ICRCLen
	return end > int(l.L4) && end+wire.ICRCLen <= len(f.Data) && len(f.Pay) == 0 &&
		wire.ICRC(f.Data[:end], int(l.L3)) == binary.LittleEndian.Uint32(f.Data[end:])
}

// mark answers the CE mark of f, which belongs to fl; nil: not to a connection.
func (c *points) mark(f *frame.Frame, fl *flow) {
	n := c.nic
	if fl == nil || !fl.known {
		n.count.CNPUnknownFlow++
		return
	}
	if n.queue[c.prio].Len() >= maxCNPs || !fl.np.Marked(n.port.Proc().Now(), c.cfg.Interval) {
		return
	}
	n.count.CNPSent++
	n.enqueue(c.cnp(f, fl), c.prio)
	n.Kick()
}
