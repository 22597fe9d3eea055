package mad

// VLArbitrationLen is the length of a VLArbitration in bytes.
const VLArbitrationLen = 64

// VLArbEntry gives a virtual lane a weight in units of 64 bytes; weight 0 is
// an entry to be skipped (IBTA vol. 1 §7.6.9.2).
type VLArbEntry struct {
	VL, Weight uint8
}

// VLArbitration is a block of a VLArbitrationTable (IBTA vol. 1 §14.2.5.9).
type VLArbitration struct {
	Entry [32]VLArbEntry
}

// Blocks of the table, in bits 31 to 16 of the AttributeModifier.
const (
	VLArbLowFirst   = 1 // low priority, entries 0 to 31
	VLArbLowSecond  = 2 // 32 to 63
	VLArbHighFirst  = 3
	VLArbHighSecond = 4
)

func (a *VLArbitration) layout(c *codec) {
	if !c.size(VLArbitrationLen) {
		return
	}
	for i := range a.Entry {
		c.elem = i + 1
		bits(c, "VL", 2*i, 4, 4, &a.Entry[i].VL)
		bits(c, "Weight", 2*i+1, 0, 8, &a.Entry[i].Weight)
	}
	c.elem = 0
}
