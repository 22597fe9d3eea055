package mad

// CongestionInfoLen is the length of a CongestionInfo in bytes.
const CongestionInfoLen = 4

// CongestionInfo is what a node can do about congestion (IBTA vol. 1 annex
// A10.4.3.3).
type CongestionInfo struct {
	CongestionInfo  uint16
	ControlTableCap uint8 // blocks of 64 entries
}

func (a *CongestionInfo) layout(c *codec) {
	if !c.size(CongestionInfoLen) {
		return
	}
	bits(c, "CongestionInfo", 0, 0, 16, &a.CongestionInfo)
	bits(c, "ControlTableCap", 2, 0, 8, &a.ControlTableCap)
}

// CongestionKeyInfoLen is the length of a CongestionKeyInfo in bytes.
const CongestionKeyInfoLen = 14

// CongestionKeyInfo guards congestion control (IBTA vol. 1 annex A10.4.3.4).
type CongestionKeyInfo struct {
	CCKey            uint64
	CCKeyProtectBit  bool
	CCKeyLeasePeriod uint16
	CCKeyViolations  uint16
}

func (a *CongestionKeyInfo) layout(c *codec) {
	if !c.size(CongestionKeyInfoLen) {
		return
	}
	bits(c, "CCKey", 0, 0, 64, &a.CCKey)
	bit(c, "CCKeyProtectBit", 8, 0, &a.CCKeyProtectBit)
	bits(c, "CCKeyLeasePeriod", 10, 0, 16, &a.CCKeyLeasePeriod)
	bits(c, "CCKeyViolations", 12, 0, 16, &a.CCKeyViolations)
}

// SwitchCongestionSettingLen is the length of a SwitchCongestionSetting in bytes.
const SwitchCongestionSettingLen = 76

// SwitchCongestionSetting says when a switch marks (IBTA vol. 1 annex
// A10.4.3.6).
type SwitchCongestionSetting struct {
	ControlMap    uint32
	VictimMask    [32]byte
	CreditMask    [32]byte
	Threshold     uint8 // 0: never, 1 to 15: ever sooner
	PacketSize    uint8 // smaller packets are not marked, in 64 bytes
	CSThreshold   uint8
	CSReturnDelay uint16
	MarkingRate   uint16 // packets between two marked ones
}

func (a *SwitchCongestionSetting) layout(c *codec) {
	if !c.size(SwitchCongestionSettingLen) {
		return
	}
	bits(c, "ControlMap", 0, 0, 32, &a.ControlMap)
	blob(c, "VictimMask", 4, a.VictimMask[:])
	blob(c, "CreditMask", 36, a.CreditMask[:])
	bits(c, "Threshold", 68, 0, 4, &a.Threshold)
	bits(c, "PacketSize", 69, 0, 8, &a.PacketSize)
	bits(c, "CSThreshold", 70, 0, 4, &a.CSThreshold)
	bits(c, "CSReturnDelay", 72, 0, 16, &a.CSReturnDelay)
	bits(c, "MarkingRate", 74, 0, 16, &a.MarkingRate)
}

// CongestionTimestampLen is the length of a CongestionTimestamp in bytes.
const CongestionTimestampLen = 4

// CongestionTimestamp is a clock in units of 1.024 µs (IBTA vol. 1 annex
// A10.4.3.10).
type CongestionTimestamp struct {
	Timestamp uint32
}

func (a *CongestionTimestamp) layout(c *codec) {
	if !c.size(CongestionTimestampLen) {
		return
	}
	bits(c, "Timestamp", 0, 0, 32, &a.Timestamp)
}
