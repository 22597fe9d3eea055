package mad

import "cnuas/internal/wire"

// LinearForwardingRecordLen is the length of a LinearForwardingRecord in bytes.
const LinearForwardingRecordLen = 72

// LinearForwardingRecord is LinearForwardingTable in SA (IBTA vol. 1
// §15.2.5.6).
type LinearForwardingRecord struct {
	LID      wire.LID
	BlockNum uint16
	LinearForwarding
}

func (a *LinearForwardingRecord) layout(c *codec) {
	if !c.size(LinearForwardingRecordLen) {
		return
	}
	bits(c, "LID", 0, 0, 16, &a.LID)
	bits(c, "BlockNum", 2, 0, 16, &a.BlockNum)
	resv(c, 4, 0, 32)
	c.off += 8
	a.LinearForwarding.layout(c)
	c.off -= 8
}

// MulticastForwardingRecordLen is the length of a MulticastForwardingRecord in bytes.
const MulticastForwardingRecordLen = 72

// MulticastForwardingRecord is MulticastForwardingTable in SA (IBTA vol. 1
// §15.2.5.8).
type MulticastForwardingRecord struct {
	LID      wire.LID
	Position uint8
	BlockNum uint16
	MulticastForwarding
}

func (a *MulticastForwardingRecord) layout(c *codec) {
	if !c.size(MulticastForwardingRecordLen) {
		return
	}
	bits(c, "LID", 0, 0, 16, &a.LID)
	bits(c, "Position", 2, 0, 4, &a.Position)
	resv(c, 2, 4, 3)
	bits(c, "BlockNum", 2, 7, 9, &a.BlockNum)
	resv(c, 4, 0, 32)
	c.off += 8
	a.MulticastForwarding.layout(c)
	c.off -= 8
}

// SLtoVLRecordLen is the length of a SLtoVLRecord in bytes.
const SLtoVLRecordLen = 16

// SLtoVLRecord is SLtoVLMappingTable in SA (IBTA vol. 1 §15.2.5.4).
type SLtoVLRecord struct {
	LID           wire.LID
	InputPortNum  uint8
	OutputPortNum uint8
	SLtoVL
}

func (a *SLtoVLRecord) layout(c *codec) {
	if !c.size(SLtoVLRecordLen) {
		return
	}
	bits(c, "LID", 0, 0, 16, &a.LID)
	bits(c, "InputPortNum", 2, 0, 8, &a.InputPortNum)
	bits(c, "OutputPortNum", 3, 0, 8, &a.OutputPortNum)
	resv(c, 4, 0, 32)
	c.off += 8
	a.SLtoVL.layout(c)
	c.off -= 8
}

// VLArbitrationRecordLen is the length of a VLArbitrationRecord in bytes.
const VLArbitrationRecordLen = 72

// VLArbitrationRecord is VLArbitrationTable in SA (IBTA vol. 1 §15.2.5.9).
type VLArbitrationRecord struct {
	LID           wire.LID
	OutputPortNum uint8
	BlockNum      uint8
	VLArbitration
}

func (a *VLArbitrationRecord) layout(c *codec) {
	if !c.size(VLArbitrationRecordLen) {
		return
	}
	bits(c, "LID", 0, 0, 16, &a.LID)
	bits(c, "OutputPortNum", 2, 0, 8, &a.OutputPortNum)
	bits(c, "BlockNum", 3, 0, 8, &a.BlockNum)
	resv(c, 4, 0, 32)
	c.off += 8
	a.VLArbitration.layout(c)
	c.off -= 8
}

// LinkRecordLen is the length of a LinkRecord in bytes.
const LinkRecordLen = 6

// LinkRecord is a link between two ports (IBTA vol. 1 §15.2.5.13).
type LinkRecord struct {
	FromLID  wire.LID
	FromPort uint8
	ToPort   uint8
	ToLID    wire.LID
}

func (a *LinkRecord) layout(c *codec) {
	if !c.size(LinkRecordLen) {
		return
	}
	bits(c, "FromLID", 0, 0, 16, &a.FromLID)
	bits(c, "FromPort", 2, 0, 8, &a.FromPort)
	bits(c, "ToPort", 3, 0, 8, &a.ToPort)
	bits(c, "ToLID", 4, 0, 16, &a.ToLID)
}
