package ipoib

import (
	"net/netip"

	"cnuas/hca"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// ResolveIP finds the GID of the port that has an IP address, as rdma_cm asks
// for it. done is called once, within the call if the answer is known. Errors:
// ErrInvalid, ErrDown, ErrUnreachable.
func (i *Interface) ResolveIP(ip netip.Addr, done func(hca.GID, error)) {
	ip = ip.Unmap().WithZone("")
	switch {
	case !ip.IsValid() || ip.IsMulticast() || ip.IsUnspecified() || ip.IsLoopback() || i.isBroadcast(ip):
		done(hca.GID{}, ErrInvalid)
		return
	case i.own(ip):
		done(i.GID(), nil)
		return
	case !i.running:
		done(hca.GID{}, ErrDown)
		return
	}
	n := i.neighbour(ip)
	switch {
	case n == nil || n.state == failed:
		done(hca.GID{}, ErrUnreachable)
	case n.state == incomplete:
		n.waiters = append(n.waiters, func(a Addr, err error) { done(a.GID(), err) })
		n.resolve()
	default:
		done(n.addr.GID(), nil)
	}
}

// PathTo finds the path to a port. done is called once, within the call if the
// path is known; the record is valid during the call. Errors: ErrDown,
// ErrNoPath, ErrNoAnswer.
func (i *Interface) PathTo(gid hca.GID, done func(*mad.PathRecord, error)) {
	if !i.running {
		done(nil, ErrDown)
		return
	}
	p := i.path(gid)
	switch {
	case p == nil:
		done(nil, ErrNoPath)
	case p.known:
		p.used = true
		done(&p.rec, nil)
	case !p.asking:
		done(nil, ErrNoPath) // refused a moment ago
	default:
		p.waiters = append(p.waiters, done)
	}
}

// Broadcast is the broadcast group's record, by which groups of applications
// are made (RFC 4391 §5): Q_Key, MTU, rate, SL.
func (i *Interface) Broadcast() (rec mad.MCMemberRecord, ok bool) {
	return i.broadcast.rec, i.broadcast.joined
}

// MLID is that of the broadcast group; 0 when it is not joined.
func (i *Interface) MLID() wire.LID {
	if !i.broadcast.joined {
		return 0
	}
	return i.broadcast.rec.MLID
}
