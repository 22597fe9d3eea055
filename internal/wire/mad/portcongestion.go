package mad

// SwPortVLCongestionLen is the length of a SwPortVLCongestion in bytes.
const SwPortVLCongestionLen = 36

// SwPortVLCongestion counts by virtual lane (IBTA vol. 1 annex A10.5).
type SwPortVLCongestion struct {
	PortSelect         uint8
	CounterSelect      uint16
	SWPortVLCongestion [16]uint16
}

func (a *SwPortVLCongestion) layout(c *codec) {
	if !c.size(SwPortVLCongestionLen) {
		return
	}
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "CounterSelect", 2, 0, 16, &a.CounterSelect)
	array(c, "SWPortVLCongestion", 4, 0, 16, a.SWPortVLCongestion[:])
}

// PortRcvConCtrlLen is the length of a PortRcvConCtrl in bytes.
const PortRcvConCtrlLen = 12

// PortRcvConCtrl counts packets that carried FECN and BECN (IBTA vol. 1 annex
// A10.5).
type PortRcvConCtrl struct {
	PortSelect     uint8
	CounterSelect  uint16
	PortPktRcvFECN uint32
	PortPktRcvBECN uint32
}

func (a *PortRcvConCtrl) layout(c *codec) {
	if !c.size(PortRcvConCtrlLen) {
		return
	}
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "CounterSelect", 2, 0, 16, &a.CounterSelect)
	bits(c, "PortPktRcvFECN", 4, 0, 32, &a.PortPktRcvFECN)
	bits(c, "PortPktRcvBECN", 8, 0, 32, &a.PortPktRcvBECN)
}

// PortSLRcvFECNLen is the length of a PortSLRcvFECN in bytes.
const PortSLRcvFECNLen = 68

// PortSLRcvFECN counts FECN by service level (IBTA vol. 1 annex A10.5).
type PortSLRcvFECN struct {
	PortSelect    uint8
	CounterSelect uint16
	PortSLRcvFECN [16]uint32
}

func (a *PortSLRcvFECN) layout(c *codec) {
	if !c.size(PortSLRcvFECNLen) {
		return
	}
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "CounterSelect", 2, 0, 16, &a.CounterSelect)
	array(c, "PortSLRcvFECN", 4, 0, 32, a.PortSLRcvFECN[:])
}

// PortSLRcvBECNLen is the length of a PortSLRcvBECN in bytes.
const PortSLRcvBECNLen = 68

// PortSLRcvBECN counts BECN by service level (IBTA vol. 1 annex A10.5).
type PortSLRcvBECN struct {
	PortSelect    uint8
	CounterSelect uint16
	PortSLRcvBECN [16]uint32
}

func (a *PortSLRcvBECN) layout(c *codec) {
	if !c.size(PortSLRcvBECNLen) {
		return
	}
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "CounterSelect", 2, 0, 16, &a.CounterSelect)
	array(c, "PortSLRcvBECN", 4, 0, 32, a.PortSLRcvBECN[:])
}

// PortXmitConCtrlLen is the length of a PortXmitConCtrl in bytes.
const PortXmitConCtrlLen = 8

// PortXmitConCtrl is the time a port was congested (IBTA vol. 1 annex A10.5).
type PortXmitConCtrl struct {
	PortSelect       uint8
	CounterSelect    uint16
	PortXmitTimeCong uint32
}

func (a *PortXmitConCtrl) layout(c *codec) {
	if !c.size(PortXmitConCtrlLen) {
		return
	}
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "CounterSelect", 2, 0, 16, &a.CounterSelect)
	bits(c, "PortXmitTimeCong", 4, 0, 32, &a.PortXmitTimeCong)
}

// PortVLXmitTimeCongLen is the length of a PortVLXmitTimeCong in bytes.
const PortVLXmitTimeCongLen = 64

// PortVLXmitTimeCong is the time a port was congested by virtual lane (IBTA
// vol. 1 annex A10.5).
type PortVLXmitTimeCong struct {
	PortSelect         uint8
	CounterSelect      uint16
	PortVLXmitTimeCong [15]uint32
}

func (a *PortVLXmitTimeCong) layout(c *codec) {
	if !c.size(PortVLXmitTimeCongLen) {
		return
	}
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "CounterSelect", 2, 0, 16, &a.CounterSelect)
	array(c, "PortVLXmitTimeCong", 4, 0, 32, a.PortVLXmitTimeCong[:])
}
