package hca_test

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/verbs"
	"cnuas/internal/frame"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// peer is a scripted other side: packets in, packets out, for one queue pair
// of a device that is connected to nothing.
type peer struct {
	t    *testing.T
	e    *sim.Engine
	pool *frame.Pool
	dev  *hca.Device
	*end
	deferred bool // frames are given with a deferred ICRC
	ib       *ibEnd
}

const peerQPN = 0x99

// newPeer returns a queue pair in RTS with MTU 256, first PSNs 100 (sent) and
// 200 (expected), and a buffer of 64 KiB.
func newPeer(t *testing.T, change func(*hca.QPAttr)) *peer {
	t.Helper()
	return newPeerOf(t, hca.RC, change)
}

// newPeerOf is newPeer for any service. A UD queue pair has Q_Key 0x1234.
func newPeerOf(t *testing.T, typ hca.QPType, change func(*hca.QPAttr)) *peer {
	t.Helper()
	p := &peer{t: t, e: sim.NewEngine(1), pool: &frame.Pool{}}
	if overIB {
		p.newIBEnd()
	} else {
		p.dev = testDevice(p.e, p.pool, nil, 1, hca.Config{})
	}
	x := &end{Program: must[*verbs.Program](t)(verbs.Open(p.dev, 1<<18))}
	x.cq = must[*verbs.CQ](t)(x.NewCQ(256, nil))
	x.qp = must[*verbs.QP](t)(x.NewQPOf(verbs.QPSpec{Type: typ, Send: x.cq, Recv: x.cq, Cap: hca.QPCap{MaxSendWR: 32, MaxRecvWR: 32, MaxSendSGE: 4, MaxRecvSGE: 4, MaxInline: 64}}))
	x.buf = must[*verbs.Buffer](t)(x.Buffer(1<<16, allAccess))
	p.end = x
	if typ == hca.UD {
		if err := verbs.Datagrams(x.qp, 0x1234); err != nil {
			t.Fatal(err)
		}
		return p
	}
	a := hca.QPAttr{Port: 1, Access: allAccess, PathMTU: 1, DestQPN: peerQPN, RQPSN: 200, SQPSN: 100, Timeout: 10, RetryCnt: 2, RNRRetry: 1,
		MinRNRTimer: 12, MaxRdAtomic: 2, MaxDestRdAtomic: 2, AV: p.vector(9)}
	if change != nil {
		change(&a)
	}
	for _, s := range []struct {
		to hca.QPState
		m  hca.AttrMask
	}{{hca.Init, toInit}, {hca.RTR, toRTR}, {hca.RTS, toRTS}} {
		a.State = s.to
		if typ == hca.UC {
			s.m &^= hca.AttrMaxDestRdAtomic | hca.AttrMinRNRTimer | hca.AttrTimeout | hca.AttrRetryCnt | hca.AttrRNRRetry | hca.AttrMaxRdAtomic
		}
		if err := x.qp.Modify(&a, s.m); err != nil {
			t.Fatalf("to %v: %v", s.to, err)
		}
	}
	return p
}

const (
	toInit = hca.AttrState | hca.AttrPKeyIndex | hca.AttrPort | hca.AttrAccessFlags
	toRTR  = hca.AttrState | hca.AttrAV | hca.AttrPathMTU | hca.AttrDestQPN | hca.AttrRQPSN | hca.AttrMaxDestRdAtomic | hca.AttrMinRNRTimer
	toRTS  = hca.AttrState | hca.AttrTimeout | hca.AttrRetryCnt | hca.AttrRNRRetry | hca.AttrSQPSN | hca.AttrMaxRdAtomic
)

// pkt is a packet of the peer.
type pkt struct {
	op       wire.Opcode
	psn      uint32
	ack, se  bool
	va       uint64
	rkey     uint32
	dmaLen   uint32
	swapAdd  uint64
	compare  uint64
	syn      wire.Syndrome
	msn      uint32
	imm      uint32
	orig     uint64
	qkey     uint32
	src      uint32 // DETH: source queue pair
	dst      uint32 // 0: the queue pair under test
	pay      []byte
	ce       bool
	mangle   func(b []byte) []byte // the whole frame before it is given
	keepICRC bool
}

