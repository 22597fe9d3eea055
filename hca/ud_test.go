package hca_test

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/verbs"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// ahTo makes an address handle for the scripted peer.
func (p *peer) ahTo(tc uint8) *hca.AH {
	p.t.Helper()
	av := p.vector(9)
	av.TrafficClass, av.SL = tc, tc>>5
	return must[*hca.AH](p.t)(p.Context.CreateAH(p.PD, av))
}

// datagram is a work request to the scripted peer.
func (p *peer) datagram(id uint64, ah uint32, n int) ring.Send {
	return ring.Send{ID: id, Opcode: ring.OpSend, Flags: ring.FlagSignaled, QPN: peerQPN, QKey: 0x77, AH: ah, SGEs: []ring.SGE{p.buf.SGE(0, n)}}
}

// TestUDRequester: one packet for each work request, complete when sent.
func TestUDRequester(t *testing.T) {
	p := newPeerOf(t, hca.UD, nil)
	ah := p.ahTo(0)
	p.send(p.datagram(1, ah.Num(), 300))
	w := p.datagram(2, ah.Num(), 5)
	w.Opcode, w.Imm, w.Flags = ring.OpSendImm, [4]byte{0, 0, 0, 9}, ring.FlagSignaled|ring.FlagSolicited
	p.send(w)
	w = p.datagram(3, ah.Num(), 0)
	w.QKey = 0x80000000 // the queue pair's own
	p.send(w)
	p.want("UD SEND Only 0 qkey=77 src=true 300B; UD SEND Only with Immediate 1 S qkey=77 src=true imm=9 5B; UD SEND Only 2 qkey=1234 src=true")
	p.wantCQ("1 0 0 300; 2 0 0 5; 3 0 0 0")
	// Longer than the port's MTU: not sent, and no error.
	p.send(p.datagram(4, ah.Num(), 4097))
	p.send(p.datagram(5, ah.Num(), 4096))
	p.want("UD SEND Only 3 qkey=77 src=true 4096B")
	if c := p.poll(); len(c) != 2 || c[0].Status != 0 || c[1].Status != 0 || p.dev.Counters().OverMTU != 1 {
		t.Errorf("completions %+v", c)
	}
	// In the list of one priority, and then of another.
	p.send(p.datagram(6, ah.Num(), 1))
	p.send(p.datagram(7, p.ahTo(0x80).Num(), 2))
	p.send(p.datagram(8, ah.Num(), 3))
	p.want("UD SEND Only 4 qkey=77 src=true 1B; UD SEND Only 5 qkey=77 src=true 2B; UD SEND Only 6 qkey=77 src=true 3B")
	p.wantCQ("6 0 0 1; 7 0 0 2; 8 0 0 3")
}

// TestUDAddress: work requests with handles that are not theirs, or with the
// address in themselves as old libraries write it.
func TestUDAddress(t *testing.T) {
	pd := func(p *peer) uint32 {
		d := must[*hca.PD](t)(p.Context.AllocPD())
		return must[*hca.AH](t)(p.Context.CreateAH(d, hca.AddressVector{SGIDIndex: 1, DGID: v4gid(9)})).Num()
	}
	other := func(p *peer) uint32 {
		c := p.dev.Open(p.Arena, nil)
		d := must[*hca.PD](t)(c.AllocPD())
		for range 3 {
			must[*hca.AH](t)(c.CreateAH(d, hca.AddressVector{SGIDIndex: 1, DGID: v4gid(9)}))
		}
		return 3
	}
	for _, c := range []struct {
		name string
		ah   func(p *peer) uint32
	}{
		{"never made", func(*peer) uint32 { return 1 }},
		{"the largest number", func(*peer) uint32 { return ^uint32(0) }},
		{"destroyed", func(p *peer) uint32 { a := p.ahTo(0); n := a.Num(); a.Destroy(); return n }},
		{"of another domain", pd},
		{"of another program", other},
		{"none, and no address", func(*peer) uint32 { return 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPeerOf(t, hca.UD, nil)
			n := c.ah(p)
			p.send(p.datagram(1, n, 8))
			p.send(p.datagram(2, n, 8))
			p.want("")
			p.qp.Doorbell()
			p.wantCQ("1 2 0 0; 2 5 0 0")
			p.wantState(hca.SQE)
		})
	}
	p := newPeerOf(t, hca.UD, nil)
	for i, last := range []byte{9, 9, 1} { // the same twice, then the device itself
		w := p.datagram(uint64(i), 0, 8)
		at := p.sq().Producer()
		p.qp.Post(&w)
		g := v4gid(last)
		av := ring.AV{0: 1, 1: 1, 2: 2, 3: 9, 28: 1, 29: 64}
		copy(av[8:], g[:])
		ring.SendWQE(p.sq().At(at)).SetAV(av)
	}
	p.qp.Doorbell()
	p.want("UD SEND Only 0 qkey=77 src=true 8B; UD SEND Only 1 qkey=77 src=true 8B")
	p.advance(sim.Microsecond)
	if c := p.dev.Counters(); c.TxDatagrams != 3 || c.Dropped[hca.DropNoQP] != 1 {
		t.Errorf("%+v", c)
	}
}

