package mad

// SwitchInfoLen is the length of a SwitchInfo in bytes.
const SwitchInfoLen = 20

// SwitchInfo is what a switch can do and how it forwards (IBTA vol. 1
// §14.2.5.4).
type SwitchInfo struct {
	LinearFDBCap                   uint16 // entries
	RandomFDBCap                   uint16
	MulticastFDBCap                uint16
	LinearFDBTop                   uint16 // highest LID that is looked up
	DefaultPort                    uint8
	DefaultMulticastPrimaryPort    uint8
	DefaultMulticastNotPrimaryPort uint8
	LifeTimeValue                  Timeout // time a packet may stay in the switch; above 19: for ever
	PortStateChange                bool    // a port changed state; a Set with 1 clears it
	OptimizedSLtoVLMapping         uint8
	LIDsPerPort                    uint16
	PartitionEnforcementCap        uint16
	InboundEnforcementCap          bool
	OutboundEnforcementCap         bool
	FilterRawInboundCap            bool
	FilterRawOutboundCap           bool
	EnhancedPort0                  bool
	MulticastFDBTop                uint16 // highest multicast LID that is looked up; 0xbfff: none
}

func (a *SwitchInfo) layout(c *codec) {
	if !c.size(SwitchInfoLen) {
		return
	}
	bits(c, "LinearFDBCap", 0, 0, 16, &a.LinearFDBCap)
	bits(c, "RandomFDBCap", 2, 0, 16, &a.RandomFDBCap)
	bits(c, "MulticastFDBCap", 4, 0, 16, &a.MulticastFDBCap)
	bits(c, "LinearFDBTop", 6, 0, 16, &a.LinearFDBTop)
	bits(c, "DefaultPort", 8, 0, 8, &a.DefaultPort)
	bits(c, "DefaultMulticastPrimaryPort", 9, 0, 8, &a.DefaultMulticastPrimaryPort)
	bits(c, "DefaultMulticastNotPrimaryPort", 10, 0, 8, &a.DefaultMulticastNotPrimaryPort)
	bits(c, "LifeTimeValue", 11, 0, 5, &a.LifeTimeValue)
	bit(c, "PortStateChange", 11, 5, &a.PortStateChange)
	bits(c, "OptimizedSLtoVLMapping", 11, 6, 2, &a.OptimizedSLtoVLMapping)
	bits(c, "LIDsPerPort", 12, 0, 16, &a.LIDsPerPort)
	bits(c, "PartitionEnforcementCap", 14, 0, 16, &a.PartitionEnforcementCap)
	bit(c, "InboundEnforcementCap", 16, 0, &a.InboundEnforcementCap)
	bit(c, "OutboundEnforcementCap", 16, 1, &a.OutboundEnforcementCap)
	bit(c, "FilterRawInboundCap", 16, 2, &a.FilterRawInboundCap)
	bit(c, "FilterRawOutboundCap", 16, 3, &a.FilterRawOutboundCap)
	bit(c, "EnhancedPort0", 16, 4, &a.EnhancedPort0)
	resv(c, 16, 5, 3)
	resv(c, 17, 0, 8)
	bits(c, "MulticastFDBTop", 18, 0, 16, &a.MulticastFDBTop)
}
