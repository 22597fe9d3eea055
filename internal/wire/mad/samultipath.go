package mad

import "cnuas/internal/wire"

// MultiPathMaxGIDs is how many GIDs fit into the one MAD of a request.
const MultiPathMaxGIDs = 11

// MultiPathRecordLen is the length of a MultiPathRecord without its GIDs, bytes.
const MultiPathRecordLen = 24

// MultiPathRecord asks for paths between several ports (IBTA vol. 1
// §15.2.5.20). Behind it are SGIDCount and then DGIDCount GIDs: see
// MultiPathGIDs.
type MultiPathRecord struct {
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
	ServiceIDMSB           uint8 // bits 63 to 56 of the service ID
	IndependenceSelector   uint8
	SGIDCount, DGIDCount   uint8
	ServiceIDLSB           uint64 // the other 56
}

func (a *MultiPathRecord) layout(c *codec) {
	if !c.size(MultiPathRecordLen) {
		return
	}
	bit(c, "RawTraffic", 0, 0, &a.RawTraffic)
	resv(c, 0, 1, 3)
	bits(c, "FlowLabel", 0, 4, 20, &a.FlowLabel)
	bits(c, "HopLimit", 3, 0, 8, &a.HopLimit)
	bits(c, "TClass", 4, 0, 8, &a.TClass)
	bit(c, "Reversible", 5, 0, &a.Reversible)
	bits(c, "NumbPath", 5, 1, 7, &a.NumbPath)
	bits(c, "PKey", 6, 0, 16, &a.PKey)
	bits(c, "QoSClass", 8, 0, 12, &a.QoSClass)
	bits(c, "SL", 9, 4, 4, &a.SL)
	bits(c, "MTUSelector", 10, 0, 2, &a.MTUSelector)
	bits(c, "MTU", 10, 2, 6, &a.MTU)
	bits(c, "RateSelector", 11, 0, 2, &a.RateSelector)
	bits(c, "Rate", 11, 2, 6, &a.Rate)
	bits(c, "PacketLifeTimeSelector", 12, 0, 2, &a.PacketLifeTimeSelector)
	bits(c, "PacketLifeTime", 12, 2, 6, &a.PacketLifeTime)
	bits(c, "ServiceIDMSB", 13, 0, 8, &a.ServiceIDMSB)
	bits(c, "IndependenceSelector", 14, 0, 2, &a.IndependenceSelector)
	resv(c, 14, 2, 6)
	bits(c, "SGIDCount", 15, 0, 8, &a.SGIDCount)
	bits(c, "DGIDCount", 16, 0, 8, &a.DGIDCount)
	bits(c, "ServiceIDLSB", 17, 0, 56, &a.ServiceIDLSB)
}

// ServiceID is the service ID, which the record has in two parts.
func (a *MultiPathRecord) ServiceID() uint64 { return uint64(a.ServiceIDMSB)<<56 | a.ServiceIDLSB }

// GIDs returns the sources and destinations in the record b, which a was
// decoded from. It reports false if b is too short for them.
func (a *MultiPathRecord) GIDs(b []byte) (src, dst []wire.GID, ok bool) {
	n := int(a.SGIDCount) + int(a.DGIDCount)
	if len(b) < MultiPathRecordLen+16*n {
		return nil, nil, false
	}
	l := make([]wire.GID, n)
	for i := range l {
		copy(l[i][:], b[MultiPathRecordLen+16*i:])
	}
	return l[:a.SGIDCount], l[a.SGIDCount:], true
}

// AppendGIDs appends the GIDs to an encoded record.
func (a *MultiPathRecord) AppendGIDs(b []byte, gids ...wire.GID) []byte {
	for _, g := range gids {
		b = append(b, g[:]...)
	}
	return b
}
