package hca

import (
	"encoding/binary"

	"cnuas/hca/transport"
	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

// Receive takes ownership of a RoCE frame that has arrived at the port.
// Everything in it is hostile.
func (d *Device) Receive(f *frame.Frame) {
	d.enter()
	d.receive(f)
	d.leave()
}

func (d *Device) receive(f *frame.Frame) {
	d.ctr.RxFrames++
	d.ctr.RxBytes += uint64(f.Len)
	if !d.dispatch(f) {
		d.pool.Put(f)
	}
}

func (d *Device) drop(r DropReason) bool {
	d.ctr.Dropped[r]++
	return false
}

// packet is what has been found in a frame: where its headers are, and its
// body: extension headers, and the payload if that is not apart.
type packet struct {
	bth, body []byte
	pad       int
	l3        int // offset of the IP header, or of the GRH; 0: there is none
}

// dispatch checks the packet as far as it does not depend on the queue pair's
// course (IBTA vol. 1 §9.6.1) and hands it to requester or responder. It
// reports whether the frame was kept.
func (d *Device) dispatch(f *frame.Frame) (held bool) {
	var k packet
	if d.ib != nil {
		if r, ok := k.findIB(f); !ok {
			return d.drop(r)
		}
	} else if r, ok := k.find(f); !ok {
		return d.drop(r)
	}
	bth, body, pad := k.bth, k.body, k.pad
	if bth[1]&15 != 0 { // transport header version
		return d.drop(DropMalformed)
	}
	if d.ib == nil && be.Uint16(bth[2:])&0x7fff != wire.DefaultPKey&0x7fff {
		return d.drop(DropPKey)
	}
	num := be.Uint32(bth[4:]) & transport.PSNMask
	if num == multicastQPN {
		p := request{op: transport.DatagramOps[bth[0]&31]}
		if wire.Opcode(bth[0]).Service() != wire.ServiceUD || !p.parse(f, bth, body, pad) {
			return d.drop(DropMalformed)
		}
		return d.settled(d.multicast(&p, f, &k), f)
	}
	if num == wire.QP1 && d.ib == nil {
		return d.onMAD(f, &k)
	}
	q := d.qps.find(num)
	if q == nil {
		return d.drop(DropNoQP)
	}
	if d.ib != nil && !d.checkPKey(q, f, bth) {
		return d.drop(DropPKey)
	}
	if s := q.attr.State; s < RTR || s > SQE {
		return d.drop(DropQPState)
	}
	if d.ib != nil {
		if !d.addressed(q, f, k.l3) {
			return d.drop(DropAddress)
		}
	} else if q.typ == UD {
		if !d.hasGID(destinationGID(f.Data, k.l3)) {
			return d.drop(DropAddress)
		}
	} else if !q.fromPeer(f.Data, k.l3) {
		return d.drop(DropAddress)
	}
	if wire.Opcode(bth[0]) == wire.CNP {
		q.onCNP()
		return false
	}
	var p request
	if code := wire.Opcode(bth[0]); code.Service() == q.service.code {
		p.op, p.code = q.service.ops[code.Operation()], code
	}
	if p.op.Kind == 0 {
		return d.drop(DropOpcode)
	}
	if !p.parse(f, bth, body, pad) {
		return d.drop(DropMalformed)
	}
	if d.ib == nil && ecn(f.Data, k.l3) || d.ib != nil && wire.BTH(bth).FECN() {
		q.onMark()
	}
	if q.kernel != nil {
		q.kernel.deliver(&p, f, k.l3)
		return false
	}
	if q.typ == UD {
		return d.settled(q.onDatagram(&p, f, d.networkHeader(f, k.l3)), f)
	}
	if p.op.Kind&transport.Request != 0 {
		return d.settled(q.onRequest(&p), f)
	}
	if q.attr.State == RTR {
		return d.drop(DropQPState)
	}
	switch {
	case p.op.Kind&transport.Ack != 0:
		if !q.onAck(p.psn, wire.AETH(p.head)) {
			d.ctr.Dropped[DropStale]++
		}
		return false
	case p.op.Kind&transport.AtomicAck != 0:
		held = q.onAtomicAck(p.psn, p.head)
	default:
		held = q.onReadResponse(p.op.Kind, p.psn, p.head, p.pay)
	}
	return d.settled(held, f)
}

// find looks for the packet in a RoCEv2 frame.
func (k *packet) find(f *frame.Frame) (r DropReason, ok bool) {
	if !f.Parse() {
		return DropMalformed, false
	}
	l := &f.Meta.Layers
	b, l3, l4 := f.Data, int(l.L3), int(l.L4)
	const fixed = wire.UDPLen + wire.BTHLen
	if !l.RoCE || l4 <= l3 || len(b) < l4+fixed {
		return DropMalformed, false
	}
	k.l3, k.bth = l3, b[l4+wire.UDPLen:l4+fixed]
	k.pad = int(k.bth[1] >> 4 & 3)
	udp := int(be.Uint16(b[l4+4:]))
	if f.Meta.ICRCDeferred {
		if k.pad != int(f.Meta.Pad) || udp != len(b)-l4+len(f.Pay)+k.pad+wire.ICRCLen {
			return DropMalformed, false
		}
		k.body = b[l4+fixed:]
		return 0, true
	}
	end := l4 + udp - wire.ICRCLen
	if len(f.Pay) != 0 || end < l4+fixed+k.pad || end+wire.ICRCLen > len(b) {
		return DropMalformed, false
	}
	if wire.ICRC(b[:end], l3) != binary.LittleEndian.Uint32(b[end:]) {
		return DropICRC, false
	}
	if l.EtherType == wire.EtherTypeIPv4 && !validIPv4(b[l3:l4], l4-l3+udp) {
		return DropMalformed, false
	}
	k.body = b[l4+fixed : end-k.pad]
	return 0, true
}

// parse separates headers and payload of a packet whose opcode is known, and
// reports whether they can be what they are said to be.
func (p *request) parse(f *frame.Frame, bth, body []byte, pad int) bool {
	if p.op.Kind == 0 || len(body) < int(p.op.Ext) {
		return false
	}
	p.head, p.pay = body[:p.op.Ext], body[p.op.Ext:]
	if len(f.Pay) > 0 {
		if len(p.pay) > 0 {
			return false
		}
		p.pay = f.Pay
	}
	psn := be.Uint32(bth[8:])
	p.psn, p.ackReq, p.solicited = psn&transport.PSNMask, psn&ackReq != 0, bth[1]&solicited != 0
	return len(p.pay)+pad == 0 || p.op.Kind&transport.Payload != 0 && (len(p.pay)+pad)&3 == 0
}

// validIPv4 checks total length and header checksum of a packet from outside.
func validIPv4(h []byte, total int) bool {
	sum := uint32(0)
	for i := 0; i+1 < len(h); i += 2 {
		sum += uint32(be.Uint16(h[i:]))
	}
	sum = sum&0xffff + sum>>16
	sum = sum&0xffff + sum>>16
	return sum == 0xffff && int(be.Uint16(h[2:])) == total
}

// settled keeps a frame whose bytes wait to be written.
func (d *Device) settled(held bool, f *frame.Frame) bool {
	if held {
		d.hold(f)
	}
	return held
}

// fromPeer tells whether the IP addresses are those of the connection.
func (q *QP) fromPeer(b []byte, l3 int) bool {
	t := &q.head
	if t.layers.EtherType == wire.EtherTypeIPv4 {
		return b[l3]>>4 == 4 && binary.NativeEndian.Uint64(b[l3+12:]) == binary.NativeEndian.Uint64(t.peer[:])
	}
	return b[l3]>>4 == 6 && string(b[l3+8:l3+40]) == string(t.peer[:])
}
