package rdmacm

import (
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/internal/ipoib"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Which fields of a MCMemberRecord joining and leaving state, as
// cma_join_ib_multicast of Linux does.
var (
	memberFields = mad.Fields(&mad.MCMemberRecord{})
	joinMask     = mad.Component(memberFields, "MGID", "PortGID", "PKey", "JoinState", "QKey", "SL", "FlowLabel", "TClass")
	leaveMask    = mad.Component(memberFields, "MGID", "PortGID", "JoinState")
)

// groupKey is a membership of a port: subnet administration knows one of each
// kind, however many identifiers share it.
type groupKey struct {
	gid  hca.GID
	kind mad.JoinState
}

// cmSignature takes the place of IPoIB's in the groups of datagram services: 40
// and 60 of 401b and 601b stay.
const cmSignature = 0x01

// mgid is the group of an address.
func (m *member) mgid() hca.GID {
	a, i := &m.addr, m.id
	switch {
	case a.family == afIB:
		return a.gid
	case a.ip.IsUnspecified(): // any group: subnet administration chooses
		return hca.GID{}
	}
	if b := a.ip.As16(); a.ip.Is6() && b[0] == 0xff && b[1]&0xf0 == 0x10 && b[2] == 0xa0 && b[3] == 0x1b {
		return b // a group that subnet administration has named
	}
	g := ipoib.MulticastGID(a.ip, i.dev.pkey())
	if i.space == spaceUDP {
		g[3] = cmSignature
	}
	return g
}

// joinIB asks subnet administration for the membership.
func (m *member) joinIB() {
	i, d := m.id, m.id.dev
	m.key = groupKey{m.mgid(), mad.JoinFull}
	if m.sendOnly {
		m.key.kind = mad.JoinSendOnly
	}
	r := mad.MCMemberRecord{MGID: wire.GID(m.key.gid), PortGID: wire.GID(d.HCA.GIDs()[i.sgidIndex].GID), PKey: d.pkey(), JoinState: m.key.kind, QKey: i.dataQKey()}
	if d.IP != nil {
		if b, ok := d.IP.Broadcast(); ok {
			r.SL, r.FlowLabel, r.TClass = b.SL, b.FlowLabel, b.TClass
			if i.space == spaceIPoIB {
				r.QKey = b.QKey
			}
		}
	}
	mask := joinMask
	if m.sendOnly { // it cannot make the group, and takes what it is
		mask = leaveMask | mad.Component(memberFields, "PKey")
	}
	m.port = hca.GID(r.PortGID)
	d.members[m.key]++
	m.counted = true
	d.sa.Ask(&ipoib.Query{Method: mad.MethodSet, Attr: mad.AttrMCMemberRecord, Mask: mask, Record: &r}, func(a *ipoib.Answer) {
		if !slices.Contains(i.groups, m) {
			return // left meanwhile
		}
		var r mad.MCMemberRecord
		switch {
		case a.Err != nil:
			m.failed(unix.ETIMEDOUT)
		case a.Status != 0 || !mad.Decode(&r, a.Record) || !r.MLID.Multicast():
			m.failed(unix.EINVAL)
		default:
			if m.key.gid == (hca.GID{}) {
				m.rename(hca.GID(r.MGID))
			}
			m.joined(&hca.AddressVector{
				DGID: hca.GID(r.MGID), DLID: r.MLID, SL: r.SL, FlowLabel: r.FlowLabel, TrafficClass: r.TClass, HopLimit: r.HopLimit,
				SGIDIndex: i.sgidIndex, Global: true,
			}, r.QKey)
		}
	})
}

// rename is for a group whose name subnet administration chose.
func (m *member) rename(g hca.GID) {
	m.uncount()
	m.key.gid = g
	m.id.dev.members[m.key]++
	m.counted = true
}

func (m *member) failed(e unix.Errno) {
	m.uncount()
	m.post(evMulticastError, -int32(e), nil)
}

// uncount reports whether this was the port's last membership of the kind.
func (m *member) uncount() bool {
	if !m.counted {
		return false
	}
	m.counted = false
	d := m.id.dev
	d.members[m.key]--
	if d.members[m.key] > 0 {
		return false
	}
	delete(d.members, m.key)
	return true
}

// leaveIB ends the port's membership with the last identifier's.
func (m *member) leaveIB() {
	if !m.uncount() || m.key.gid == (hca.GID{}) {
		return
	}
	r := mad.MCMemberRecord{MGID: wire.GID(m.key.gid), PortGID: wire.GID(m.port), JoinState: m.key.kind}
	m.id.dev.sa.Ask(&ipoib.Query{Method: mad.MethodDelete, Attr: mad.AttrMCMemberRecord, Mask: leaveMask, Record: &r}, func(*ipoib.Answer) {})
}

// subnet makes what an InfiniBand port needs besides.
func (d *device) subnet(proc *sim.Proc) (err error) {
	d.members = map[groupKey]int{}
	d.sa, err = ipoib.NewClient(d.MADs, ipoib.OnDevice(d.HCA), proc)
	return err
}

// has tells whether the device's IP interface has an address.
func (d *device) has(ip netip.Addr) bool {
	return d.IP != nil && slices.ContainsFunc(d.IP.Addrs(), func(p netip.Prefix) bool { return p.Addr() == ip.WithZone("") })
}
