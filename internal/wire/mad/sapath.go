package mad

import "cnuas/internal/wire"

// PathRecordLen is the length of a PathRecord in bytes.
const PathRecordLen = 64

// PathRecord is a path between two ports (IBTA vol. 1 §15.2.5.16).
type PathRecord struct {
	ServiceID              uint64
	DGID                   wire.GID
	SGID                   wire.GID
	DLID                   wire.LID
	SLID                   wire.LID
	RawTraffic             bool
	FlowLabel              uint32
	HopLimit               uint8
	TClass                 uint8
	Reversible             bool
	NumbPath               uint8
	PKey                   uint16
	QoSClass               uint16
	SL                     uint8
	MTUSelector            Selector
	MTU                    MTU
	RateSelector           Selector
	Rate                   Rate
	PacketLifeTimeSelector Selector
	PacketLifeTime         Timeout
	Preference             uint8
}

func (a *PathRecord) layout(c *codec) {
	if !c.size(PathRecordLen) {
		return
	}
	c.comps(2)
	bits(c, "ServiceID", 0, 0, 64, &a.ServiceID)
	gid(c, "DGID", 8, &a.DGID)
	gid(c, "SGID", 24, &a.SGID)
	bits(c, "DLID", 40, 0, 16, &a.DLID)
	bits(c, "SLID", 42, 0, 16, &a.SLID)
	bit(c, "RawTraffic", 44, 0, &a.RawTraffic)
	resv(c, 44, 1, 3)
	bits(c, "FlowLabel", 44, 4, 20, &a.FlowLabel)
	bits(c, "HopLimit", 47, 0, 8, &a.HopLimit)
	bits(c, "TClass", 48, 0, 8, &a.TClass)
	bit(c, "Reversible", 49, 0, &a.Reversible)
	bits(c, "NumbPath", 49, 1, 7, &a.NumbPath)
	bits(c, "PKey", 50, 0, 16, &a.PKey)
	bits(c, "QoSClass", 52, 0, 12, &a.QoSClass)
	bits(c, "SL", 53, 4, 4, &a.SL)
	bits(c, "MTUSelector", 54, 0, 2, &a.MTUSelector)
	bits(c, "MTU", 54, 2, 6, &a.MTU)
	bits(c, "RateSelector", 55, 0, 2, &a.RateSelector)
	bits(c, "Rate", 55, 2, 6, &a.Rate)
	bits(c, "PacketLifeTimeSelector", 56, 0, 2, &a.PacketLifeTimeSelector)
	bits(c, "PacketLifeTime", 56, 2, 6, &a.PacketLifeTime)
	bits(c, "Preference", 57, 0, 8, &a.Preference)
}
