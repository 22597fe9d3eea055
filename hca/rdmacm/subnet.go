package rdmacm

import (
	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/hca/cm"
	"cnuas/internal/ipoib"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// pathFields are where the fields of a PathRecord lie; which of them a query
// states, as cma_query_ib_route of Linux does.
var (
	pathFields = mad.Fields(&mad.PathRecord{})
	pathMask   = mad.Component(pathFields, "ServiceID", "DGID", "SGID", "PKey", "NumbPath", "Reversible")
)

// pkey of the identifier's partition: that of the IP interface.
func (d *device) pkey() uint16 {
	if d.roce() {
		return wire.DefaultPKey
	}
	if d.IP != nil {
		if r, ok := d.IP.Broadcast(); ok {
			return r.PKey | 0x8000
		}
	}
	for _, k := range d.HCA.PKeys() {
		if k != 0 {
			return k
		}
	}
	return wire.DefaultPKey
}

// queryPath asks subnet administration for the path to the destination.
func (i *id) queryPath() error {
	d := i.dev
	q := mad.PathRecord{
		ServiceID: i.serviceID(&i.dst), DGID: wire.GID(i.path.DGID), SGID: wire.GID(i.path.SGID), PKey: d.pkey(), NumbPath: 1, Reversible: true,
	}
	i.state = stateRouteQuery
	d.sa.Ask(&ipoib.Query{Method: mad.MethodGet, Attr: mad.AttrPathRecord, Mask: pathMask, Record: &q}, func(a *ipoib.Answer) {
		var r mad.PathRecord
		switch {
		case i.state != stateRouteQuery:
		case a.Err != nil:
			i.routeError(unix.ETIMEDOUT)
		case a.Status != 0 || !mad.Decode(&r, a.Record):
			i.routeError(unix.EHOSTUNREACH)
		default:
			i.pathFound(&r)
		}
	})
	return nil
}

func (i *id) routeError(e unix.Errno) {
	i.state = stateAddrResolved
	i.post(evRouteError, -int32(e), nil)
}

// setPath takes over a PathRecord.
func (i *id) setPath(r *mad.PathRecord) bool {
	p := cm.Path{
		SGID: i.path.SGID, DGID: hca.GID(r.DGID), SGIDIndex: i.sgidIndex, FlowLabel: r.FlowLabel, TrafficClass: r.TClass, HopLimit: r.HopLimit,
		PKey: r.PKey, MTU: r.MTU, Rate: r.Rate, Lifetime: r.PacketLifeTime, SLID: r.SLID, DLID: r.DLID, SL: r.SL, Global: r.HopLimit > 1,
		PathBits: uint8(r.SLID & (1<<i.dev.HCA.IB().LMC() - 1)),
	}
	for k, x := range i.dev.HCA.PKeys() {
		if x != 0 && x&0x7fff == r.PKey&0x7fff {
			p.PKeyIndex = uint16(k)
			i.path = p
			return true
		}
	}
	return false
}

// pathFound is called when the path is known.
func (i *id) pathFound(r *mad.PathRecord) {
	if !i.setPath(r) {
		i.routeError(unix.EINVAL)
		return
	}
	if i.ackTimeout > 0 {
		i.path.Lifetime = mad.Timeout(i.ackTimeout - 1)
	}
	i.state = stateRouteResolved
	i.post(evRouteResolved, 0, nil)
}
