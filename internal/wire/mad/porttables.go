package mad

import "cnuas/internal/wire"

// GUIDInfoLen is the length of a GUIDInfo in bytes.
const GUIDInfoLen = 64

// GUIDInfo is a block of a port's GUIDs (IBTA vol. 1 §14.2.5.5).
type GUIDInfo struct {
	GUID [8]wire.GUID
}

func (a *GUIDInfo) layout(c *codec) {
	if !c.size(GUIDInfoLen) {
		return
	}
	array(c, "GUID", 0, 0, 64, a.GUID[:])
}

// PKeyTableLen is the length of a PKeyTable in bytes.
const PKeyTableLen = 64

// PKeyTable is a block of a port's partition table (IBTA vol. 1 §14.2.5.7).
type PKeyTable struct {
	PKey [32]uint16
}

func (a *PKeyTable) layout(c *codec) {
	if !c.size(PKeyTableLen) {
		return
	}
	array(c, "PKey", 0, 0, 16, a.PKey[:])
}

// SLtoVLLen is the length of a SLtoVL in bytes.
const SLtoVLLen = 8

// SLtoVL is an SLtoVLMappingTable: the virtual lane of each service level
// (IBTA vol. 1 §14.2.5.8).
type SLtoVL struct {
	VL [16]uint8
}

func (a *SLtoVL) layout(c *codec) {
	if !c.size(SLtoVLLen) {
		return
	}
	array(c, "VL", 0, 0, 4, a.VL[:])
}