// frame makes the frame, in one piece with its ICRC, without FCS.
func (p *peer) frame(k pkt) []byte {
	x := k.op.Has()
	var ext []byte
	if x&wire.ExtDETH != 0 {
		h := make(wire.DETH, wire.DETHLen)
		h.Encode(k.qkey, k.src)
		ext = append(ext, h...)
	}
	if x&wire.ExtRETH != 0 {
		h := make(wire.RETH, wire.RETHLen)
		h.Encode(k.va, k.rkey, k.dmaLen)
		ext = append(ext, h...)
	}
	if x&wire.ExtAtomicETH != 0 {
		h := make(wire.AtomicETH, wire.AtomicETHLen)
		h.Encode(k.va, k.rkey, k.swapAdd, k.compare)
		ext = append(ext, h...)
	}
	if x&wire.ExtAETH != 0 {
		h := make(wire.AETH, wire.AETHLen)
		h.Encode(k.syn, k.msn)
		ext = append(ext, h...)
	}
	if x&wire.ExtAtomicAckETH != 0 {
		ext = binary.BigEndian.AppendUint64(ext, k.orig)
	}
	if x&wire.ExtImmDt != 0 {
		ext = binary.BigEndian.AppendUint32(ext, k.imm)
	}
	if x&wire.ExtCNP != 0 {
		ext = append(ext, make([]byte, 16)...)
	}
	pad := -len(k.pay) & 3
	if p.ib != nil {
		return p.ib.packet(k, ext, pad)
	}
	udp := 8 + 12 + len(ext) + len(k.pay) + pad + 4
	b := make([]byte, 54)
	copy(b, []byte{2, 0, 0, 0, 0, 1, 2, 9, 0, 0, 0, 0, 8, 0, 0x45, 2})
	if k.ce {
		b[15] = 3
	}
	binary.BigEndian.PutUint16(b[16:], uint16(20+udp))
	b[20], b[22], b[23] = 0x40, 64, 17
	copy(b[26:], []byte{10, 0, 0, 9, 10, 0, 0, 1})
	sum := uint32(0)
	for i := 14; i < 34; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	sum = sum&0xffff + sum>>16
	sum = sum&0xffff + sum>>16
	binary.BigEndian.PutUint16(b[24:], ^uint16(sum))
	binary.BigEndian.PutUint16(b[34:], 0xc123)
	binary.BigEndian.PutUint16(b[36:], 4791)
	binary.BigEndian.PutUint16(b[38:], uint16(udp))
	if k.dst == 0 {
		k.dst = p.qp.Num()
	}
	h := wire.BTHFields{Opcode: k.op, Solicited: k.se, MigReq: true, Pad: uint8(pad), PKey: 0xffff, DestQP: k.dst, AckReq: k.ack, PSN: k.psn}
	h.Encode(wire.BTH(b[42:]))
	b = append(b, ext...)
	b = append(b, k.pay...)
	b = append(b, make([]byte, pad)...)
	if k.mangle != nil && !k.keepICRC {
		b = k.mangle(b)
	}
	b = binary.LittleEndian.AppendUint32(b, wire.ICRC(b, 14))
	if k.mangle != nil && k.keepICRC {
		b = k.mangle(b)
	}
	return b
}

// in gives packets to the device.
func (p *peer) in(ks ...pkt) {
	for _, k := range ks {
		b := p.frame(k)
		f := p.pool.Get()
		if p.deferred {
			pad := -len(k.pay) & 3
			n := len(b) - 4 - pad - len(k.pay)
			copy(f.Buf(n), b)
			f.SetPayload(k.pay, nil)
			f.Meta.ICRCDeferred, f.Meta.Pad = true, uint8(pad)
		} else {
			copy(f.Buf(len(b)), b)
		}
		if p.ib != nil {
			p.ib.give(f)
			continue
		}
		f.WireLen()
		p.dev.Receive(f)
	}
}

// out takes what the device has to send and describes each packet. n bounds
// the number.
func (p *peer) out() string {
	p.t.Helper()
	if p.ib != nil {
		return p.ib.out()
	}
	var s []string
	for n := 0; n < 1000; n++ {
		m := p.dev.Ready()
		if m == 0 {
			break
		}
		f := p.dev.Next(bits.TrailingZeros8(m))
		if f == nil {
			continue
		}
		s = append(s, p.describe(f))
		p.pool.Put(f)
	}
	return strings.Join(s, "; ")
}

// describe checks the fixed parts of a frame and names the rest.
func (p *peer) describe(f *frame.Frame) string {
	b := f.AppendTo(nil)
	var l wire.Layers
	if !l.Parse(b) || !l.RoCE || l.L4 != 34 || l != f.Meta.Layers {
		p.t.Fatalf("layers %+v, stated %+v, of % x", l, f.Meta.Layers, b)
	}
	if int(f.Len) != max(len(b)+4, 64) {
		p.t.Errorf("length %d of a frame of %d bytes", f.Len, len(b))
	}
	sum := uint32(0)
	for i := 14; i < 34; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	if sum%0xffff != 0 {
		p.t.Errorf("IPv4 checksum wrong: % x", b[14:34])
	}
	if int(binary.BigEndian.Uint16(b[16:])) != len(b)-14 || int(binary.BigEndian.Uint16(b[38:])) != len(b)-34 {
		p.t.Errorf("IPv4 or UDP length wrong: % x", b[:42])
	}
	if binary.LittleEndian.Uint32(b[len(b)-4:]) != wire.ICRC(b[:len(b)-4], 14) {
		p.t.Errorf("ICRC wrong")
	}
	if l.SrcPort < 0xc000 {
		p.t.Errorf("source port %d", l.SrcPort)
	}
	return p.describeTransport(b[42:])
}

