package mad

import "fmt"

// Trap is the TrapNumber of a generic Notice (IBTA vol. 1 §14.2.5.1).
type Trap uint16

// Traps (IBTA vol. 1 §14.2.5.1; 64 to 67 are those of §15.2.5 subnet
// administration).
const (
	TrapGIDInService       Trap = 64
	TrapGIDOutOfService    Trap = 65
	TrapGroupCreated       Trap = 66
	TrapGroupDeleted       Trap = 67
	TrapUnpath             Trap = 68
	TrapRepath             Trap = 69
	TrapLinkState          Trap = 128 // a switch's port changed state
	TrapLinkIntegrity      Trap = 129 // LocalLinkIntegrityErrors above the threshold
	TrapBufferOverrun      Trap = 130 // ExcessiveBufferOverrunErrors above the threshold
	TrapFlowControlTimeout Trap = 131 // flow control update watchdog
	TrapCapabilityChange   Trap = 144 // capability mask, node description, or another local change
	TrapSystemImageGUID    Trap = 145
	TrapBadMKey            Trap = 256
	TrapBadPKey            Trap = 257
	TrapBadQKey            Trap = 258
	TrapBadPKeySwitch      Trap = 259 // at a switch's external port
)

var trapNames = map[Trap]string{
	TrapGIDInService: "GID in service", TrapGIDOutOfService: "GID out of service", TrapGroupCreated: "multicast group created",
	TrapGroupDeleted: "multicast group deleted", TrapUnpath: "UnPath", TrapRepath: "RePath", TrapLinkState: "link state change",
	TrapLinkIntegrity: "local link integrity", TrapBufferOverrun: "excessive buffer overrun",
	TrapFlowControlTimeout: "flow control update watchdog", TrapCapabilityChange: "local change",
	TrapSystemImageGUID: "system image GUID changed", TrapBadMKey: "bad M_Key", TrapBadPKey: "bad P_Key",
	TrapBadQKey: "bad Q_Key", TrapBadPKeySwitch: "bad P_Key at switch port",
}

// String names the trap.
func (t Trap) String() string {
	if s := trapNames[t]; s != "" {
		return fmt.Sprintf("%d %s", uint16(t), s)
	}
	return fmt.Sprint(uint16(t))
}

// NoticeType says how much a Notice matters (IBTA vol. 1 §13.4.8.2).
type NoticeType uint8

// Types of notice.
const (
	NoticeFatal      NoticeType = 0
	NoticeUrgent     NoticeType = 1
	NoticeSecurity   NoticeType = 2
	NoticeManagement NoticeType = 3
	NoticeInfo       NoticeType = 4
	NoticeEmpty      NoticeType = 0x7f
	NoticeAll        uint16     = 0xffff // InformInfo: every type
)

// String names the type.
func (t NoticeType) String() string {
	names := [...]string{"fatal", "urgent", "security", "management", "info"}
	if int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// Type is the type of notice that the trap is (IBTA vol. 1 §14.2.5.1).
func (t Trap) Type() NoticeType {
	switch {
	case t >= TrapGIDInService && t <= TrapRepath:
		return NoticeManagement
	case t == TrapLinkState, t >= TrapLinkIntegrity && t <= TrapFlowControlTimeout:
		return NoticeUrgent
	case t == TrapCapabilityChange, t == TrapSystemImageGUID:
		return NoticeInfo
	case t >= TrapBadMKey && t <= TrapBadPKeySwitch:
		return NoticeSecurity
	}
	return NoticeInfo
}
