package mad

import "fmt"

// NodeType of NodeInfo (IBTA vol. 1 §14.2.5.3); also the ProducerType of a
// Notice, which has ProducerClassManager besides.
type NodeType uint8

// Types of node.
const (
	NodeCA               NodeType = 1
	NodeSwitch           NodeType = 2
	NodeRouter           NodeType = 3
	ProducerClassManager NodeType = 4
)

// String names the type.
func (t NodeType) String() string {
	return name(uint8(t), "", "CA", "switch", "router", "class manager")
}

// PortState of PortInfo (IBTA vol. 1 §7.2.7, §14.2.5.6).
type PortState uint8

// Logical states of a port. PortNoChange is for Sets.
const (
	PortNoChange PortState = 0
	PortDown     PortState = 1
	PortInit     PortState = 2
	PortArmed    PortState = 3
	PortActive   PortState = 4
)

// String names the state.
func (s PortState) String() string {
	return name(uint8(s), "no change", "Down", "Init", "Armed", "Active")
}

// PhysState is PortPhysicalState of PortInfo (IBTA vol. 1 §14.2.5.6).
type PhysState uint8

// Physical states of a port. PhysNoChange is for Sets.
const (
	PhysNoChange PhysState = 0
	PhysSleep    PhysState = 1
	PhysPolling  PhysState = 2
	PhysDisabled PhysState = 3
	PhysTraining PhysState = 4 // PortConfigurationTraining
	PhysLinkUp   PhysState = 5
	PhysRecovery PhysState = 6 // LinkErrorRecovery
	PhysTest     PhysState = 7
)

// String names the state.
func (s PhysState) String() string {
	return name(uint8(s), "no change", "Sleep", "Polling", "Disabled", "Training", "LinkUp", "LinkErrorRecovery", "PhyTest")
}

// SMState of SMInfo (IBTA vol. 1 §14.2.5.13).
type SMState uint8

// States of a subnet manager.
const (
	SMNotActive   SMState = 0
	SMDiscovering SMState = 1
	SMStandby     SMState = 2
	SMMaster      SMState = 3
)

// String names the state.
func (s SMState) String() string {
	return name(uint8(s), "NotActive", "Discovering", "Standby", "Master")
}

// AttributeModifier of a Set of SMInfo (IBTA vol. 1 §14.4.1).
const (
	SMHandover    uint32 = 1
	SMAcknowledge uint32 = 2
	SMDisable     uint32 = 3
	SMStandbyCtl  uint32 = 4
	SMDiscover    uint32 = 5
)

// JoinState are the bits of MCMemberRecord.JoinState (IBTA vol. 1 §15.2.5.17).
type JoinState uint8

// Kinds of membership.
const (
	JoinFull         JoinState = 1
	JoinNonMember    JoinState = 2
	JoinSendOnly     JoinState = 4
	JoinFullSendOnly JoinState = 8
)

// name is names[v], or the number.
func name(v uint8, names ...string) string {
	if int(v) < len(names) && names[v] != "" {
		return names[v]
	}
	return fmt.Sprintf("%d", v)
}
