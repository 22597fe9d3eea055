package ibagent

import (
	"cnuas/internal/ibport"
	"cnuas/internal/wire/mad"
)

// pick sets v if bit n of a selector is set.
func pick(sel uint32, n int, v *uint64, to uint64) {
	if sel&(1<<n) != 0 {
		*v = to
	}
}

// portCounters is PortCounters (IBTA vol. 1 §16.1.3.5).
var portCounters = &handler{
	view: viewShort,
	get: func(v *ibport.Counters, d []byte) {
		var c mad.PortCounters
		mad.Decode(&c, d)
		mad.Encode(&mad.PortCounters{
			PortSelect: c.PortSelect, CounterSelect: c.CounterSelect, CounterSelect2: c.CounterSelect2,
			SymbolErrorCounter: sat[uint16](v.SymbolErrors), LinkErrorRecoveryCounter: sat[uint8](v.LinkErrorRecovery),
			LinkDownedCounter: sat[uint8](v.LinkDowned), PortRcvErrors: sat[uint16](v.RcvErrors),
			PortRcvRemotePhysicalErrors: sat[uint16](v.RcvRemotePhysical), PortRcvSwitchRelayErrors: sat[uint16](v.RcvSwitchRelay),
			PortXmitDiscards: sat[uint16](v.XmitDiscards), PortXmitConstraintErrors: sat[uint8](v.XmitConstraint),
			PortRcvConstraintErrors: sat[uint8](v.RcvConstraint), LocalLinkIntegrityErrors: sat4(v.LocalLinkIntegrity),
			ExcessiveBufferOverrunErrors: sat4(v.ExcessiveOverruns), QP1Dropped: sat[uint16](v.QP1Dropped), VL15Dropped: sat[uint16](v.VL15Dropped),
			PortXmitData: sat[uint32](v.XmitData), PortRcvData: sat[uint32](v.RcvData), PortXmitPkts: sat[uint32](v.XmitPkts),
			PortRcvPkts: sat[uint32](v.RcvPkts), PortXmitWait: sat[uint32](v.XmitWait),
		}, d)
	},
	set: func(v *ibport.Counters, d []byte) {
		var c mad.PortCounters
		mad.Decode(&c, d)
		s := uint32(c.CounterSelect)
		pick(s, 0, &v.SymbolErrors, uint64(c.SymbolErrorCounter))
		pick(s, 1, &v.LinkErrorRecovery, uint64(c.LinkErrorRecoveryCounter))
		pick(s, 2, &v.LinkDowned, uint64(c.LinkDownedCounter))
		pick(s, 3, &v.RcvErrors, uint64(c.PortRcvErrors))
		pick(s, 4, &v.RcvRemotePhysical, uint64(c.PortRcvRemotePhysicalErrors))
		pick(s, 5, &v.RcvSwitchRelay, uint64(c.PortRcvSwitchRelayErrors))
		pick(s, 6, &v.XmitDiscards, uint64(c.PortXmitDiscards))
		pick(s, 7, &v.XmitConstraint, uint64(c.PortXmitConstraintErrors))
		pick(s, 8, &v.RcvConstraint, uint64(c.PortRcvConstraintErrors))
		pick(s, 9, &v.LocalLinkIntegrity, uint64(c.LocalLinkIntegrityErrors))
		pick(s, 10, &v.ExcessiveOverruns, uint64(c.ExcessiveBufferOverrunErrors))
		pick(s, 11, &v.VL15Dropped, uint64(c.VL15Dropped))
		pick(s, 12, &v.XmitData, uint64(c.PortXmitData))
		pick(s, 13, &v.RcvData, uint64(c.PortRcvData))
		pick(s, 14, &v.XmitPkts, uint64(c.PortXmitPkts))
		pick(s, 15, &v.RcvPkts, uint64(c.PortRcvPkts))
		pick(uint32(c.CounterSelect2), 0, &v.XmitWait, uint64(c.PortXmitWait))
		pick(uint32(c.CounterSelect2), 1, &v.QP1Dropped, uint64(c.QP1Dropped))
	},
}