// TestUDResponder is a table of what arrives.
func TestUDResponder(t *testing.T) {
	const key = 0x1234
	ok := func(n int) pkt { return pkt{op: wire.UDSendOnly, qkey: key, src: 0x42, pay: bytesOf(n, 5)} }
	with := func(k pkt, f func(*pkt)) pkt { f(&k); return k }
	toOther := func(b []byte) []byte { b[33] = 77; b[24], b[25] = 0, 0; return ipv4Sum(b) }
	for _, c := range []struct {
		name  string
		recvs []int
		in    []pkt
		cq    string
		drops map[hca.DropReason]uint64
	}{
		{"two", []int{140, 140}, []pkt{ok(100), ok(4)}, "0 0 128 140; 1 0 128 44", nil},
		{"any PSN", []int{140}, []pkt{with(ok(8), func(k *pkt) { k.psn = 0x123456 })}, "0 0 128 48", nil},
		{"empty", []int{40}, []pkt{ok(0)}, "0 0 128 40", nil},
		{"wrong Q_Key", []int{140}, []pkt{with(ok(8), func(k *pkt) { k.qkey++ }), ok(4)}, "0 0 128 44", map[hca.DropReason]uint64{hca.DropQKey: 1}},
		{"no receive", nil, []pkt{ok(8)}, "", map[hca.DropReason]uint64{hca.DropRNR: 1}},
		{"no room for the header, then still none", []int{100}, []pkt{ok(64), ok(60)}, "0 0 128 100", map[hca.DropReason]uint64{hca.DropTooLong: 1}},
		{"of connections", []int{140}, []pkt{{op: wire.RCSendOnly, pay: bytesOf(4, 1)}, {op: wire.UCSendOnly, pay: bytesOf(4, 1)}, {op: wire.RCAcknowledge}}, "",
			map[hca.DropReason]uint64{hca.DropOpcode: 3}},
		{"to an address that is not the port's", []int{140}, []pkt{with(ok(8), func(k *pkt) { k.mangle = toOther })}, "", map[hca.DropReason]uint64{hca.DropAddress: 1}},
		{"to a group without being attached", []int{140}, []pkt{with(ok(8), func(k *pkt) { k.dst = 0xffffff })}, "", map[hca.DropReason]uint64{hca.DropNoQP: 1}},
		{"a connection's to a group", []int{140}, []pkt{{op: wire.RCSendOnly, dst: 0xffffff, pay: bytesOf(4, 1)}}, "", map[hca.DropReason]uint64{hca.DropMalformed: 1}},
		{"longer than the MTU", []int{8000}, []pkt{ok(4100)}, "", map[hca.DropReason]uint64{hca.DropMalformed: 1}},
	} {
		if overIB && onlyRoCE[c.name] {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			for _, deferred := range []bool{false, true} {
				p := newPeerOf(t, hca.UD, nil)
				p.deferred = deferred
				for i, n := range c.recvs {
					p.recv(uint64(i), 8192*i, n)
				}
				p.in(c.in...)
				p.want("")
				p.wantCQ(c.cq)
				p.wantState(hca.RTS)
				ctr := p.dev.Counters()
				for r := range hca.NumDropReasons {
					if ctr.Dropped[r] != c.drops[r] {
						t.Errorf("%v: %d dropped, want %d", r, ctr.Dropped[r], c.drops[r])
					}
				}
			}
		})
	}
}

