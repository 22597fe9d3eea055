package mad

import "cnuas/internal/wire"

// SMInfoLen is the length of a SMInfo in bytes.
const SMInfoLen = 21

// SMInfo is the state of a subnet manager (IBTA vol. 1 §14.2.5.13).
type SMInfo struct {
	GUID     wire.GUID
	SMKey    uint64
	ActCount uint32
	Priority uint8
	SMState  SMState
}

func (a *SMInfo) layout(c *codec) {
	if !c.size(SMInfoLen) {
		return
	}
	bits(c, "GUID", 0, 0, 64, &a.GUID)
	bits(c, "SMKey", 8, 0, 64, &a.SMKey)
	bits(c, "ActCount", 16, 0, 32, &a.ActCount)
	bits(c, "Priority", 20, 0, 4, &a.Priority)
	bits(c, "SMState", 20, 4, 4, &a.SMState)
}
