package mad

import "cnuas/internal/wire"

// Lengths of the attributes with rows, in bytes.
const (
	SwitchPortCongestionSettingLen = 128
	CACongestionSettingLen         = 132
	CongestionControlTableLen      = 132
	CongestionLogSwitchLen         = 220
	CongestionLogCALen             = 220
)

// SwitchPortCongestion is the setting of one port of a switch.
type SwitchPortCongestion struct {
	Valid       bool
	ControlType bool // 0: the VL's queue, 1: credit starvation
	Threshold   uint8
	PacketSize  uint8
	CongParm    uint16 // marking rate, or return delay
}

// SwitchPortCongestionSetting is a block of 32 ports (IBTA vol. 1 annex
// A10.4.3.7).
type SwitchPortCongestionSetting struct {
	Port [32]SwitchPortCongestion
}

func (a *SwitchPortCongestionSetting) layout(c *codec) {
	if !c.size(SwitchPortCongestionSettingLen) {
		return
	}
	for i := range a.Port {
		c.elem = i + 1
		p, at := &a.Port[i], 4*i
		bit(c, "Valid", at, 0, &p.Valid)
		bit(c, "ControlType", at, 1, &p.ControlType)
		bits(c, "Threshold", at, 4, 4, &p.Threshold)
		bits(c, "PacketSize", at+1, 0, 8, &p.PacketSize)
		bits(c, "CongParm", at+2, 0, 16, &p.CongParm)
	}
	c.elem = 0
}

// CACongestionEntry is how a service level reacts to BECN.
type CACongestionEntry struct {
	CCTITimer        uint16 // units of 1.024 µs between two steps down
	CCTIIncrease     uint8
	TriggerThreshold uint8
	CCTIMin          uint8
}

// CACongestionSetting is how a CA's port reacts, by service level (IBTA vol. 1
// annex A10.4.3.8).
type CACongestionSetting struct {
	PortControl uint16 // bit 0: by service level, not by QP
	ControlMap  uint16 // service levels that are meant
	Entry       [16]CACongestionEntry
}

func (a *CACongestionSetting) layout(c *codec) {
	if !c.size(CACongestionSettingLen) {
		return
	}
	bits(c, "PortControl", 0, 0, 16, &a.PortControl)
	bits(c, "ControlMap", 2, 0, 16, &a.ControlMap)
	for i := range a.Entry {
		c.elem = i + 1
		e, at := &a.Entry[i], 4+8*i
		bits(c, "CCTITimer", at, 0, 16, &e.CCTITimer)
		bits(c, "CCTIIncrease", at+2, 0, 8, &e.CCTIIncrease)
		bits(c, "TriggerThreshold", at+3, 0, 8, &e.TriggerThreshold)
		bits(c, "CCTIMin", at+4, 0, 8, &e.CCTIMin)
	}
	c.elem = 0
}

// CCTEntry is an inter-packet delay: multiplier × 2^-shift of a packet's time.
type CCTEntry struct {
	Shift      uint8
	Multiplier uint16
}

// CongestionControlTable is a block of 64 entries (IBTA vol. 1 annex
// A10.4.3.9).
type CongestionControlTable struct {
	CCTILimit uint16
	Entry     [64]CCTEntry
}

func (a *CongestionControlTable) layout(c *codec) {
	if !c.size(CongestionControlTableLen) {
		return
	}
	bits(c, "CCTILimit", 0, 0, 16, &a.CCTILimit)
	for i := range a.Entry {
		c.elem = i + 1
		bits(c, "Shift", 4+2*i, 0, 2, &a.Entry[i].Shift)
		bits(c, "Multiplier", 4+2*i, 2, 14, &a.Entry[i].Multiplier)
	}
	c.elem = 0
}

// SwitchCongestionEvent is one event of a switch's log.
type SwitchCongestionEvent struct {
	SLID, DLID wire.LID
	SL         uint8
	Timestamp  uint32
}

// CongestionLogSwitch is the CongestionLog of a switch (IBTA vol. 1 annex
// A10.4.3.5).
type CongestionLogSwitch struct {
	LogType          uint8 // 1
	CongestionFlags  uint8
	LogEventsCounter uint16
	CurrentTimeStamp uint32
	PortMap          [32]byte
	Event            [15]SwitchCongestionEvent
}

func (a *CongestionLogSwitch) layout(c *codec) {
	if !c.size(CongestionLogSwitchLen) {
		return
	}
	bits(c, "LogType", 0, 0, 8, &a.LogType)
	bits(c, "CongestionFlags", 1, 0, 8, &a.CongestionFlags)
	bits(c, "LogEventsCounter", 2, 0, 16, &a.LogEventsCounter)
	bits(c, "CurrentTimeStamp", 4, 0, 32, &a.CurrentTimeStamp)
	blob(c, "PortMap", 8, a.PortMap[:])
	for i := range a.Event {
		c.elem = i + 1
		e, at := &a.Event[i], 40+12*i
		bits(c, "SLID", at, 0, 16, &e.SLID)
		bits(c, "DLID", at+2, 0, 16, &e.DLID)
		bits(c, "SL", at+4, 0, 4, &e.SL)
		bits(c, "Timestamp", at+8, 0, 32, &e.Timestamp)
	}
	c.elem = 0
}

// CACongestionEvent is one event of a CA's log.
type CACongestionEvent struct {
	LocalQP     uint32
	SL          uint8
	ServiceType uint8
	RemoteQP    uint32
	LocalLID    wire.LID
	RemoteLID   wire.LID
	Timestamp   uint32
}

// CongestionLogCA is the CongestionLog of a CA (IBTA vol. 1 annex A10.4.3.5).
type CongestionLogCA struct {
	LogType                     uint8 // 2
	CongestionFlags             uint8
	ThresholdEventCounter       uint16
	ThresholdCongestionEventMap uint16
	CurrentTimeStamp            uint32
	Event                       [13]CACongestionEvent
}

func (a *CongestionLogCA) layout(c *codec) {
	if !c.size(CongestionLogCALen) {
		return
	}
	bits(c, "LogType", 0, 0, 8, &a.LogType)
	bits(c, "CongestionFlags", 1, 0, 8, &a.CongestionFlags)
	bits(c, "ThresholdEventCounter", 2, 0, 16, &a.ThresholdEventCounter)
	bits(c, "ThresholdCongestionEventMap", 4, 0, 16, &a.ThresholdCongestionEventMap)
	bits(c, "CurrentTimeStamp", 8, 0, 32, &a.CurrentTimeStamp)
	for i := range a.Event {
		c.elem = i + 1
		e, at := &a.Event[i], 12+16*i
		bits(c, "LocalQP", at, 0, 24, &e.LocalQP)
		bits(c, "SL", at+3, 0, 4, &e.SL)
		bits(c, "ServiceType", at+3, 4, 4, &e.ServiceType)
		bits(c, "RemoteQP", at+4, 0, 24, &e.RemoteQP)
		bits(c, "LocalLID", at+8, 0, 16, &e.LocalLID)
		bits(c, "RemoteLID", at+10, 0, 16, &e.RemoteLID)
		bits(c, "Timestamp", at+12, 0, 32, &e.Timestamp)
	}
	c.elem = 0
}