func ipv4Sum(b []byte) []byte {
	sum := uint32(0)
	for i := 14; i < 34; i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	sum = sum&0xffff + sum>>16
	sum = sum&0xffff + sum>>16
	b[24], b[25] = ^byte(sum>>8), ^byte(sum)
	return b
}

// TestUDLayout looks at what a receiver finds in memory and in the completion.
func TestUDLayout(t *testing.T) {
	for _, deferred := range []bool{false, true} {
		p := newPeerOf(t, hca.UD, nil)
		p.deferred = deferred
		for i := range p.buf.B[:400] {
			p.buf.B[i] = 0xee
		}
		if err := p.qp.PostRecv(1, p.buf.SGE(0, 30), p.buf.SGE(100, 15), p.buf.SGE(200, 100)); err != nil { // cut across header and payload
			t.Fatal(err)
		}
		pay := bytesOf(60, 9)
		k := pkt{op: wire.UDSendOnlyImm, qkey: 0x1234, src: 0x4242, imm: 7, pay: pay}
		ip := p.frame(k)[14:34]
		p.in(k)
		c := p.poll()
		if want := (ring.CQE{ID: 1, Opcode: ring.WCRecv, ByteLen: 100, Imm: [4]byte{3: 7}, QPN: p.qp.Num(), SrcQP: 0x4242, Flags: ring.WCFlagGRH | ring.WCFlagImm, SL: 10, Port: 1}); len(c) != 1 || c[0] != want {
			t.Fatalf("completion %+v, want %+v", c, want)
		}
		got := append(append(append([]byte{}, p.buf.B[:30]...), p.buf.B[100:115]...), p.buf.B[200:255]...)
		want := append(append(make([]byte, 20), ip...), pay...)
		if !bytes.Equal(got, want) {
			t.Errorf("deferred %v: in memory\n% x\nwant\n% x", deferred, got, want)
		}
		if p.buf.B[30] != 0xee || p.buf.B[115] != 0xee || p.buf.B[255] != 0xee {
			t.Error("written beyond the message")
		}
	}
}

// udEnds makes a UD queue pair on each device of a pair.
func (p *pair) udEnds(block bool) [2]*end {
	p.t.Helper()
	var x [2]*end
	for i := range x {
		x[i] = p.udEnd(i, block)
	}
	return x
}

func (p *pair) udEnd(i int, block bool) *end {
	p.t.Helper()
	e := &end{Program: must[*verbs.Program](p.t)(verbs.Open(p.dev[i], 3<<20))}
	e.cq = must[*verbs.CQ](p.t)(e.NewCQ(1024, nil))
	e.qp = must[*verbs.QP](p.t)(e.NewQPOf(verbs.QPSpec{Type: hca.UD, Send: e.cq, Recv: e.cq, BlockLoopback: block,
		Cap: hca.QPCap{MaxSendWR: 256, MaxRecvWR: 256, MaxSendSGE: 1, MaxRecvSGE: 2}}))
	e.buf = must[*verbs.Buffer](p.t)(e.Buffer(2<<20, allAccess))
	if err := verbs.Datagrams(e.qp, 0x11); err != nil {
		p.t.Fatal(err)
	}
	return e
}

