package hca_test

import (
	"math/rand/v2"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/verbs"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// FuzzReceiveUnreliable is FuzzReceive for UC and UD: a queue pair that is
// attached to a group gets an arbitrary body behind headers that are right.
func FuzzReceiveUnreliable(f *testing.F) {
	f.Add(make([]byte, 100), byte(wire.UDSendOnly), uint32(0), true, true, false)
	f.Add(make([]byte, 12), byte(wire.UDSendOnlyImm), uint32(7), true, true, true)
	f.Add(make([]byte, 256), byte(wire.UCSendFirst), uint32(200), false, false, false)
	f.Add(make([]byte, 20), byte(wire.UCWriteOnlyImm), uint32(200), true, false, false)
	f.Fuzz(func(t *testing.T, b []byte, op byte, psn uint32, deferred, ud, group bool) {
		typ := hca.UC
		if ud {
			typ = hca.UD
		}
		p := newPeerOf(t, typ, nil)
		dst, mangle := p.qp.Num(), func(b []byte) []byte { return b }
		if group && ud {
			if err := p.qp.Attach(group4, 0); err != nil {
				t.Fatal(err)
			}
			dst, mangle = 0xffffff, func(b []byte) []byte { copy(b[30:34], group4[12:]); b[24], b[25] = 0, 0; return ipv4Sum(b) }
		}
		p.recv(1, 0, 100)
		p.recv(2, 4096, 1000)
		pad := -len(b) & 3
		whole := p.frame(pkt{op: wire.CNP, dst: dst})[:54]
		h := wire.BTH(whole[42:])
		h.SetOpcode(wire.Opcode(op))
		h.SetPSN(psn)
		h.SetPad(pad)
		whole = append(mangle(whole), b...)
		n := len(whole) - 34 + pad + 4
		whole[38], whole[39] = byte(n>>8), byte(n)
		if deferred {
			x := p.pool.Get()
			copy(x.Buf(len(whole)), whole)
			x.Meta.ICRCDeferred, x.Meta.Pad = true, uint8(pad)
			x.WireLen()
			p.dev.Receive(x)
		} else {
			p.in(pkt{op: wire.Opcode(op), psn: psn, dst: dst, pay: b, mangle: mangle})
		}
		if out := p.out(); out != "" {
			t.Errorf("an unreliable queue pair answers: %s", out)
		}
		p.dev.ReleaseSlab()
		p.Context.Close()
		if p.pool.Live() != 0 || p.pool.LiveSlabs() != 0 {
			t.Errorf("%d frames and %d slabs alive", p.pool.Live(), p.pool.LiveSlabs())
		}
	})
}

// TestHostileDatagrams is TestHostileRings for UD, UC and shared receive queues.
func TestHostileDatagrams(t *testing.T) {
	for seed := range uint64(20) {
		p := newPair(t, seed, nil, hca.Config{})
		good := p.connect(connOpt{})
		r := rand.New(rand.NewPCG(seed, 2))
		x := p.udEnds(false)
		var rings []*ring.Ring
		var qps []*verbs.QP
		var srqs [2]*verbs.SRQ
		for i := range x {
			srq := must[*verbs.SRQ](t)(x[i].NewSRQ(hca.SRQAttr{MaxWR: 15, MaxSGE: 1}))
			for range 3 {
				must[*hca.AH](t)(x[i].Context.CreateAH(x[i].PD, hca.AddressVector{SGIDIndex: 1, DGID: []hca.GID{v4gid(1), v4gid(2), group4}[r.IntN(3)], DMAC: p.dev[1-i].Config().MAC}))
			}
			q := must[*verbs.QP](t)(x[i].NewQPOf(verbs.QPSpec{Type: hca.UD, Send: x[i].cq, Recv: x[i].cq, SRQ: srq, Cap: hca.QPCap{MaxSendWR: 15, MaxSendSGE: 2}}))
			if err := verbs.Datagrams(q, 0x11); err != nil {
				t.Fatal(err)
			}
			q.Attach(group4, 0)
			srqs[i] = srq
			qps = append(qps, q, x[i].qp)
			rings = append(rings, q.SendRing(), x[i].qp.SendRing(), srq.RecvRing(), x[i].qp.RecvRing(), x[i].cq.Ring())
		}
		for n := range 300 {
			for range 1 + r.IntN(4) {
				g := rings[r.IntN(len(rings))]
				switch r.IntN(5) {
				case 0:
					g.SetProducer(r.Uint32())
				case 1:
					g.SetConsumer(r.Uint32())
				case 2:
					b := g.Bytes()
					for range 16 {
						b[r.IntN(len(b))] = byte(r.Uint32())
					}
				default:
					q := qps[r.IntN(len(qps))]
					e := x[0]
					if q.Context() == x[1].Context {
						e = x[1]
					}
					q.Post(&ring.Send{ID: 1, Opcode: 2 + r.Uint32()&1, Flags: r.Uint32() & 7, QPN: []uint32{0xffffff, qps[r.IntN(4)].Num(), r.Uint32()}[r.IntN(3)],
						QKey: 0x11, AH: r.Uint32N(5), SGEs: []ring.SGE{e.buf.SGE(r.IntN(1000), r.IntN(5000))}})
				}
			}
			for i := range x {
				x[i].poll()
				_ = srqs[i].PostRecv(1, x[i].buf.SGE(0, 6000)) // the rings are full at times
				_ = x[i].qp.PostRecv(2, x[i].buf.SGE(0, 6000))
			}
			for _, q := range qps {
				q.Doorbell()
				if q.State() > hca.SQD && r.IntN(4) == 0 {
					q.Modify(&hca.QPAttr{State: hca.Reset}, hca.AttrState)
					_ = verbs.Datagrams(q, 0x11) // may overrun again at once
				}
			}
			p.dev[0].Sweep()
			if n%100 == 0 {
				good[1].qp.PostRecv(uint64(n), good[1].buf.SGE(0, 100))
				if err := good[0].qp.PostSend(&ring.Send{ID: uint64(n), Opcode: ring.OpSend, Flags: ring.FlagSignaled, SGEs: []ring.SGE{good[0].buf.SGE(0, 100)}}); err != nil {
					t.Fatal(err)
				}
			}
			p.run(sim.Time(r.IntN(100)) * sim.Microsecond)
		}
		p.run(100 * sim.Millisecond)
		if c := good[0].poll(); len(c) != 3 || c[2].Status != 0 {
			t.Errorf("seed %d: the neighbour has %+v", seed, c)
		}
		if seed == 0 {
			if c := p.dev[0].Counters(); c.TxDatagrams == 0 || c.RxDatagrams == 0 {
				t.Errorf("this tests nothing: %+v", c)
			}
		}
		x[0].Context.Close()
		x[1].Context.Close()
		p.drain()
	}
}

// TestZeroAllocationsUnreliable: as for RC, a packet costs no allocation; nor
// does the copy of a multicast.
func TestZeroAllocationsUnreliable(t *testing.T) {
	for _, group := range []bool{false, true} {
		b := hca.NewBatch()
		p := newPair(t, 1, b, hca.Config{})
		x := p.udEnds(false)
		y := p.udEnd(0, false)
		av := p.vector(1)
		qpn := x[1].qp.Num()
		if group {
			g, l := group4, wire.LID(0)
			av.DGID, qpn = group4, 0xffffff
			if p.net != nil {
				g, l = mgid, mlid
				av = hca.AddressVector{DLID: mlid, DGID: mgid, Global: true, HopLimit: 1}
				p.net.m.SetGroup(mlid, []wire.GUID{p.dev[0].IB().GUID(), p.dev[1].IB().GUID()}, nil)
				p.run(5 * sim.Millisecond)
			}
			for _, e := range []*end{x[1], y} {
				if err := e.qp.Attach(g, l); err != nil {
					t.Fatal(err)
				}
			}
		}
		ah := must[*hca.AH](t)(x[0].Context.CreateAH(x[0].PD, av))
		w := ring.Send{Opcode: ring.OpSend, Flags: ring.FlagSignaled, QPN: qpn, QKey: 0x11, AH: ah.Num(), SGEs: []ring.SGE{x[0].buf.SGE(0, 2000)}}
		var wc [16]ring.CQE
		round := func() {
			for range 100 {
				x[1].qp.PostRecv(1, x[1].buf.SGE(0, 4096))
				y.qp.PostRecv(1, y.buf.SGE(0, 4096))
				x[0].qp.Post(&w)
			}
			for _, d := range p.dev {
				d.Sweep()
			}
			p.run(30 * sim.Microsecond)
			b.Commit()
			for _, e := range []*end{x[0], x[1], y} {
				for e.cq.Poll(wc[:]) > 0 {
				}
			}
		}
		for range 50 {
			round()
		}
		before := p.dev[1].Counters().RxDatagrams
		if n := testing.AllocsPerRun(20, round); n != 0 {
			t.Errorf("group %v: %g allocations in a round of 100 datagrams", group, n)
		}
		if n := p.dev[1].Counters().RxDatagrams - before; n < 2000 {
			t.Errorf("group %v: only %d arrived", group, n)
		}
	}
}
