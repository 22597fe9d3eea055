package mad

// PortCountersLen is the length of a PortCounters in bytes.
const PortCountersLen = 44

// PortCounters counts a port's errors and traffic; all counters stop at their
// maximum (IBTA vol. 1 §16.1.3.5).
type PortCounters struct {
	PortSelect                   uint8  // 0xff: all ports, if AllPortSelect is supported
	CounterSelect                uint16 // a Set writes these
	SymbolErrorCounter           uint16
	LinkErrorRecoveryCounter     uint8
	LinkDownedCounter            uint8
	PortRcvErrors                uint16
	PortRcvRemotePhysicalErrors  uint16
	PortRcvSwitchRelayErrors     uint16
	PortXmitDiscards             uint16
	PortXmitConstraintErrors     uint8
	PortRcvConstraintErrors      uint8
	CounterSelect2               uint8
	LocalLinkIntegrityErrors     uint8
	ExcessiveBufferOverrunErrors uint8
	QP1Dropped                   uint16
	VL15Dropped                  uint16
	PortXmitData                 uint32 // words of 4 bytes
	PortRcvData                  uint32
	PortXmitPkts                 uint32
	PortRcvPkts                  uint32
	PortXmitWait                 uint32
}

func (a *PortCounters) layout(c *codec) {
	if !c.size(PortCountersLen) {
		return
	}
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "CounterSelect", 2, 0, 16, &a.CounterSelect)
	bits(c, "SymbolErrorCounter", 4, 0, 16, &a.SymbolErrorCounter)
	bits(c, "LinkErrorRecoveryCounter", 6, 0, 8, &a.LinkErrorRecoveryCounter)
	bits(c, "LinkDownedCounter", 7, 0, 8, &a.LinkDownedCounter)
	bits(c, "PortRcvErrors", 8, 0, 16, &a.PortRcvErrors)
	bits(c, "PortRcvRemotePhysicalErrors", 10, 0, 16, &a.PortRcvRemotePhysicalErrors)
	bits(c, "PortRcvSwitchRelayErrors", 12, 0, 16, &a.PortRcvSwitchRelayErrors)
	bits(c, "PortXmitDiscards", 14, 0, 16, &a.PortXmitDiscards)
	bits(c, "PortXmitConstraintErrors", 16, 0, 8, &a.PortXmitConstraintErrors)
	bits(c, "PortRcvConstraintErrors", 17, 0, 8, &a.PortRcvConstraintErrors)
	bits(c, "CounterSelect2", 18, 0, 8, &a.CounterSelect2)
	bits(c, "LocalLinkIntegrityErrors", 19, 0, 4, &a.LocalLinkIntegrityErrors)
	bits(c, "ExcessiveBufferOverrunErrors", 19, 4, 4, &a.ExcessiveBufferOverrunErrors)
	bits(c, "QP1Dropped", 20, 0, 16, &a.QP1Dropped)
	bits(c, "VL15Dropped", 22, 0, 16, &a.VL15Dropped)
	bits(c, "PortXmitData", 24, 0, 32, &a.PortXmitData)
	bits(c, "PortRcvData", 28, 0, 32, &a.PortRcvData)
	bits(c, "PortXmitPkts", 32, 0, 32, &a.PortXmitPkts)
	bits(c, "PortRcvPkts", 36, 0, 32, &a.PortRcvPkts)
	bits(c, "PortXmitWait", 40, 0, 32, &a.PortXmitWait)
}

// PortCountersExtendedLen is the length of a PortCountersExtended in bytes.
const PortCountersExtendedLen = 184

// PortCountersExtended is PortCounters in 64 bits (IBTA vol. 1 §16.1.4.11).
type PortCountersExtended struct {
	PortSelect                   uint8
	CounterSelect                uint16
	CounterSelect2               uint32
	PortXmitData                 uint64
	PortRcvData                  uint64
	PortXmitPkts                 uint64
	PortRcvPkts                  uint64
	PortUnicastXmitPkts          uint64
	PortUnicastRcvPkts           uint64
	PortMulticastXmitPkts        uint64
	PortMulticastRcvPkts         uint64
	SymbolErrorCounter           uint64
	LinkErrorRecoveryCounter     uint64
	LinkDownedCounter            uint64
	PortRcvErrors                uint64
	PortRcvRemotePhysicalErrors  uint64
	PortRcvSwitchRelayErrors     uint64
	PortXmitDiscards             uint64
	PortXmitConstraintErrors     uint64
	PortRcvConstraintErrors      uint64
	LocalLinkIntegrityErrors     uint64
	ExcessiveBufferOverrunErrors uint64
	VL15Dropped                  uint64
	PortXmitWait                 uint64
	QP1Dropped                   uint64
}

func (a *PortCountersExtended) layout(c *codec) {
	if !c.size(PortCountersExtendedLen) {
		return
	}
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "CounterSelect", 2, 0, 16, &a.CounterSelect)
	bits(c, "CounterSelect2", 4, 0, 32, &a.CounterSelect2)
	bits(c, "PortXmitData", 8, 0, 64, &a.PortXmitData)
	bits(c, "PortRcvData", 16, 0, 64, &a.PortRcvData)
	bits(c, "PortXmitPkts", 24, 0, 64, &a.PortXmitPkts)
	bits(c, "PortRcvPkts", 32, 0, 64, &a.PortRcvPkts)
	bits(c, "PortUnicastXmitPkts", 40, 0, 64, &a.PortUnicastXmitPkts)
	bits(c, "PortUnicastRcvPkts", 48, 0, 64, &a.PortUnicastRcvPkts)
	bits(c, "PortMulticastXmitPkts", 56, 0, 64, &a.PortMulticastXmitPkts)
	bits(c, "PortMulticastRcvPkts", 64, 0, 64, &a.PortMulticastRcvPkts)
	bits(c, "SymbolErrorCounter", 72, 0, 64, &a.SymbolErrorCounter)
	bits(c, "LinkErrorRecoveryCounter", 80, 0, 64, &a.LinkErrorRecoveryCounter)
	bits(c, "LinkDownedCounter", 88, 0, 64, &a.LinkDownedCounter)
	bits(c, "PortRcvErrors", 96, 0, 64, &a.PortRcvErrors)
	bits(c, "PortRcvRemotePhysicalErrors", 104, 0, 64, &a.PortRcvRemotePhysicalErrors)
	bits(c, "PortRcvSwitchRelayErrors", 112, 0, 64, &a.PortRcvSwitchRelayErrors)
	bits(c, "PortXmitDiscards", 120, 0, 64, &a.PortXmitDiscards)
	bits(c, "PortXmitConstraintErrors", 128, 0, 64, &a.PortXmitConstraintErrors)
	bits(c, "PortRcvConstraintErrors", 136, 0, 64, &a.PortRcvConstraintErrors)
	bits(c, "LocalLinkIntegrityErrors", 144, 0, 64, &a.LocalLinkIntegrityErrors)
	bits(c, "ExcessiveBufferOverrunErrors", 152, 0, 64, &a.ExcessiveBufferOverrunErrors)
	bits(c, "VL15Dropped", 160, 0, 64, &a.VL15Dropped)
	bits(c, "PortXmitWait", 168, 0, 64, &a.PortXmitWait)
	bits(c, "QP1Dropped", 176, 0, 64, &a.QP1Dropped)
}
