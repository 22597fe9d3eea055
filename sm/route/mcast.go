package route

import "fmt"

// Group is a multicast group for routing: one MLID, or several groups of the SA
// that share it.
type Group struct {
	MLID uint16 // 0xC000-0xFFFE (IBTA Vol 1 §4.1.1)
	// Members get what is sent to the group: full members and non-members.
	Members []Member
	// Senders only send to it (JoinState SendOnlyNonMember): their switches are
	// on the tree, their ports are not.
	Senders []Member
}

// Member is an end, or with End None the port 0 of a switch.
type Member struct {
	End    int32 // index into Subnet.Ends, or None
	Switch int32 // index into Subnet.Switches, if End is None
}

// PortMask is a set of switch ports, bit port%64 of word port/64.
type PortMask [4]uint64

// Has tells whether a port is in the set.
func (m *PortMask) Has(port int) bool { return m[port>>6]>>(port&63)&1 != 0 }

// Set puts a port into the set.
func (m *PortMask) Set(port int) { m[port>>6] |= 1 << (port & 63) }

// Position is the part of the set that the multicast forwarding table has at a
// position: ports 16*pos to 16*pos+15 (IBTA Vol 1 §14.2.5.10). Pos is 0 to 15.
func (m *PortMask) Position(pos int) uint16 { return uint16(m[pos>>2] >> (pos & 3 * 16)) }

// Tree is how a group is forwarded.
type Tree struct {
	MLID  uint16
	Root  int // index of a switch; None: no member is at a switch
	Ports []SwitchPorts
	// Lost are members that the root has no way to.
	Lost []Member
}

// SwitchPorts is the entry of one switch for a group: a packet goes out of all
// its ports but the one that it came in by.
type SwitchPorts struct {
	Switch int // index
	Mask   PortMask
}

// Multicast makes a tree for each group, in their order. The root is the switch
// with the fewest hops to the members on average, as opensm has it, of equals
// the one with the lowest GUID; the tree joins the root with the members by
// shortest paths, and a switch hangs on the first that reached it. The error
// names a group whose MLID or members do not exist.
func Multicast(s *Subnet, groups []Group) ([]Tree, error) {
	m := &mcast{s: s, g: newGraph(s)}
	m.init()
	l := make([]Tree, 0, len(groups))
	for i := range groups {
		if err := m.valid(&groups[i]); err != nil {
			return nil, err
		}
		l = append(l, m.tree(&groups[i]))
	}
	return l, nil
}

func (m *mcast) valid(g *Group) error {
	if g.MLID < 0xc000 || g.MLID == 0xffff {
		return fmt.Errorf("%w: 0x%x is not a multicast LID", ErrLIDs, g.MLID)
	}
	for _, l := range [][]Member{g.Members, g.Senders} {
		for _, x := range l {
			if x.End >= 0 && int(x.End) >= len(m.s.Ends) || x.End < 0 && (x.Switch < 0 || int(x.Switch) >= m.g.n) {
				return fmt.Errorf("group 0x%x: no such member: end %d, switch %d", g.MLID, x.End, x.Switch)
			}
		}
	}
	return nil
}
