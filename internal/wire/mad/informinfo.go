package mad

import "cnuas/internal/wire"

// InformInfoLen is the length of an InformInfo in bytes.
const InformInfoLen = 36

// InformInfo subscribes to notices (IBTA vol. 1 §13.4.8.3).
type InformInfo struct {
	GID           wire.GID
	LIDRangeBegin wire.LID
	LIDRangeEnd   wire.LID
	IsGeneric     uint8
	Subscribe     uint8
	Type          uint16 // NoticeType, or NoticeAll
	TrapNumber    Trap   // DeviceID if not generic
	QPN           uint32
	RespTimeValue Timeout
	ProducerType  uint32 // VendorID if not generic
}

func (a *InformInfo) layout(c *codec) {
	if !c.size(InformInfoLen) {
		return
	}
	gid(c, "GID", 0, &a.GID)
	bits(c, "LIDRangeBegin", 16, 0, 16, &a.LIDRangeBegin)
	bits(c, "LIDRangeEnd", 18, 0, 16, &a.LIDRangeEnd)
	resv(c, 20, 0, 16)
	bits(c, "IsGeneric", 22, 0, 8, &a.IsGeneric)
	bits(c, "Subscribe", 23, 0, 8, &a.Subscribe)
	bits(c, "Type", 24, 0, 16, &a.Type)
	bits(c, "TrapNumber", 26, 0, 16, &a.TrapNumber)
	bits(c, "QPN", 28, 0, 24, &a.QPN)
	resv(c, 31, 0, 3)
	bits(c, "RespTimeValue", 31, 3, 5, &a.RespTimeValue)
	resv(c, 32, 0, 8)
	bits(c, "ProducerType", 33, 0, 24, &a.ProducerType)
}
