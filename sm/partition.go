package sm

import (
	"errors"
	"fmt"

	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Partitions in the syntax of opensm's partitions.conf:
//
//	[name][=P_Key][,flag...]: [member[,member...]] [mgid=GID[,flag...]] ;
//
// A '#' begins a comment, line ends are blanks. Flags are ipoib, rate=, mtu=,
// sl=, scope= (more than once), Q_Key=, TClass=, FlowLabel=, indx0 and
// defmember=full|limited|both. A member is a port GUID, ALL, ALL_CAS,
// ALL_SWITCHES, ALL_ROUTERS or SELF, with =full, =limited or =both, which may be
// abbreviated; or NONE, which is nobody.
//
// It means what it means to opensm with allow_both_pkeys: rules of one P_Key add
// up, and what is said last of a port counts. A rule without a P_Key, or with
// P_Key 0, has that of the rules of its name before, else one that is free. A
// file makes everybody a limited member of the default partition and the subnet
// manager a full one, before the first rule. What opensm would only warn of is
// an error.

// Membership of a port in a partition (IBTA vol. 1 §10.9.1.1).
type Membership uint8

// Memberships. Both gives a port two entries.
const (
	Limited Membership = 1
	Full    Membership = 2
	Both    Membership = 3
)

// DefaultPKey is the P_Key of the default partition, without the membership.
const DefaultPKey uint16 = 0x7fff

// PartitionFile is what a file of partitions says.
type PartitionFile struct {
	Partitions []Partition
}

// Partition is a rule of the file. Several rules may have the same P_Key.
type Partition struct {
	Name    string
	PKey    uint16 // without the bit of membership
	IPoIB   bool   // has a broadcast group
	Index0  bool   // to be entry 0 of its members' tables
	Members []Member
	Group   GroupFlags // of the broadcast group
	Groups  []PartitionGroup
	Line    int
}

// GroupFlags are the properties of a multicast group that a partition makes.
type GroupFlags struct {
	MTU       mad.MTU  // 0: 2048
	Rate      mad.Rate // 0: 10 Gb/s
	SL        uint8
	Scopes    uint16 // bit n: a group of scope n; 0: link-local, or what the MGID says
	QKey      uint32 // 0: 0xb1b of IP groups
	TClass    uint8
	FlowLabel uint32
}

// PartitionGroup is a multicast group beside the broadcast group. That of IP
// has the P_Key of the partition in its MGID (RFC 4391 §4).
type PartitionGroup struct {
	MGID wire.GID
	GroupFlags
}

// IP tells whether the group is one of IPv4 or IPv6 over InfiniBand.
func (g *PartitionGroup) IP() bool {
	s := uint16(g.MGID[2])<<8 | uint16(g.MGID[3])
	return s == 0x401b || s == 0x601b
}

// Broadcast is the MGID of a partition's IPoIB broadcast group (RFC 4391 §4).
func Broadcast(scope uint8, pkey uint16) wire.GID {
	pkey |= fullMember
	return wire.GID{0xff, 0x10 | scope&15, 0x40, 0x1b, byte(pkey >> 8), byte(pkey), 12: 0xff, 0xff, 0xff, 0xff}
}

// Member says who is in a partition.
type Member struct {
	Who  MemberKind
	GUID wire.GUID // of MemberGUID
	As   Membership
}

// MemberKind says which ports a Member means.
type MemberKind uint8

// Kinds of member.
const (
	MemberGUID MemberKind = iota
	MemberAll
	MemberCAs
	MemberSwitches
	MemberRouters
	MemberSelf // the port of the subnet manager
)

// NoPartitionFile is what is so without a file: everybody is a full member of
// the default partition, which has IPoIB.
func NoPartitionFile() *PartitionFile {
	return &PartitionFile{Partitions: []Partition{{
		Name: "Default", PKey: DefaultPKey, IPoIB: true, Members: []Member{{Who: MemberAll, As: Full}},
	}}}
}

// SL is the service level of a partition, that of its first rule.
func (f *PartitionFile) SL(pkey uint16) uint8 {
	for i := range f.Partitions {
		if p := &f.Partitions[i]; (p.PKey^pkey)&^fullMember == 0 {
			return p.Group.SL
		}
	}
	return 0
}

// PartitionError is an error in a partition file.
type PartitionError struct {
	Line int
	Msg  string
}

// Error implements error.
func (e *PartitionError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// ParsePartitions reads a partition file. All errors are returned, joined, each
// a *PartitionError; what was understood is returned with them.
func ParsePartitions(text string) (*PartitionFile, error) {
	p := &partParser{}
	for _, rule := range p.rules(text) {
		p.rule(rule)
	}
	p.derive()
	return &p.file, errors.Join(p.errs...)
}
