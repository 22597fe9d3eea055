package mad

// PortVLOpPacketsLen is the length of a PortVLOpPackets in bytes.
const PortVLOpPacketsLen = 36

// PortVLOpPackets counts by virtual lane (IBTA vol. 1 §16.1.4.5).
type PortVLOpPackets struct {
	PortSelect      uint8
	CounterSelect   uint16
	PortVLOpPackets [16]uint16
}

func (a *PortVLOpPackets) layout(c *codec) {
	if !c.size(PortVLOpPacketsLen) {
		return
	}
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "CounterSelect", 2, 0, 16, &a.CounterSelect)
	array(c, "PortVLOpPackets", 4, 0, 16, a.PortVLOpPackets[:])
}

// PortVLOpDataLen is the length of a PortVLOpData in bytes.
const PortVLOpDataLen = 68

// PortVLOpData counts by virtual lane (IBTA vol. 1 §16.1.4.6).
type PortVLOpData struct {
	PortSelect    uint8
	CounterSelect uint16
	PortVLOpData  [16]uint32
}

func (a *PortVLOpData) layout(c *codec) {
	if !c.size(PortVLOpDataLen) {
		return
	}
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "CounterSelect", 2, 0, 16, &a.CounterSelect)
	array(c, "PortVLOpData", 4, 0, 32, a.PortVLOpData[:])
}

// PortVLXmitFlowCtlUpdateErrorsLen is the length of a PortVLXmitFlowCtlUpdateErrors in bytes.
const PortVLXmitFlowCtlUpdateErrorsLen = 8

// PortVLXmitFlowCtlUpdateErrors counts by virtual lane (IBTA vol. 1
// §16.1.4.7).
type PortVLXmitFlowCtlUpdateErrors struct {
	PortSelect                    uint8
	CounterSelect                 uint16
	PortVLXmitFlowCtlUpdateErrors [16]uint8
}

func (a *PortVLXmitFlowCtlUpdateErrors) layout(c *codec) {
	if !c.size(PortVLXmitFlowCtlUpdateErrorsLen) {
		return
	}
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "CounterSelect", 2, 0, 16, &a.CounterSelect)
	array(c, "PortVLXmitFlowCtlUpdateErrors", 4, 0, 2, a.PortVLXmitFlowCtlUpdateErrors[:])
}

// PortVLXmitWaitCountersLen is the length of a PortVLXmitWaitCounters in bytes.
const PortVLXmitWaitCountersLen = 36

// PortVLXmitWaitCounters counts by virtual lane (IBTA vol. 1 §16.1.4.8).
type PortVLXmitWaitCounters struct {
	PortSelect     uint8
	CounterSelect  uint16
	PortVLXmitWait [16]uint16
}

func (a *PortVLXmitWaitCounters) layout(c *codec) {
	if !c.size(PortVLXmitWaitCountersLen) {
		return
	}
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "CounterSelect", 2, 0, 16, &a.CounterSelect)
	array(c, "PortVLXmitWait", 4, 0, 16, a.PortVLXmitWait[:])
}

// PortXmitDataSLLen is the length of a PortXmitDataSL in bytes.
const PortXmitDataSLLen = 68

// PortXmitDataSL counts words sent by service level (IBTA vol. 1 §16.1.4).
type PortXmitDataSL struct {
	PortSelect    uint8
	CounterSelect uint16
	XmtDataSL     [16]uint32
}

func (a *PortXmitDataSL) layout(c *codec) {
	if !c.size(PortXmitDataSLLen) {
		return
	}
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "CounterSelect", 2, 0, 16, &a.CounterSelect)
	array(c, "XmtDataSL", 4, 0, 32, a.XmtDataSL[:])
}

// PortRcvDataSLLen is the length of a PortRcvDataSL in bytes.
const PortRcvDataSLLen = 68

// PortRcvDataSL counts words received by service level (IBTA vol. 1 §16.1.4).
type PortRcvDataSL struct {
	PortSelect    uint8
	CounterSelect uint16
	RcvDataSL     [16]uint32
}

func (a *PortRcvDataSL) layout(c *codec) {
	if !c.size(PortRcvDataSLLen) {
		return
	}
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "CounterSelect", 2, 0, 16, &a.CounterSelect)
	array(c, "RcvDataSL", 4, 0, 32, a.RcvDataSL[:])
}
