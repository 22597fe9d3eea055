package mad

import "cnuas/internal/wire"

// PortInfoLen is the length of a PortInfo in bytes.
const PortInfoLen = 64

// PortInfo is the state and the settings of a port (IBTA vol. 1 §14.2.5.6).
type PortInfo struct {
	MKey                         uint64
	GIDPrefix                    uint64
	LID                          wire.LID
	MasterSMLID                  wire.LID
	CapabilityMask               CapMask
	DiagCode                     uint16
	MKeyLeasePeriod              uint16 // seconds; 0: for ever
	LocalPortNum                 uint8
	LinkWidthEnabled             LinkWidth
	LinkWidthSupported           LinkWidth
	LinkWidthActive              LinkWidth
	LinkSpeedSupported           LinkSpeed
	PortState                    PortState
	PortPhysicalState            PhysState
	LinkDownDefaultState         PhysState
	MKeyProtectBits              uint8
	LMC                          uint8
	LinkSpeedActive              LinkSpeed
	LinkSpeedEnabled             LinkSpeed
	NeighborMTU                  MTU
	MasterSMSL                   uint8
	VLCap                        VLs
	InitType                     uint8
	VLHighLimit                  uint8
	VLArbitrationHighCap         uint8
	VLArbitrationLowCap          uint8
	InitTypeReply                uint8
	MTUCap                       MTU
	VLStallCount                 uint8
	HOQLife                      Timeout
	OperationalVLs               VLs
	PartitionEnforcementInbound  bool
	PartitionEnforcementOutbound bool
	FilterRawInbound             bool
	FilterRawOutbound            bool
	MKeyViolations               uint16
	PKeyViolations               uint16
	QKeyViolations               uint16
	GUIDCap                      uint8
	ClientReregister             bool
	McastPKeyTrapSuppression     uint8
	SubnetTimeOut                Timeout
	RespTimeValue                Timeout
	LocalPhyErrors               uint8
	OverrunErrors                uint8
	MaxCreditHint                uint16
	LinkRoundTripLatency         uint32
	CapabilityMask2              CapMask2
	LinkSpeedExtActive           LinkSpeedExt
	LinkSpeedExtSupported        LinkSpeedExt
	LinkSpeedExtEnabled          LinkSpeedExt
}

func (a *PortInfo) layout(c *codec) {
	if !c.size(PortInfoLen) {
		return
	}
	bits(c, "MKey", 0, 0, 64, &a.MKey)
	bits(c, "GIDPrefix", 8, 0, 64, &a.GIDPrefix)
	bits(c, "LID", 16, 0, 16, &a.LID)
	bits(c, "MasterSMLID", 18, 0, 16, &a.MasterSMLID)
	bits(c, "CapabilityMask", 20, 0, 32, &a.CapabilityMask)
	bits(c, "DiagCode", 24, 0, 16, &a.DiagCode)
	bits(c, "MKeyLeasePeriod", 26, 0, 16, &a.MKeyLeasePeriod)
	bits(c, "LocalPortNum", 28, 0, 8, &a.LocalPortNum)
	bits(c, "LinkWidthEnabled", 29, 0, 8, &a.LinkWidthEnabled)
	bits(c, "LinkWidthSupported", 30, 0, 8, &a.LinkWidthSupported)
	bits(c, "LinkWidthActive", 31, 0, 8, &a.LinkWidthActive)
	bits(c, "LinkSpeedSupported", 32, 0, 4, &a.LinkSpeedSupported)
	bits(c, "PortState", 32, 4, 4, &a.PortState)
	bits(c, "PortPhysicalState", 33, 0, 4, &a.PortPhysicalState)
	bits(c, "LinkDownDefaultState", 33, 4, 4, &a.LinkDownDefaultState)
	bits(c, "MKeyProtectBits", 34, 0, 2, &a.MKeyProtectBits)
	resv(c, 34, 2, 3)
	bits(c, "LMC", 34, 5, 3, &a.LMC)
	bits(c, "LinkSpeedActive", 35, 0, 4, &a.LinkSpeedActive)
	bits(c, "LinkSpeedEnabled", 35, 4, 4, &a.LinkSpeedEnabled)
	bits(c, "NeighborMTU", 36, 0, 4, &a.NeighborMTU)
	bits(c, "MasterSMSL", 36, 4, 4, &a.MasterSMSL)
	bits(c, "VLCap", 37, 0, 4, &a.VLCap)
	bits(c, "InitType", 37, 4, 4, &a.InitType)
	bits(c, "VLHighLimit", 38, 0, 8, &a.VLHighLimit)
	bits(c, "VLArbitrationHighCap", 39, 0, 8, &a.VLArbitrationHighCap)
	bits(c, "VLArbitrationLowCap", 40, 0, 8, &a.VLArbitrationLowCap)
	bits(c, "InitTypeReply", 41, 0, 4, &a.InitTypeReply)
	bits(c, "MTUCap", 41, 4, 4, &a.MTUCap)
	bits(c, "VLStallCount", 42, 0, 3, &a.VLStallCount)
	bits(c, "HOQLife", 42, 3, 5, &a.HOQLife)
	bits(c, "OperationalVLs", 43, 0, 4, &a.OperationalVLs)
	bit(c, "PartitionEnforcementInbound", 43, 4, &a.PartitionEnforcementInbound)
	bit(c, "PartitionEnforcementOutbound", 43, 5, &a.PartitionEnforcementOutbound)
	bit(c, "FilterRawInbound", 43, 6, &a.FilterRawInbound)
	bit(c, "FilterRawOutbound", 43, 7, &a.FilterRawOutbound)
	bits(c, "MKeyViolations", 44, 0, 16, &a.MKeyViolations)
	bits(c, "PKeyViolations", 46, 0, 16, &a.PKeyViolations)
	bits(c, "QKeyViolations", 48, 0, 16, &a.QKeyViolations)
	bits(c, "GUIDCap", 50, 0, 8, &a.GUIDCap)
	bit(c, "ClientReregister", 51, 0, &a.ClientReregister)
	bits(c, "McastPKeyTrapSuppression", 51, 1, 2, &a.McastPKeyTrapSuppression)
	bits(c, "SubnetTimeOut", 51, 3, 5, &a.SubnetTimeOut)
	resv(c, 52, 0, 3)
	bits(c, "RespTimeValue", 52, 3, 5, &a.RespTimeValue)
	bits(c, "LocalPhyErrors", 53, 0, 4, &a.LocalPhyErrors)
	bits(c, "OverrunErrors", 53, 4, 4, &a.OverrunErrors)
	bits(c, "MaxCreditHint", 54, 0, 16, &a.MaxCreditHint)
	resv(c, 56, 0, 8)
	bits(c, "LinkRoundTripLatency", 57, 0, 24, &a.LinkRoundTripLatency)
	bits(c, "CapabilityMask2", 60, 0, 16, &a.CapabilityMask2)
	bits(c, "LinkSpeedExtActive", 62, 0, 4, &a.LinkSpeedExtActive)
	bits(c, "LinkSpeedExtSupported", 62, 4, 4, &a.LinkSpeedExtSupported)
	resv(c, 63, 0, 3)
	bits(c, "LinkSpeedExtEnabled", 63, 3, 5, &a.LinkSpeedExtEnabled)
}
