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

// Attach has a UD queue pair receive what is sent to a group. To attach it
// again changes nothing.
func (q *QP) Attach(g GID) error {
	d := q.ctx.dev
	if q.gone || q.typ != UD || !g.IsMulticast() {
		return ErrInvalid
	}
	for _, x := range q.groups {
		if x == g {
			return nil
		}
	}
	list, ok := d.groups[g]
	if d.nAttached >= MaxAttached || len(list) >= MaxPerGroup || !ok && len(d.groups) >= MaxGroups {
		return ErrNoMemory
	}
	d.nAttached++
	d.groups[g] = append(list, q)
	q.groups = append(q.groups, g)
	return nil
}

// Detach ends what Attach began.
func (q *QP) Detach(g GID) error {
	for _, x := range q.groups {
		if x == g {
			q.leave(g)
			return nil
		}
	}
	return ErrInvalid
}

func (q *QP) leave(g GID) {
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
	if len(d.groups[t.dgid]) > 0 && d.loop.echoes.Len() < maxEchoes {
		d.loop.echoes.Push(d.pool.Clone(f))
		d.loop.start(d)
	}
}

// multicast hands a datagram to every queue pair that is attached to its group,
// each with a copy of its own.
func (d *Device) multicast(p *request, f *frame.Frame, k *packet) (held bool) {
	if d.ib != nil && k.l3 == 0 {
		return d.drop(DropMalformed) // every multicast has a GRH (IBTA vol. 1 §10.5.1)
	}
	list := d.groups[destinationGID(f.Data, k.l3)]
	if len(list) == 0 {
		return d.drop(DropNoQP)
	}
	from := uint32(0)
	if d.loop.echoing {
		from = wire.DETH(p.head).SrcQP()
	}
	var grh []byte
	for _, q := range list {
		if s := q.attr.State; s < RTR || s > SQE {
			d.drop(DropQPState)
		} else if d.ib != nil && !d.checkPKey(q, f, k.bth) {
			d.drop(DropPKey)
		} else if !q.block || q.num != from {
			if grh == nil {
				grh = d.networkHeader(f, k.l3)
			}
			held = q.onDatagram(p, f, grh) || held
		}
	}
	return held
}