// TestUDBothWays: IPv4 and IPv6, replies by address handles made from what the
// completion says, with loss and without.
func TestUDBothWays(t *testing.T) {
	for _, gid := range []uint8{0, 1} {
		for _, loss := range []float64{0, 0.1} {
			p := newPair(t, 7, nil, hca.Config{})
			x := p.udEnds(false)
			var ah [2]*hca.AH
			for i := range x {
				g := p.dev[1-i].GIDs()[gid].GID
				ah[i] = must[*hca.AH](t)(x[i].Context.CreateAH(x[i].PD, hca.AddressVector{SGIDIndex: gid, DGID: g, DMAC: p.dev[1-i].Config().MAC}))
				p.port[i].SetLoss(loss)
			}
			const n, size = 100, 3000
			for i := range x {
				for k := range n {
					fill(x[i].buf.B[k*size:][:size], uint32(k+i*1000))
					x[i].qp.PostRecv(uint64(k), x[i].buf.SGE(1<<20+k*(size+40), size+40))
					x[i].qp.Post(&ring.Send{ID: uint64(k), Opcode: ring.OpSendImm, Flags: ring.FlagSignaled, Imm: [4]byte{3: byte(k)},
						QPN: x[1-i].qp.Num(), QKey: 0x11, AH: ah[i].Num(), SGEs: []ring.SGE{x[i].buf.SGE(k*size, size)}})
				}
				x[i].qp.Doorbell()
			}
			p.run(10 * sim.Millisecond)
			for i := range x {
				sent, got := 0, 0
				for _, c := range x[i].poll() {
					if c.Status != 0 {
						t.Fatalf("%+v", c)
					}
					if c.Opcode < ring.WCRecv {
						sent++
						continue
					}
					b := x[i].buf.B[1<<20+int(c.ID)*(size+40):][:size+40]
					src, dst := p.dev[1-i].GIDs()[gid].GID, p.dev[i].GIDs()[gid].GID
					head := append(append([]byte{}, src[:]...), dst[:]...)
					if gid == 1 {
						head = append(append([]byte{}, src[12:]...), dst[12:]...)
					}
					if c.SrcQP != x[1-i].qp.Num() || !bytes.Equal(b[40-len(head):40], head) || !bytes.Equal(b[40:], x[1-i].buf.B[int(c.Imm[3])*size:][:size]) {
						t.Fatalf("gid %d: datagram %d arrived wrong: % x", gid, c.Imm[3], b[:48])
					}
					got++
				}
				if sent != n || (loss == 0) != (got == n) || got < n/2 {
					t.Errorf("gid %d loss %g: %d sent, %d received of %d", gid, loss, sent, got, n)
				}
			}
			for i := range x {
				p.port[i].SetLoss(0)
				x[i].Context.Close()
			}
			p.drain()
		}
	}
}

// TestUDBadReceive: a receive work request that is wrong ends the queue pair.
func TestUDBadReceive(t *testing.T) {
	p := newPeerOf(t, hca.UD, nil)
	p.qp.PostRecv(1, sge(p.buf.Addr, 100, p.buf.MR.LKey()+1))
	p.in(pkt{op: wire.UDSendOnly, qkey: 0x1234, pay: bytesOf(8, 1)})
	p.wantCQ("1 4 128 0")
	p.wantState(hca.Err)
	p.wantEvents(hca.EventQPFatal)
}

// TestUDMemoryFails: memory that cannot be written is the receiver's end, and
// of one that cannot be read the sender's.
func TestUDMemoryFails(t *testing.T) {
	p := newPeerOf(t, hca.UD, nil)
	p.recv(1, 0, 100)
	p.recv(2, 0, 100)
	p.Fault = func(hca.Segment, bool) error { return errors.New("no page") }
	p.in(pkt{op: wire.UDSendOnly, qkey: 0x1234, pay: bytesOf(8, 1)})
	p.wantCQ("1 4 128 0; 2 5 128 0")
	p.wantState(hca.Err)
	p.wantEvents(hca.EventQPFatal)
	p.want("")

	p = newPeerOf(t, hca.UD, nil)
	w := p.datagram(1, p.ahTo(0).Num(), 8)
	p.Fault = func(hca.Segment, bool) error { return errors.New("no page") }
	p.send(w)
	p.want("")
	p.wantCQ("1 4 0 0")
	p.wantState(hca.SQE)
}

