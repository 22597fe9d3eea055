package ibport

// singles and arrays list all of Counters, for Add and Sub.
func (c *Counters) singles() [39]*uint64 {
	return [...]*uint64{
		&c.XmitData, &c.RcvData, &c.XmitPkts, &c.RcvPkts, &c.UnicastXmitPkts, &c.UnicastRcvPkts, &c.MulticastXmitPkts,
		&c.MulticastRcvPkts, &c.SymbolErrors, &c.LinkErrorRecovery, &c.LinkDowned, &c.RcvErrors, &c.RcvRemotePhysical,
		&c.RcvSwitchRelay, &c.XmitDiscards, &c.XmitConstraint, &c.RcvConstraint, &c.LocalLinkIntegrity, &c.ExcessiveOverruns,
		&c.VL15Dropped, &c.QP1Dropped, &c.XmitWait, &c.LocalPhysical, &c.Malformed, &c.BufferOverrun, &c.VLMapping,
		&c.DLIDMapping, &c.Looping, &c.Inactive, &c.NeighborMTU, &c.Lifetime, &c.HOQ, &c.FlowXmit, &c.FlowRcv,
		&c.RcvInactive, &c.RawXmit, &c.RawRcv, &c.FECN, &c.BECN,
	}
}

func (c *Counters) arrays() [9]*[16]uint64 {
	return [...]*[16]uint64{
		&c.LanePkts, &c.LaneData, &c.LaneWait, &c.LaneFlowErrors, &c.LaneMarked, &c.SLXmit, &c.SLRcv, &c.SLFECN, &c.SLBECN,
	}
}

// Add adds o to c, counter by counter.
func (c *Counters) Add(o *Counters) { c.combine(o, 1) }

// Sub subtracts o from c, counter by counter. What was written into a counter
// makes the difference wrap as it should.
func (c *Counters) Sub(o *Counters) { c.combine(o, ^uint64(0)) }

func (c *Counters) combine(o *Counters, sign uint64) {
	to, from := c.singles(), o.singles()
	for i := range to {
		*to[i] += sign * *from[i]
	}
	t, f := c.arrays(), o.arrays()
	for i := range t {
		for k := range t[i] {
			t[i][k] += sign * f[i][k]
		}
	}
}
