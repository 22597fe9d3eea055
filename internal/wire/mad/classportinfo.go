package mad

import "cnuas/internal/wire"

// ClassPortInfoLen is the length of a ClassPortInfo in bytes.
const ClassPortInfoLen = 72

// ClassPortInfo is what an agent says of a class (IBTA vol. 1 §13.4.8.1).
type ClassPortInfo struct {
	BaseVersion     uint8
	ClassVersion    uint8
	CapabilityMask  uint16
	CapabilityMask2 uint32
	RespTimeValue   Timeout
	RedirectGID     wire.GID
	RedirectTC      uint8
	RedirectSL      uint8
	RedirectFL      uint32
	RedirectLID     wire.LID
	RedirectPKey    uint16
	RedirectQP      uint32
	RedirectQKey    uint32
	TrapGID         wire.GID
	TrapTC          uint8
	TrapSL          uint8
	TrapFL          uint32
	TrapLID         wire.LID
	TrapPKey        uint16
	TrapHL          uint8
	TrapQP          uint32
	TrapQKey        uint32
}

func (a *ClassPortInfo) layout(c *codec) {
	if !c.size(ClassPortInfoLen) {
		return
	}
	bits(c, "BaseVersion", 0, 0, 8, &a.BaseVersion)
	bits(c, "ClassVersion", 1, 0, 8, &a.ClassVersion)
	bits(c, "CapabilityMask", 2, 0, 16, &a.CapabilityMask)
	bits(c, "CapabilityMask2", 4, 0, 27, &a.CapabilityMask2)
	bits(c, "RespTimeValue", 7, 3, 5, &a.RespTimeValue)
	gid(c, "RedirectGID", 8, &a.RedirectGID)
	bits(c, "RedirectTC", 24, 0, 8, &a.RedirectTC)
	bits(c, "RedirectSL", 25, 0, 4, &a.RedirectSL)
	bits(c, "RedirectFL", 25, 4, 20, &a.RedirectFL)
	bits(c, "RedirectLID", 28, 0, 16, &a.RedirectLID)
	bits(c, "RedirectPKey", 30, 0, 16, &a.RedirectPKey)
	resv(c, 32, 0, 8)
	bits(c, "RedirectQP", 33, 0, 24, &a.RedirectQP)
	bits(c, "RedirectQKey", 36, 0, 32, &a.RedirectQKey)
	gid(c, "TrapGID", 40, &a.TrapGID)
	bits(c, "TrapTC", 56, 0, 8, &a.TrapTC)
	bits(c, "TrapSL", 57, 0, 4, &a.TrapSL)
	bits(c, "TrapFL", 57, 4, 20, &a.TrapFL)
	bits(c, "TrapLID", 60, 0, 16, &a.TrapLID)
	bits(c, "TrapPKey", 62, 0, 16, &a.TrapPKey)
	bits(c, "TrapHL", 64, 0, 8, &a.TrapHL)
	bits(c, "TrapQP", 65, 0, 24, &a.TrapQP)
	bits(c, "TrapQKey", 68, 0, 32, &a.TrapQKey)
}
