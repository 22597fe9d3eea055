package mad

import "cnuas/internal/wire"

// TrapGIDDataLen is the length of a TrapGIDData in bytes.
const TrapGIDDataLen = 54

// TrapGIDData is the DataDetails of traps 64 to 67 (IBTA vol. 1 §15.2.5).
type TrapGIDData struct {
	GID wire.GID
}

func (a *TrapGIDData) layout(c *codec) {
	if !c.size(TrapGIDDataLen) {
		return
	}
	gid(c, "GID", 6, &a.GID)
}

// TrapLinkStateDataLen is the length of a TrapLinkStateData in bytes.
const TrapLinkStateDataLen = 54

// TrapLinkStateData is the DataDetails of trap 128 (IBTA vol. 1 §14.2.5.1).
type TrapLinkStateData struct {
	LID wire.LID
}

func (a *TrapLinkStateData) layout(c *codec) {
	if !c.size(TrapLinkStateDataLen) {
		return
	}
	bits(c, "LID", 0, 0, 16, &a.LID)
}

// TrapPortDataLen is the length of a TrapPortData in bytes.
const TrapPortDataLen = 54

// TrapPortData is the DataDetails of traps 129 to 131 (IBTA vol. 1 §14.2.5.1).
type TrapPortData struct {
	LID     wire.LID
	PortNum uint8
}

func (a *TrapPortData) layout(c *codec) {
	if !c.size(TrapPortDataLen) {
		return
	}
	bits(c, "LID", 2, 0, 16, &a.LID)
	bits(c, "PortNum", 4, 0, 8, &a.PortNum)
}

// TrapChangeDataLen is the length of a TrapChangeData in bytes.
const TrapChangeDataLen = 54

// TrapChangeData is the DataDetails of trap 144 (IBTA vol. 1 §14.2.5.1).
type TrapChangeData struct {
	LID               wire.LID
	OtherLocalChanges bool
	CapabilityMask    CapMask
	ChangeFlags       uint16
	CapabilityMask2   CapMask2
}

func (a *TrapChangeData) layout(c *codec) {
	if !c.size(TrapChangeDataLen) {
		return
	}
	bits(c, "LID", 2, 0, 16, &a.LID)
	bit(c, "OtherLocalChanges", 5, 7, &a.OtherLocalChanges)
	bits(c, "CapabilityMask", 6, 0, 32, &a.CapabilityMask)
	bits(c, "ChangeFlags", 10, 0, 16, &a.ChangeFlags)
	bits(c, "CapabilityMask2", 12, 0, 16, &a.CapabilityMask2)
}

// TrapSystemImageDataLen is the length of a TrapSystemImageData in bytes.
const TrapSystemImageDataLen = 54

// TrapSystemImageData is the DataDetails of trap 145 (IBTA vol. 1 §14.2.5.1).
type TrapSystemImageData struct {
	LID             wire.LID
	SystemImageGUID wire.GUID
}

func (a *TrapSystemImageData) layout(c *codec) {
	if !c.size(TrapSystemImageDataLen) {
		return
	}
	bits(c, "LID", 2, 0, 16, &a.LID)
	bits(c, "SystemImageGUID", 6, 0, 64, &a.SystemImageGUID)
}

// TrapMKeyDataLen is the length of a TrapMKeyData in bytes.
const TrapMKeyDataLen = 54

// TrapMKeyData is the DataDetails of trap 256 (IBTA vol. 1 §14.2.5.1).
type TrapMKeyData struct {
	LID               wire.LID
	DrSLID            wire.LID
	Method            Method
	AttributeID       AttrID
	AttributeModifier uint32
	MKey              uint64
	DRNotice          bool
	DRPathTruncated   bool
	DRHopCount        uint8
	DRReturnPath      [30]byte
}

func (a *TrapMKeyData) layout(c *codec) {
	if !c.size(TrapMKeyDataLen) {
		return
	}
	bits(c, "LID", 2, 0, 16, &a.LID)
	bits(c, "DrSLID", 4, 0, 16, &a.DrSLID)
	bits(c, "Method", 6, 0, 8, &a.Method)
	bits(c, "AttributeID", 8, 0, 16, &a.AttributeID)
	bits(c, "AttributeModifier", 10, 0, 32, &a.AttributeModifier)
	bits(c, "MKey", 14, 0, 64, &a.MKey)
	bit(c, "DRNotice", 23, 0, &a.DRNotice)
	bit(c, "DRPathTruncated", 23, 1, &a.DRPathTruncated)
	bits(c, "DRHopCount", 23, 2, 6, &a.DRHopCount)
	blob(c, "DRReturnPath", 24, a.DRReturnPath[:])
}

// TrapKeyDataLen is the length of a TrapKeyData in bytes.
const TrapKeyDataLen = 54

// TrapKeyData is the DataDetails of traps 257 and 258 (IBTA vol. 1 §14.2.5.1).
type TrapKeyData struct {
	LIDAddr1 wire.LID
	LIDAddr2 wire.LID
	Key      uint32 // Q_Key, or P_Key in the low half
	SL       uint8
	QP1      uint32
	QP2      uint32
	GIDAddr1 wire.GID
	GIDAddr2 wire.GID
}

func (a *TrapKeyData) layout(c *codec) {
	if !c.size(TrapKeyDataLen) {
		return
	}
	bits(c, "LIDAddr1", 2, 0, 16, &a.LIDAddr1)
	bits(c, "LIDAddr2", 4, 0, 16, &a.LIDAddr2)
	bits(c, "Key", 6, 0, 32, &a.Key)
	bits(c, "SL", 10, 0, 4, &a.SL)
	bits(c, "QP1", 11, 0, 24, &a.QP1)
	bits(c, "QP2", 15, 0, 24, &a.QP2)
	gid(c, "GIDAddr1", 18, &a.GIDAddr1)
	gid(c, "GIDAddr2", 34, &a.GIDAddr2)
}

// TrapSwitchPKeyDataLen is the length of a TrapSwitchPKeyData in bytes.
const TrapSwitchPKeyDataLen = 54

// TrapSwitchPKeyData is the DataDetails of trap 259 (IBTA vol. 1 §14.2.5.1).
type TrapSwitchPKeyData struct {
	DataValid uint16
	LIDAddr1  wire.LID
	LIDAddr2  wire.LID
	PKey      uint16
	SL        uint8
	QP1       uint32
	QP2       uint32
	GIDAddr1  wire.GID
	GIDAddr2  wire.GID
	SwLIDAddr wire.LID
	PortNo    uint8
}

func (a *TrapSwitchPKeyData) layout(c *codec) {
	if !c.size(TrapSwitchPKeyDataLen) {
		return
	}
	bits(c, "DataValid", 0, 0, 16, &a.DataValid)
	bits(c, "LIDAddr1", 2, 0, 16, &a.LIDAddr1)
	bits(c, "LIDAddr2", 4, 0, 16, &a.LIDAddr2)
	bits(c, "PKey", 6, 0, 16, &a.PKey)
	bits(c, "SL", 8, 0, 4, &a.SL)
	bits(c, "QP1", 9, 0, 24, &a.QP1)
	bits(c, "QP2", 13, 0, 24, &a.QP2)
	gid(c, "GIDAddr1", 16, &a.GIDAddr1)
	gid(c, "GIDAddr2", 32, &a.GIDAddr2)
	bits(c, "SwLIDAddr", 48, 0, 16, &a.SwLIDAddr)
	bits(c, "PortNo", 50, 0, 8, &a.PortNo)
}