// TestUnreliableTransitions walks UC and UD to RTS and round by SQD; each step
// fails without one of its attributes and with those of RC.
func TestUnreliableTransitions(t *testing.T) {
	type step struct {
		to       hca.QPState
		req, bad hca.AttrMask
	}
	const rc = hca.AttrTimeout | hca.AttrRetryCnt | hca.AttrRNRRetry | hca.AttrMaxRdAtomic | hca.AttrMinRNRTimer | hca.AttrMaxDestRdAtomic
	for typ, steps := range map[hca.QPType][]step{
		hca.UC: {
			{hca.Init, hca.AttrPKeyIndex | hca.AttrPort | hca.AttrAccessFlags, rc | hca.AttrQKey},
			{hca.RTR, hca.AttrAV | hca.AttrPathMTU | hca.AttrDestQPN | hca.AttrRQPSN, rc | hca.AttrQKey},
			{hca.RTS, hca.AttrSQPSN, rc | hca.AttrQKey}, {hca.SQD, 0, rc | hca.AttrQKey}, {hca.RTS, 0, rc | hca.AttrQKey},
			{hca.Err, 0, 0}, {hca.Reset, 0, 0},
		},
		hca.UD: {
			{hca.Init, hca.AttrPKeyIndex | hca.AttrPort | hca.AttrQKey, rc | hca.AttrAccessFlags},
			{hca.RTR, 0, rc | hca.AttrAV | hca.AttrPathMTU | hca.AttrDestQPN | hca.AttrRQPSN},
			{hca.RTS, hca.AttrSQPSN, rc | hca.AttrAV}, {hca.SQD, 0, rc}, {hca.RTS, 0, rc}, {hca.Err, 0, 0}, {hca.Reset, 0, 0},
		},
	} {
		p := newPeerOf(t, typ, nil)
		p.modify(hca.Reset)
		a := hca.QPAttr{Port: 1, PathMTU: 1, DestQPN: peerQPN, AV: hca.AddressVector{SGIDIndex: 1, DGID: v4gid(9), DLID: 9}}
		for _, s := range steps {
			a.State = s.to
			for bit := hca.AttrMask(2); bit <= hca.AttrDestQPN; bit <<= 1 {
				m := s.req | hca.AttrState
				if s.req&bit != 0 {
					m &^= bit
				} else if s.bad&bit != 0 {
					m |= bit
				} else {
					continue
				}
				if err := p.qp.Modify(&a, m); !errors.Is(err, hca.ErrState) {
					t.Errorf("type %d to %v with %#x: %v", typ, s.to, m, err)
				}
			}
			if err := p.qp.Modify(&a, s.req|hca.AttrState); err != nil || p.qp.State() != s.to {
				t.Errorf("type %d to %v: %v", typ, s.to, err)
			}
		}
	}
}

// TestUDManyTooLong: work requests that send nothing do not keep the device to
// themselves, whatever a program does to its indexes meanwhile.
func TestUDManyTooLong(t *testing.T) {
	p := newPeerOf(t, hca.UD, nil)
	w := p.datagram(1, p.ahTo(0).Num(), 5000)
	for i := range uint32(64) {
		ring.SendWQE(p.sq().At(i)).Encode(&w)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { // a second thread of the program posts on and on
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				p.sq().SetProducer(p.sq().Producer() + 1)
			}
		}
	}()
	for p.sq().Producer() == 0 {
		runtime.Gosched()
	}
	// The index may just have come round to where the device has seen it.
	for p.dev.Counters().OverMTU == 0 {
		p.qp.Doorbell()
		p.want("")
	}
	close(stop)
	<-done
	if n := p.dev.Counters().OverMTU; n > 1000 {
		t.Errorf("%d in one turn", n)
	}
}
