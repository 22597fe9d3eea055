package fabric

import (
	"fmt"
	"strings"

	"cnuas/internal/ibport"
	"cnuas/internal/status"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/switch/ib"
)

func (p *IBPort) snapshot() status.IBPort {
	s := status.IBPort{Port: ibBasics(p.Port()), RDMA: rdma(p.Device())}
	for i := range s.RDMA.GIDs {
		s.RDMA.GIDs[i].Type = "IB"
	}
	return s
}

func (s *Switch) ibSnapshot() status.Switch {
	own := s.ib.Port(0)
	t := s.ib.Totals()
	r := status.Switch{
		Name: s.Spec.Name, Mode: string(topologyIB), LID: uint16(own.LID()), GUID: own.GUID().String(),
		FECNMarks: t.Marked, Drops: map[string]uint64{},
	}
	for d := range ib.NumDropReasons {
		if n := t.Drops[d]; n != 0 {
			r.Drops[snakeSpaces(d.String())] = n
		}
	}
	for _, x := range s.Spec.Ports {
		q := s.ib.Port(x.Number)
		p := ibBasics(q)
		p.IB.LID, p.IB.LMC = r.LID, own.LMC()
		sm, _ := own.SMLID()
		p.IB.SMLID = uint16(sm)
		for vl := range uint8(16) {
			p.QueueBytes += s.ib.QueueBytes(x.Number, vl)
		}
		r.UsedBytes += p.IB.Held
		_, room := q.Held(0)
		r.BufferBytes += int64(room) * wire.FlowBlock * int64(q.VLs())
		r.Ports = append(r.Ports, p)
	}
	return r
}

// topologyIB is the mode of InfiniBand switches.
const topologyIB = "ib"

func snakeSpaces(s string) string { return strings.ReplaceAll(s, " ", "_") }

// ibBasics is what every InfiniBand port tells.
func ibBasics(p *ibport.Port) status.Port {
	s := basics(p.Link())
	s.RateBPS = int64(p.Rate())
	s.State = strings.ToLower(p.State().String())
	i := p.Info()
	sm, _ := p.SMLID()
	b := &status.IB{
		State: s.State, Phys: strings.ToLower(p.PhysState().String()), GUID: p.GUID().String(),
		LID: uint16(p.LID()), LMC: p.LMC(), SMLID: uint16(sm), IsSM: p.CapMask()&mad.CapIsSM != 0,
		Width: i.LinkWidthActive.String(), Speed: i.LinkSpeedActive.String(), MTU: p.MTU().Bytes(), VLs: p.VLs(),
		Waiting: []int{}, WaitLane: map[int]float64{}, Counters: map[string]uint64{},
	}
	if i.LinkSpeedExtActive != 0 {
		b.Speed = i.LinkSpeedExtActive.String()
	}
	starved := p.Starved()
	c := p.Counters()
	tick := p.Tick().Seconds()
	b.WaitSecs = float64(c.XmitWait) * tick
	for vl := range 15 {
		if starved&(1<<vl) != 0 {
			b.Waiting = append(b.Waiting, vl)
		}
		if n := c.LaneWait[vl]; n != 0 {
			b.WaitLane[vl] = float64(n) * tick
		}
		h, _ := p.Held(uint8(vl))
		b.Held += int64(h) * wire.FlowBlock
	}
	s.IB = b
	ibCounters(&s, &c)
	return s
}

// ibCounters adds the port's counters, and as drops those that mean a packet
// that went no further.
func ibCounters(s *status.Port, c *ibport.Counters) {
	for _, x := range []struct {
		name string
		n    uint64
	}{
		{"xmit_data", c.XmitData}, {"rcv_data", c.RcvData}, {"xmit_pkts", c.XmitPkts}, {"rcv_pkts", c.RcvPkts},
		{"multicast_xmit_pkts", c.MulticastXmitPkts}, {"multicast_rcv_pkts", c.MulticastRcvPkts},
		{"symbol_errors", c.SymbolErrors}, {"link_error_recovery", c.LinkErrorRecovery}, {"link_downed", c.LinkDowned},
		{"rcv_errors", c.RcvErrors}, {"rcv_remote_physical_errors", c.RcvRemotePhysical}, {"rcv_switch_relay_errors", c.RcvSwitchRelay},
		{"xmit_discards", c.XmitDiscards}, {"xmit_constraint_errors", c.XmitConstraint}, {"rcv_constraint_errors", c.RcvConstraint},
		{"local_link_integrity_errors", c.LocalLinkIntegrity}, {"excessive_buffer_overruns", c.ExcessiveOverruns},
		{"vl15_dropped", c.VL15Dropped}, {"qp1_dropped", c.QP1Dropped}, {"xmit_wait", c.XmitWait},
		{"flow_xmit_pkts", c.FlowXmit}, {"flow_rcv_pkts", c.FlowRcv}, {"fecn_pkts", c.FECN}, {"becn_pkts", c.BECN},
	} {
		if x.n != 0 {
			s.IB.Counters[x.name] = x.n
		}
	}
	drop(s, "not_active", c.Inactive)
	drop(s, "above_neighbor_mtu", c.NeighborMTU)
	drop(s, "lifetime", c.Lifetime)
	drop(s, "head_of_queue", c.HOQ)
	drop(s, "pkey_xmit", c.XmitConstraint)
	drop(s, "pkey_rcv", c.RcvConstraint)
	drop(s, "physical_error", c.LocalPhysical)
	drop(s, "malformed", c.Malformed)
	drop(s, "buffer_overrun", c.BufferOverrun)
	drop(s, "no_route", c.DLIDMapping)
	drop(s, "vl_mapping", c.VLMapping)
	drop(s, "looping", c.Looping)
	drop(s, "vl15_full", c.VL15Dropped)
	drop(s, "qp1_full", c.QP1Dropped)
	drop(s, "raw_filtered", c.RawXmit+c.RawRcv)
	drop(s, "came_while_not_armed", c.RcvInactive)
}

// checkIB looks for InfiniBand packets that are not accounted for.
func (f *Fabric) checkIB() (bad []string) {
	for _, s := range f.switches {
		if s.ib != nil {
			if err := s.ib.Conservation(); err != nil {
				bad = append(bad, err.Error())
			}
		}
	}
	overrun := func(p *ibport.Port) {
		if c := p.Counters(); c.BufferOverrun != 0 {
			bad = append(bad, fmt.Sprintf("%s: %d packets came without credits for them", p.Name(), c.BufferOverrun))
		}
	}
	for _, s := range f.switches {
		if s.ib == nil {
			continue
		}
		for _, p := range s.Spec.Ports {
			overrun(s.ib.Port(p.Number))
		}
	}
	for _, n := range f.nodes {
		for _, p := range n.ibs {
			overrun(p.Port())
		}
	}
	return bad
}
