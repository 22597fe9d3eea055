package mad

import "cnuas/internal/wire"

// PortInfoRecordLen is the length of a PortInfoRecord in bytes.
const PortInfoRecordLen = 68

// PortInfoRecord is PortInfo in SA (IBTA vol. 1 §15.2.5.3).
type PortInfoRecord struct {
	EndportLID wire.LID
	PortNum    uint8
	Options    uint8
	PortInfo
}

func (a *PortInfoRecord) layout(c *codec) {
	if !c.size(PortInfoRecordLen) {
		return
	}
	bits(c, "EndportLID", 0, 0, 16, &a.EndportLID)
	bits(c, "PortNum", 2, 0, 8, &a.PortNum)
	bits(c, "Options", 3, 0, 8, &a.Options)
	c.off += 4
	a.PortInfo.layout(c)
	c.off -= 4
}

// NodeRecordLen is the length of a NodeRecord in bytes.
const NodeRecordLen = 108

// NodeRecord is NodeInfo and NodeDescription in SA (IBTA vol. 1 §15.2.5.2).
type NodeRecord struct {
	LID wire.LID
	NodeInfo
	NodeDescription
}

func (a *NodeRecord) layout(c *codec) {
	if !c.size(NodeRecordLen) {
		return
	}
	bits(c, "LID", 0, 0, 16, &a.LID)
	resv(c, 2, 0, 16)
	c.off += 4
	a.NodeInfo.layout(c)
	c.off -= 4
	c.off += 44
	a.NodeDescription.layout(c)
	c.off -= 44
}

// SwitchInfoRecordLen is the length of a SwitchInfoRecord in bytes.
const SwitchInfoRecordLen = 24

// SwitchInfoRecord is SwitchInfo in SA (IBTA vol. 1 §15.2.5.5).
type SwitchInfoRecord struct {
	LID wire.LID
	SwitchInfo
}

func (a *SwitchInfoRecord) layout(c *codec) {
	if !c.size(SwitchInfoRecordLen) {
		return
	}
	bits(c, "LID", 0, 0, 16, &a.LID)
	resv(c, 2, 0, 16)
	c.off += 4
	a.SwitchInfo.layout(c)
	c.off -= 4
}

// SMInfoRecordLen is the length of a SMInfoRecord in bytes.
const SMInfoRecordLen = 25

// SMInfoRecord is SMInfo in SA (IBTA vol. 1 §15.2.5.10).
type SMInfoRecord struct {
	LID wire.LID
	SMInfo
}

func (a *SMInfoRecord) layout(c *codec) {
	if !c.size(SMInfoRecordLen) {
		return
	}
	bits(c, "LID", 0, 0, 16, &a.LID)
	resv(c, 2, 0, 16)
	c.off += 4
	a.SMInfo.layout(c)
	c.off -= 4
}

// GUIDInfoRecordLen is the length of a GUIDInfoRecord in bytes.
const GUIDInfoRecordLen = 72

// GUIDInfoRecord is GUIDInfo in SA (IBTA vol. 1 §15.2.5.18).
type GUIDInfoRecord struct {
	LID      wire.LID
	BlockNum uint8
	GUIDInfo
}

func (a *GUIDInfoRecord) layout(c *codec) {
	if !c.size(GUIDInfoRecordLen) {
		return
	}
	bits(c, "LID", 0, 0, 16, &a.LID)
	bits(c, "BlockNum", 2, 0, 8, &a.BlockNum)
	resv(c, 3, 0, 8)
	resv(c, 4, 0, 32)
	c.off += 8
	a.GUIDInfo.layout(c)
	c.off -= 8
}

// PKeyTableRecordLen is the length of a PKeyTableRecord in bytes.
const PKeyTableRecordLen = 72

// PKeyTableRecord is P_KeyTable in SA (IBTA vol. 1 §15.2.5.11).
type PKeyTableRecord struct {
	LID      wire.LID
	BlockNum uint16
	PortNum  uint8
	PKeyTable
}

func (a *PKeyTableRecord) layout(c *codec) {
	if !c.size(PKeyTableRecordLen) {
		return
	}
	bits(c, "LID", 0, 0, 16, &a.LID)
	bits(c, "BlockNum", 2, 0, 16, &a.BlockNum)
	bits(c, "PortNum", 4, 0, 8, &a.PortNum)
	resv(c, 5, 0, 8)
	resv(c, 6, 0, 16)
	c.off += 8
	a.PKeyTable.layout(c)
	c.off -= 8
}
