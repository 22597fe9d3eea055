package mad

// PortRcvErrorDetailsLen is the length of a PortRcvErrorDetails in bytes.
const PortRcvErrorDetailsLen = 16

// PortRcvErrorDetails splits PortRcvErrors (IBTA vol. 1 §16.1.4.1).
type PortRcvErrorDetails struct {
	PortSelect              uint8
	CounterSelect           uint16
	PortLocalPhysicalErrors uint16
	PortMalformedPktErrors  uint16
	PortBufferOverrunErrors uint16
	PortDLIDMappingErrors   uint16
	PortVLMappingErrors     uint16
	PortLoopingErrors       uint16
}

func (a *PortRcvErrorDetails) layout(c *codec) {
	if !c.size(PortRcvErrorDetailsLen) {
		return
	}
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "CounterSelect", 2, 0, 16, &a.CounterSelect)
	bits(c, "PortLocalPhysicalErrors", 4, 0, 16, &a.PortLocalPhysicalErrors)
	bits(c, "PortMalformedPktErrors", 6, 0, 16, &a.PortMalformedPktErrors)
	bits(c, "PortBufferOverrunErrors", 8, 0, 16, &a.PortBufferOverrunErrors)
	bits(c, "PortDLIDMappingErrors", 10, 0, 16, &a.PortDLIDMappingErrors)
	bits(c, "PortVLMappingErrors", 12, 0, 16, &a.PortVLMappingErrors)
	bits(c, "PortLoopingErrors", 14, 0, 16, &a.PortLoopingErrors)
}

// PortXmitDiscardDetailsLen is the length of a PortXmitDiscardDetails in bytes.
const PortXmitDiscardDetailsLen = 12

// PortXmitDiscardDetails splits PortXmitDiscards (IBTA vol. 1 §16.1.4.2).
type PortXmitDiscardDetails struct {
	PortSelect                     uint8
	CounterSelect                  uint16
	PortInactiveDiscards           uint16
	PortNeighborMTUDiscards        uint16
	PortSwLifetimeLimitDiscards    uint16
	PortSwHOQLifetimeLimitDiscards uint16
}

func (a *PortXmitDiscardDetails) layout(c *codec) {
	if !c.size(PortXmitDiscardDetailsLen) {
		return
	}
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "CounterSelect", 2, 0, 16, &a.CounterSelect)
	bits(c, "PortInactiveDiscards", 4, 0, 16, &a.PortInactiveDiscards)
	bits(c, "PortNeighborMTUDiscards", 6, 0, 16, &a.PortNeighborMTUDiscards)
	bits(c, "PortSwLifetimeLimitDiscards", 8, 0, 16, &a.PortSwLifetimeLimitDiscards)
	bits(c, "PortSwHOQLifetimeLimitDiscards", 10, 0, 16, &a.PortSwHOQLifetimeLimitDiscards)
}

// PortOpRcvCountersLen is the length of a PortOpRcvCounters in bytes.
const PortOpRcvCountersLen = 12

// PortOpRcvCounters counts what arrived with chosen opcodes (IBTA vol. 1
// §16.1.4.3).
type PortOpRcvCounters struct {
	PortSelect    uint8
	CounterSelect uint16
	PortOpRcvPkts uint32
	PortOpRcvData uint32
}

func (a *PortOpRcvCounters) layout(c *codec) {
	if !c.size(PortOpRcvCountersLen) {
		return
	}
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "CounterSelect", 2, 0, 16, &a.CounterSelect)
	bits(c, "PortOpRcvPkts", 4, 0, 32, &a.PortOpRcvPkts)
	bits(c, "PortOpRcvData", 8, 0, 32, &a.PortOpRcvData)
}

// PortFlowCtlCountersLen is the length of a PortFlowCtlCounters in bytes.
const PortFlowCtlCountersLen = 12

// PortFlowCtlCounters counts flow control packets (IBTA vol. 1 §16.1.4.4).
type PortFlowCtlCounters struct {
	PortSelect       uint8
	CounterSelect    uint16
	PortXmitFlowPkts uint32
	PortRcvFlowPkts  uint32
}

func (a *PortFlowCtlCounters) layout(c *codec) {
	if !c.size(PortFlowCtlCountersLen) {
		return
	}
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "CounterSelect", 2, 0, 16, &a.CounterSelect)
	bits(c, "PortXmitFlowPkts", 4, 0, 32, &a.PortXmitFlowPkts)
	bits(c, "PortRcvFlowPkts", 8, 0, 32, &a.PortRcvFlowPkts)
}
