package mad

import "cnuas/internal/wire"

// NoticeLen is the length of a Notice in bytes.
const NoticeLen = 64

// Notice tells of an event; in a Trap, a Report or a Get (IBTA vol. 1
// §13.4.8.2).
type Notice struct {
	IsGeneric    bool
	Type         NoticeType
	ProducerType uint32 // VendorID if not generic
	TrapNumber   Trap   // DeviceID if not generic
	IssuerLID    wire.LID
	NoticeToggle bool
	NoticeCount  uint16
	DataDetails  [54]byte // one of the Trap…Data
}

func (a *Notice) layout(c *codec) {
	if !c.size(NoticeLen) {
		return
	}
	bit(c, "IsGeneric", 0, 0, &a.IsGeneric)
	bits(c, "Type", 0, 1, 7, &a.Type)
	bits(c, "ProducerType", 1, 0, 24, &a.ProducerType)
	bits(c, "TrapNumber", 4, 0, 16, &a.TrapNumber)
	bits(c, "IssuerLID", 6, 0, 16, &a.IssuerLID)
	bit(c, "NoticeToggle", 8, 0, &a.NoticeToggle)
	bits(c, "NoticeCount", 8, 1, 15, &a.NoticeCount)
	blob(c, "DataDetails", 10, a.DataDetails[:])
}