// describeTransport is describe from the BTH on.
func (p *peer) describeTransport(b []byte) string {
	h := wire.BTH(b[:12])
	if h.DestQP() != peerQPN || h.PKey() != 0xffff || !h.MigReq() {
		p.t.Errorf("BTH %+v", h.Fields())
	}
	x := h.Opcode().Has()
	ext := b[12:]
	s := strings.TrimPrefix(h.Opcode().String(), "RC ")
	s += fmt.Sprintf(" %d", h.PSN())
	if h.AckReq() {
		s += " A"
	}
	if h.Solicited() {
		s += " S"
	}
	at := func(e wire.Ext) []byte { return ext[x.Offset(e):] }
	if x&wire.ExtDETH != 0 {
		r := wire.DETH(at(wire.ExtDETH))
		s += fmt.Sprintf(" qkey=%x src=%v", r.QKey(), r.SrcQP() == p.qp.Num())
	}
	if x&wire.ExtRETH != 0 {
		r := wire.RETH(at(wire.ExtRETH))
		s += fmt.Sprintf(" va=%x key=%x len=%d", r.VA(), r.RKey(), r.DMALen())
	}
	if x&wire.ExtAtomicETH != 0 {
		r := wire.AtomicETH(at(wire.ExtAtomicETH))
		s += fmt.Sprintf(" va=%x key=%x swapadd=%d compare=%d", r.VA(), r.RKey(), r.SwapAdd(), r.Compare())
	}
	if x&wire.ExtAETH != 0 {
		r := wire.AETH(at(wire.ExtAETH))
		s += fmt.Sprintf(" [%v msn %d]", r.Syndrome(), r.MSN())
	}
	if x&wire.ExtAtomicAckETH != 0 {
		s += fmt.Sprintf(" orig=%d", wire.AtomicAckETH(at(wire.ExtAtomicAckETH)).Original())
	}
	if x&wire.ExtImmDt != 0 {
		s += fmt.Sprintf(" imm=%d", wire.ImmDt(at(wire.ExtImmDt)).Data())
	}
	if n := len(ext) - x.Len() - h.Pad() - 4; n > 0 {
		s += fmt.Sprintf(" %dB", n)
	}
	return s
}

// want compares what comes out.
func (p *peer) want(s string) {
	p.t.Helper()
	if got := p.out(); got != s {
		p.t.Errorf("sent\n\t%s\nwant\n\t%s", got, s)
	}
}

// wantCQ compares completions, each as "id status opcode length".
func (p *peer) wantCQ(s string) {
	p.t.Helper()
	var l []string
	for _, c := range p.poll() {
		l = append(l, fmt.Sprintf("%d %d %d %d", c.ID, c.Status, c.Opcode, c.ByteLen))
	}
	if got := strings.Join(l, "; "); got != s {
		p.t.Errorf("completions %q, want %q", got, s)
	}
}

func (p *peer) wantState(s hca.QPState) {
	p.t.Helper()
	if got := p.qp.State(); got != s {
		p.t.Errorf("state %v, want %v", got, s)
	}
}

func (p *peer) wantEvents(ts ...hca.EventType) {
	p.t.Helper()
	var got []hca.EventType
	for _, e := range p.Events {
		got = append(got, e.Type)
	}
	if fmt.Sprint(got) != fmt.Sprint(ts) {
		p.t.Errorf("events %v, want %v", got, ts)
	}
	p.Events = nil
}

func (p *peer) send(w ring.Send) {
	p.t.Helper()
	if err := p.qp.PostSend(&w); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) recv(id uint64, off, n int) {
	p.t.Helper()
	if err := p.qp.PostRecv(id, p.buf.SGE(off, n)); err != nil {
		p.t.Fatal(err)
	}
}

// advance lets time pass.
func (p *peer) advance(d sim.Time) { p.e.RunUntil(p.e.Now() + d) }

func bytesOf(n int, seed uint32) []byte {
	b := make([]byte, n)
	fill(b, seed)
	return b
}

func sge(addr uint64, n int, key uint32) ring.SGE {
	return ring.SGE{Addr: addr, Len: uint32(n), LKey: key}
}

func (p *peer) sq() *ring.Ring { return p.qp.SendRing() }
