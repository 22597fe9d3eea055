package hca

import (
	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

// Read IBTA vol. 1 §10.5 before editing; for the addresses, annex A17.9.1.

// multicastQPN is the destination of a datagram to a group (IBTA vol. 1
// §10.5.1).
const multicastQPN = 0xffffff

// IsMulticast tells whether the GID names a group: of IPv6, or of IPv4 mapped.
func (g *GID) IsMulticast() bool {
	return g[0] == 0xff || g.isV4() && g[12]>>4 == 14
}

// multicastMAC is the Ethernet address of a group (RFC 1112 §6.4, RFC 2464 §7).
func (g *GID) multicastMAC() [6]byte {
	if g.isV4() {
		return [6]byte{0x01, 0x00, 0x5e, g[13] & 0x7f, g[14], g[15]}
	}
	return wire.MulticastMAC(*g)
}

// group is what a queue pair is attached to. RoCE has no LIDs.
type group struct {
	gid  GID
	mlid wire.LID
}

// group checks the name of a group: with InfiniBand it is the MGID with the
// MLID that the subnet manager gave it, RoCE ignores mlid.
func (d *Device) group(g GID, mlid wire.LID) (group, bool) {
	if d.ib == nil {
		return group{gid: g}, g.IsMulticast()
	}
	return group{g, mlid}, g[0] == 0xff && mlid.Multicast()
}

// Attach has a UD queue pair receive what is sent to a group. To attach it
// again changes nothing. ErrInvalid: there can be no such group.
func (q *QP) Attach(g GID, mlid wire.LID) error {
	d := q.ctx.dev
	at, ok := d.group(g, mlid)
	if q.gone || q.typ != UD || !ok {
		return ErrInvalid
	}
	for _, x := range q.groups {
		if x == at {
			return nil
		}
	}
	list, ok := d.groups[at]
	if d.nAttached >= MaxAttached || len(list) >= MaxPerGroup || !ok && len(d.groups) >= MaxGroups {
		return ErrNoMemory
	}
	d.nAttached++
	list = append(list, q)
	if q.kernel != nil { // looks at headers of which the others' header area is made
		copy(list[1:], list)
		list[0] = q
	}
	d.groups[at] = list
	q.groups = append(q.groups, at)
	return nil
}

// Detach ends what Attach began.
func (q *QP) Detach(g GID, mlid wire.LID) error {
	at, _ := q.ctx.dev.group(g, mlid)
	for _, x := range q.groups {
		if x == at {
			q.leave(at)
			return nil
		}
	}
	return ErrInvalid
}

func (q *QP) leave(g group) {
	d := q.ctx.dev
	drop(&q.groups, g)
	list := d.groups[g]
	drop(&list, q)
	d.nAttached--
	if len(list) == 0 {
		delete(d.groups, g)
	} else {
		d.groups[g] = list
	}
}

// maxEchoes bounds the copies that wait for the loopback.
const maxEchoes = 1024

// echo has a multicast come back to the queue pairs of this device, which the
// wire does not do.
func (d *Device) echo(f *frame.Frame, t *destination) {
	if len(d.groups[group{t.dgid, t.head.ib.DLID}]) > 0 && d.loop.echoes.Len() < maxEchoes {
		d.loop.echoes.Push(d.pool.Clone(f))
		d.loop.start(d)
	}
}

// multicast hands a datagram to every queue pair that is attached to its group,
// each with a copy of its own.
func (d *Device) multicast(p *request, f *frame.Frame, k *packet) (held bool) {
	to := group{mlid: f.Meta.IB.DLID}
	if d.ib != nil && (k.l3 == 0 || !to.mlid.Multicast()) {
		return d.drop(DropMalformed) // each has a GRH (IBTA vol. 1 §10.5.1)
	}
	to.gid = destinationGID(f.Data, k.l3)
	list := d.groups[to]
	if len(list) == 0 {
		return d.drop(DropNoQP)
	}
	from := uint32(0)
	if d.loop.echoing {
		from = wire.DETH(p.head).SrcQP()
	}
	var grh []byte
	for _, q := range list {
		if q == nil {
			continue // one before has left
		}
		if s := q.attr.State; s < RTR || s > SQE {
			d.drop(DropQPState)
		} else if q.block && q.num == from {
			continue
		} else if d.ib != nil && !d.checkPKey(q, f, k.bth) {
			d.drop(DropPKey)
		} else if q.kernel != nil {
			q.kernel.deliver(p, f, k.l3)
		} else {
			if grh == nil {
				grh = d.networkHeader(f, k.l3)
			}
			held = q.onDatagram(p, f, grh) || held
		}
	}
	return held
}
