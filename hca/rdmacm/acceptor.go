package rdmacm

import (
	"cnuas/hca"
	"cnuas/hca/cm"
	"cnuas/internal/wire/mad"
)

// acceptor takes the requests that come to a device.
type acceptor struct {
	s *Service
	d *device
}

// Request implements cm.Listener: it makes the identifier of a new connection,
// and an event for the program that listens.
func (a *acceptor) Request(c *cm.Conn, r *cm.Request) cm.Verdict {
	s := a.s
	var h *cm.IPHeader
	space, port, ok := cm.SplitServiceID(r.ServiceID)
	if ok && space != spaceIB {
		var x cm.IPHeader
		if x.Decode(r.Params.PrivateData) {
			h = &x
		}
	}
	l := s.listener(a.d, r.ServiceID, h)
	if l == nil || l.rc() == r.Datagram || l.rc() && l.typ != r.Params.Type {
		return cm.Verdict(mad.RejectInvalidServiceID)
	}
	if l.backlog <= 0 {
		return cm.Ignore // the peer asks again
	}
	i, err := s.newID(l.file, 0, l.space, l.typ)
	if err != nil {
		return cm.Verdict(mad.RejectNoResources)
	}
	i.dev, i.path, i.conn, i.state, i.passive = a.d, *c.Path(), c, stateConnect, true
	i.sgidIndex, i.tos, i.qkey = i.path.SGIDIndex, l.tos, l.qkey
	data := r.Params.PrivateData
	if h != nil && l.src.family != afIB {
		i.src, i.dst = ipAddress(h.Dst, port), ipAddress(h.Src, h.Port)
		data = data[cm.IPHeaderLen:]
	} else {
		i.src = address{family: afIB, gid: i.path.SGID, pkey: i.path.PKey, sid: r.ServiceID, mask: ^uint64(0), port: port}
		i.dst = address{family: afIB, gid: i.path.DGID, pkey: i.path.PKey}
	}
	c.SetHandler(i)
	c.Delay()
	e := &event{owner: l, request: i}
	e.head(l.uid, i.handle, evConnectRequest, 0)
	if i.rc() {
		connParam(e.resp[eventParam:], &r.Params, data)
	} else {
		udParam(e.resp[eventParam:], 0, 0, (*hca.AddressVector)(nil), data)
	}
	l.backlog--
	l.file.deliver(e)
	return cm.Pending
}
