package rdmacm

import (
	"slices"

	"golang.org/x/sys/unix"

	"cnuas/hca"
)

// member is a membership of an identifier in a multicast group.
type member struct {
	id       *id
	handle   uint32
	uid      uint64
	addr     address
	sendOnly bool
	reported uint32

	// InfiniBand.
	key     groupKey
	port    hca.GID
	counted bool // in the device's members
}

// joinIP is struct rdma_ucm_join_ip_mcast: 0 response  8 uid  16 addr  44 id.
func joinIP(c *command) error {
	i, err := c.id(44)
	if err != nil {
		return err
	}
	a, err := parseAddress(c.in[16:44])
	if err != nil {
		return err
	}
	return i.join(c, a, false)
}

// join is struct rdma_ucm_join_mcast: 0 response  8 uid  16 id  20 addr_size
// 22 join_flags  24 addr.
func join(c *command) error {
	i, err := c.id(16)
	if err != nil {
		return err
	}
	a, err := sized(c.in[24:], le.Uint16(c.in[20:]))
	flags := le.Uint16(c.in[22:])
	if err != nil || flags > 1 {
		return unix.EINVAL
	}
	return i.join(c, a, flags == 1)
}

// join begins to make the identifier a member. An event tells the end.
func (i *id) join(c *command, a address, sendOnly bool) error {
	if err := c.busy(); err != nil {
		return err
	}
	if i.rc() || i.dev == nil || i.state != stateAddrBound && i.state != stateAddrResolved {
		return unix.EINVAL
	}
	if a.family == 0 || a.family != afIB && !a.ip.IsMulticast() && !a.any() {
		return unix.EINVAL
	}
	if i.dev.roce() && (a.family == afIB || a.any()) {
		return unix.EINVAL
	}
	if len(i.groups) >= i.svc.cfg.Limits.Groups {
		return unix.ENOMEM
	}
	m := &member{id: i, uid: le.Uint64(c.in[8:]), addr: a, sendOnly: sendOnly}
	h, ok := i.svc.groups.add(m)
	if !ok {
		return unix.ENOMEM
	}
	m.handle = h
	i.groups = append(i.groups, m)
	c.answer = le.AppendUint32(nil, h)
	c.undo = m.leave
	if i.dev.roce() {
		m.joined(&hca.AddressVector{
			DGID: gidOf(a.ip), SGIDIndex: i.sgidIndex, HopLimit: groupHopLimit, TrafficClass: i.tos, Global: true,
		}, i.dataQKey())
		return nil
	}
	m.joinIB()
	return nil
}

// groupHopLimit of packets to a group: they stay in the subnet, as IP's do.
const groupHopLimit = 1

// multicastQPN is the queue pair number of packets to a group.
const multicastQPN = 0xffffff

// joined tells the program that it is a member.
func (m *member) joined(av *hca.AddressVector, qkey uint32) {
	m.post(evMulticastJoin, 0, func(b []byte) { udParam(b, multicastQPN, qkey, av, nil) })
}

func (m *member) post(kind, status int32, fill func([]byte)) {
	e := &event{owner: m.id, group: m}
	e.head(m.uid, m.handle, kind, status)
	if fill != nil {
		fill(e.resp[eventParam:])
	}
	m.id.file.deliver(e)
}

// leaveGroup is struct rdma_ucm_destroy_id: 0 response  8 id, of the membership.
func leaveGroup(c *command) error {
	m, ok := c.f.svc.groups.get(le.Uint32(c.in[8:]))
	switch {
	case !ok:
		return unix.ENOENT
	case m.id.file != c.f:
		return unix.EINVAL
	}
	m.leave()
	c.answer = le.AppendUint32(nil, m.reported)
	return nil
}

// leave ends the membership and forgets its events.
func (m *member) leave() {
	i := m.id
	k := slices.Index(i.groups, m)
	if k < 0 {
		return
	}
	i.groups = slices.Delete(i.groups, k, k+1)
	i.svc.groups.remove(m.handle)
	i.file.dropEvents(func(e *event) bool { return e.group == m })
	if !i.dev.roce() {
		m.leaveIB()
	}
}