// portCountersExt is PortCountersExtended (IBTA vol. 1 §16.1.4.11).
var portCountersExt = &handler{
	view: viewLong,
	get: func(v *ibport.Counters, d []byte) {
		var c mad.PortCountersExtended
		mad.Decode(&c, d)
		mad.Encode(&mad.PortCountersExtended{
			PortSelect: c.PortSelect, CounterSelect: c.CounterSelect, CounterSelect2: c.CounterSelect2,
			PortXmitData: v.XmitData, PortRcvData: v.RcvData, PortXmitPkts: v.XmitPkts, PortRcvPkts: v.RcvPkts,
			PortUnicastXmitPkts: v.UnicastXmitPkts, PortUnicastRcvPkts: v.UnicastRcvPkts,
			PortMulticastXmitPkts: v.MulticastXmitPkts, PortMulticastRcvPkts: v.MulticastRcvPkts,
			SymbolErrorCounter: v.SymbolErrors, LinkErrorRecoveryCounter: v.LinkErrorRecovery, LinkDownedCounter: v.LinkDowned,
			PortRcvErrors: v.RcvErrors, PortRcvRemotePhysicalErrors: v.RcvRemotePhysical, PortRcvSwitchRelayErrors: v.RcvSwitchRelay,
			PortXmitDiscards: v.XmitDiscards, PortXmitConstraintErrors: v.XmitConstraint, PortRcvConstraintErrors: v.RcvConstraint,
			LocalLinkIntegrityErrors: v.LocalLinkIntegrity, ExcessiveBufferOverrunErrors: v.ExcessiveOverruns,
			VL15Dropped: v.VL15Dropped, PortXmitWait: v.XmitWait, QP1Dropped: v.QP1Dropped,
		}, d)
	},
	set: func(v *ibport.Counters, d []byte) {
		var c mad.PortCountersExtended
		mad.Decode(&c, d)
		for i, x := range []struct {
			to   *uint64
			from uint64
		}{
			{&v.XmitData, c.PortXmitData}, {&v.RcvData, c.PortRcvData}, {&v.XmitPkts, c.PortXmitPkts}, {&v.RcvPkts, c.PortRcvPkts},
			{&v.UnicastXmitPkts, c.PortUnicastXmitPkts}, {&v.UnicastRcvPkts, c.PortUnicastRcvPkts},
			{&v.MulticastXmitPkts, c.PortMulticastXmitPkts}, {&v.MulticastRcvPkts, c.PortMulticastRcvPkts},
		} {
			pick(uint32(c.CounterSelect), i, x.to, x.from)
		}
		for i, x := range []struct {
			to   *uint64
			from uint64
		}{
			{&v.SymbolErrors, c.SymbolErrorCounter}, {&v.LinkErrorRecovery, c.LinkErrorRecoveryCounter}, {&v.LinkDowned, c.LinkDownedCounter},
			{&v.RcvErrors, c.PortRcvErrors}, {&v.RcvRemotePhysical, c.PortRcvRemotePhysicalErrors}, {&v.RcvSwitchRelay, c.PortRcvSwitchRelayErrors},
			{&v.XmitDiscards, c.PortXmitDiscards}, {&v.XmitConstraint, c.PortXmitConstraintErrors}, {&v.RcvConstraint, c.PortRcvConstraintErrors},
			{&v.LocalLinkIntegrity, c.LocalLinkIntegrityErrors}, {&v.ExcessiveOverruns, c.ExcessiveBufferOverrunErrors},
			{&v.VL15Dropped, c.VL15Dropped}, {&v.XmitWait, c.PortXmitWait}, {&v.QP1Dropped, c.QP1Dropped},
		} {
			pick(c.CounterSelect2, i, x.to, x.from)
		}
	},
}
