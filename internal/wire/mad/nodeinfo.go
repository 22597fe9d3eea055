package mad

import "cnuas/internal/wire"

// NodeInfoLen is the length of a NodeInfo in bytes.
const NodeInfoLen = 40

// NodeInfo is what a node is (IBTA vol. 1 §14.2.5.3).
type NodeInfo struct {
	BaseVersion     uint8
	ClassVersion    uint8
	NodeType        NodeType
	NumPorts        uint8 // physical ports
	SystemImageGUID wire.GUID
	NodeGUID        wire.GUID
	PortGUID        wire.GUID // of the port that was asked; of a switch the node's
	PartitionCap    uint16    // entries of the P_Key table
	DeviceID        uint16
	Revision        uint32
	LocalPortNum    uint8 // port by which the question came
	VendorID        uint32
}

func (a *NodeInfo) layout(c *codec) {
	if !c.size(NodeInfoLen) {
		return
	}
	bits(c, "BaseVersion", 0, 0, 8, &a.BaseVersion)
	bits(c, "ClassVersion", 1, 0, 8, &a.ClassVersion)
	bits(c, "NodeType", 2, 0, 8, &a.NodeType)
	bits(c, "NumPorts", 3, 0, 8, &a.NumPorts)
	bits(c, "SystemImageGUID", 4, 0, 64, &a.SystemImageGUID)
	bits(c, "NodeGUID", 12, 0, 64, &a.NodeGUID)
	bits(c, "PortGUID", 20, 0, 64, &a.PortGUID)
	bits(c, "PartitionCap", 28, 0, 16, &a.PartitionCap)
	bits(c, "DeviceID", 30, 0, 16, &a.DeviceID)
	bits(c, "Revision", 32, 0, 32, &a.Revision)
	bits(c, "LocalPortNum", 36, 0, 8, &a.LocalPortNum)
	bits(c, "VendorID", 37, 0, 24, &a.VendorID)
}

// NodeDescriptionLen is the length of a NodeDescription in bytes.
const NodeDescriptionLen = 64

// NodeDescription is a text padded with zeros (IBTA vol. 1 §14.2.5.2).
type NodeDescription struct {
	NodeString [64]byte
}

func (a *NodeDescription) layout(c *codec) {
	if !c.size(NodeDescriptionLen) {
		return
	}
	blob(c, "NodeString", 0, a.NodeString[:])
}
