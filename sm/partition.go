package sm

import (
	"errors"
	"fmt"
	"strings"

	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Partitions in the syntax of opensm's partitions.conf:
//
//	[name][=P_Key][,flag...]: [member[,member...]] [mgid=GID[,flag...]] ;
//
// A '#' begins a comment, line ends are blanks. Flags are ipoib, rate=, mtu=,
// sl=, scope=, Q_Key=, TClass=, FlowLabel=, indx0 and defmember=full|limited|both.
// A member is a port GUID, ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS or SELF, with
// =full, =limited or =both.

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
	Index0  bool   // to be entry 0 of the tables
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
	Scope     uint8 // 0: 2, link-local
	QKey      uint32
	TClass    uint8
	FlowLabel uint32
}

// PartitionGroup is a multicast group beside the broadcast group.
type PartitionGroup struct {
	MGID wire.GID
	GroupFlags
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

// PartitionError is an error in a partition file.
type PartitionError struct {
	Line int
	Msg  string
}

// Error implements error.
func (e *PartitionError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// ParsePartitions reads a partition file. All errors are returned, joined, each
// a *PartitionError; what was understood is returned with them. A file without
// the default partition makes everybody a limited member of it and the subnet
// manager a full one.
func ParsePartitions(text string) (*PartitionFile, error) {
	p := &partParser{line: 1}
	for _, rule := range p.rules(text) {
		p.rule(rule)
	}
	if !p.hasDefault {
		p.file.Partitions = append([]Partition{{Name: "Default", PKey: DefaultPKey,
			Members: []Member{{Who: MemberAll, As: Limited}, {Who: MemberSelf, As: Full}}}}, p.file.Partitions...)
	}
	return &p.file, errors.Join(p.errs...)
}

// token is a piece of text and the line it is in.
type token struct {
	s    string
	line int
}

type partParser struct {
	file       PartitionFile
	errs       []error
	line       int
	hasDefault bool
}

func (p *partParser) errorf(line int, format string, args ...any) {
	if len(p.errs) < 20 {
		p.errs = append(p.errs, &PartitionError{line, fmt.Sprintf(format, args...)})
	}
}

// rules cuts the text at semicolons and each rule into words; ':' between
// definition and members, ',' and '=' are words of their own.
func (p *partParser) rules(text string) (rules [][]token) {
	var rule []token
	for i, l := range strings.Split(text, "\n") {
		l, _, _ = strings.Cut(l, "#")
		colon := false
		for _, t := range rule {
			colon = colon || t.s == ":"
		}
		word := func(s string) {
			if s = strings.TrimSpace(s); s != "" {
				rule = append(rule, token{s, i + 1})
			}
		}
		from := 0
		for k := 0; k < len(l); k++ {
			switch c := l[k]; {
			case c == ';':
				word(l[from:k])
				if len(rule) > 0 {
					rules = append(rules, rule)
				}
				rule, colon, from = nil, false, k+1
			case c == ':' && colon: // inside of a GID
			case c == ':' || c == ',' || c == '=' || c == ' ' || c == '\t' || c == '\r':
				word(l[from:k])
				colon = colon || c == ':'
				word(string(c))
				from = k + 1
			}
		}
		word(l[from:])
	}
	if len(rule) > 0 {
		p.errorf(rule[0].line, "the rule has no ';' at its end")
	}
	return rules
}
