package rdmacm

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/hca/cm"
	"cnuas/internal/wire/mad"
)

// resolveIP is struct rdma_ucm_resolve_ip: 0 src_addr  28 dst_addr  56 id
// 60 timeout_ms.
func resolveIP(c *command) error {
	i, err := c.id(56)
	if err != nil {
		return err
	}
	src, err1 := parseAddress(c.in[0:28])
	dst, err2 := parseAddress(c.in[28:56])
	if err1 != nil || err2 != nil {
		return unix.EINVAL
	}
	return i.resolve(c, src, dst, le.Uint32(c.in[60:]))
}

// resolveAddr is struct rdma_ucm_resolve_addr: 0 id  4 timeout_ms  8 src_size
// 10 dst_size  12 reserved  16 src_addr  144 dst_addr.
func resolveAddr(c *command) error {
	i, err := c.id(0)
	if err != nil {
		return err
	}
	src := address{}
	if n := le.Uint16(c.in[8:]); n != 0 {
		if src, err = sized(c.in[16:], n); err != nil {
			return err
		}
	}
	dst, err := sized(c.in[144:], le.Uint16(c.in[10:]))
	if err != nil || le.Uint32(c.in[12:]) != 0 {
		return unix.EINVAL
	}
	return i.resolve(c, src, dst, le.Uint32(c.in[4:]))
}

// maxLookUp bounds the time that a program may give a look-up.
const maxLookUp = 60 * time.Second

// resolve begins to look for the destination. An event tells the end.
func (i *id) resolve(c *command, src, dst address, ms uint32) error {
	if err := c.busy(); err != nil {
		return err
	}
	if dst.any() || src.family != 0 && src.family != dst.family {
		return unix.EINVAL
	}
	if i.state == stateIdle {
		if src.family == 0 {
			src = anyOf(dst.family)
		}
		if err := i.bind(src); err != nil {
			return err
		}
	}
	if i.state != stateAddrBound || i.src.family != dst.family {
		return unix.EINVAL
	}
	i.dst = dst
	if dst.family == afIB {
		return i.resolveGID()
	}
	i.state = stateAddrQuery
	i.svc.lookUp(i, time.Duration(ms)*time.Millisecond)
	return nil
}

// resolveGID needs no look-up: the address is one of the fabric.
func (i *id) resolveGID() error {
	if i.dev == nil {
		for _, d := range i.svc.devs {
			if !d.roce() && d.HCA.Up() {
				i.dev, i.sgidIndex = d, 0
				break
			}
		}
	}
	if i.dev == nil {
		return unix.ENODEV
	}
	i.src.gid = i.dev.HCA.GIDs()[i.sgidIndex].GID
	i.addressed(i.dst.gid)
	return nil
}

// lookUp asks the node for the way to the destination.
func (s *Service) lookUp(i *id, limit time.Duration) {
	if limit <= 0 || limit > maxLookUp {
		limit = maxLookUp
	}
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	i.look = cancel
	dst, src := i.dst.ip, netip.Addr{}
	if !i.src.any() {
		src = i.src.ip
	}
	s.wait.Go(func() {
		defer cancel()
		var r Route
		var err error
		select {
		case s.slots <- struct{}{}:
			r, err = s.cfg.Route(ctx, dst, src)
			<-s.slots
		case <-ctx.Done():
			err = unix.ETIMEDOUT
		}
		s.cfg.Do(func() {
			if i.state == stateAddrQuery {
				i.look = nil
				i.found(r, err)
			}
		})
	})
}

// found takes over what the node's tables say.
func (i *id) found(r Route, err error) {
	s := i.svc
	if err == nil && (r.Dev < 0 || r.Dev >= len(s.devs)) {
		err = unix.ENODEV
	}
	var d *device
	if err == nil {
		d = s.devs[r.Dev]
		if d.roce() {
			index, ok := d.gidIndex(gidOf(r.Src))
			if !ok {
				err = unix.EADDRNOTAVAIL
			}
			i.sgidIndex = index
		} else if i.sgidIndex = 0; d.IP == nil {
			err = unix.ENODEV
		}
	}
	if err != nil {
		i.addressError(err)
		return
	}
	i.dev, i.pathBy = d, r.MAC
	if i.src.any() {
		i.src.ip = r.Src
	}
	switch {
	case d.roce():
		i.addressed(gidOf(i.dst.ip))
	case i.dst.ip.IsMulticast():
		i.addressed(hca.GID{}) // the group's GID comes when it is joined
	default:
		d.IP.ResolveIP(r.Hop, func(g hca.GID, err error) {
			switch {
			case i.state != stateAddrQuery:
			case err != nil:
				i.addressError(err)
			default:
				i.addressed(g)
			}
		})
	}
}

// addressError ends a search for an address. The program may try again.
func (i *id) addressError(err error) {
	e := errno(err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e = unix.ETIMEDOUT
	case e == unix.EIO:
		e = unix.EHOSTUNREACH
	}
	i.state = stateAddrBound
	i.post(evAddrError, -int32(e), nil)
}

// lifetime is the packet lifetime of RoCE paths: 67 ms. Nobody tells.
const lifetime mad.Timeout = 14

// hopLimit of RoCE packets, as the kernel's IP has it.
const hopLimit = 64

// addressed is called when the destination's GID is known.
func (i *id) addressed(dgid hca.GID) {
	d := i.dev
	i.path = cm.Path{
		SGID: d.HCA.GIDs()[i.sgidIndex].GID, DGID: dgid, SGIDIndex: i.sgidIndex, PKey: d.pkey(),
		MTU: mad.MTU(d.HCA.ActiveMTU()), Rate: rateOf(d.Rate), Lifetime: lifetime,
	}
	if d.roce() {
		i.path.Global, i.path.HopLimit, i.path.TrafficClass, i.path.MAC = true, hopLimit, i.tos, i.pathBy
	}
	i.state = stateAddrResolved
	i.post(evAddrResolved, 0, nil)
}

// rateOf is the code of the largest rate that is not above bps, or the least.
func rateOf(bps int64) mad.Rate {
	r := mad.Rate2_5G
	for _, x := range []struct {
		bps int64
		r   mad.Rate
	}{{5e9, mad.Rate5G}, {10e9, mad.Rate10G}, {20e9, mad.Rate20G}, {40e9, mad.Rate40G}, {56e9, mad.Rate56G},
		{100e9, mad.Rate100G}, {200e9, mad.Rate200G}, {400e9, mad.Rate400G}} {
		if bps >= x.bps {
			r = x.r
		}
	}
	return r
}

// resolveRoute is struct rdma_ucm_resolve_route: 0 id  4 timeout_ms.
func resolveRoute(c *command) error {
	i, err := c.id(0)
	if err != nil {
		return err
	}
	if err := c.busy(); err != nil {
		return err
	}
	if i.state != stateAddrResolved {
		return unix.EINVAL
	}
	if !i.dev.roce() {
		return i.queryPath()
	}
	i.path.TrafficClass = i.tos
	if i.ackTimeout > 0 {
		i.path.Lifetime = mad.Timeout(i.ackTimeout - 1)
	}
	i.state = stateRouteResolved
	i.post(evRouteResolved, 0, nil)
	return nil
}
