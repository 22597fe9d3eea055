package hca_test

import (
	"math/rand/v2"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// FuzzReceive gives a queue pair an arbitrary frame, once as it is and once
// behind headers that are right, so that the transport gets to see it.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{}, byte(0), uint32(200), false)
	f.Add(make([]byte, 100), byte(wire.RCWriteFirst), uint32(200), true)
	f.Add(make([]byte, 28), byte(wire.RCCompareSwap), uint32(200), false)
	f.Add(make([]byte, 16), byte(wire.RCReadRequest), uint32(199), false)
	f.Add(make([]byte, 4), byte(wire.RCAcknowledge), uint32(100), false)
	f.Add(make([]byte, 300), byte(wire.RCReadRespFirst), uint32(101), true)
	f.Fuzz(func(t *testing.T, b []byte, op byte, psn uint32, deferred bool) {
		p := newPeer(t, nil)
		p.recv(1, 0, 100)
		p.read(1, 600)
		p.write(2, 600, ring.FlagSignaled)
		p.out()
		give := func(b []byte) {
			x := p.pool.Get()
			copy(x.Buf(len(b)), b)
			x.WireLen()
			p.dev.Receive(x)
		}
		give(b)
		good := p.frame(pkt{op: wire.CNP})[:54]
		h := wire.BTH(good[42:])
		h.SetOpcode(wire.Opcode(op))
		h.SetPSN(psn)
		h.SetAckReq(psn&1 != 0)
		h.SetPad(-len(b) & 3)
		pad := make([]byte, -len(b)&3)
		x := p.pool.Get()
		if deferred {
			whole := append(append([]byte{}, good...), b...)
			whole[38], whole[39] = byte((len(b)+len(pad)+24)>>8), byte(len(b)+len(pad)+24)
			copy(x.Buf(len(whole)), whole)
			x.Meta.ICRCDeferred, x.Meta.Pad = true, uint8(len(pad))
			x.WireLen()
			p.dev.Receive(x)
		} else {
			p.pool.Put(x)
			give(p.frame(pkt{op: wire.Opcode(op), psn: psn, pay: b, ack: true}))
		}
		p.out()
		p.advance(sim.Second)
		p.out()
		p.dev.ReleaseSlab()
		p.Context.Close()
		if p.pool.Live() != 0 || p.pool.LiveSlabs() != 0 {
			t.Errorf("%d frames and %d slabs alive", p.pool.Live(), p.pool.LiveSlabs())
		}
	})
}

// TestHostileRings: a program that writes anything anywhere into its rings, at
// any time, harms nobody: no panic, no endless loop, the neighbour's traffic
// goes on, and all memory comes back.
func TestHostileRings(t *testing.T) {
	for seed := range uint64(30) {
		p := newPair(t, seed, nil, hca.Config{})
		bad, good := p.connect(connOpt{depth: 16}), p.connect(connOpt{})
		r := rand.New(rand.NewPCG(seed, 1))
		rings := []*ring.Ring{bad[0].qp.SendRing(), bad[0].qp.RecvRing(), bad[1].qp.SendRing(), bad[1].qp.RecvRing(), bad[0].cq.Ring(), bad[1].cq.Ring()}
		for n := range 200 {
			for range 1 + r.IntN(4) {
				g := rings[r.IntN(len(rings))]
				switch r.IntN(4) {
				case 0:
					g.SetProducer(r.Uint32())
				case 1:
					g.SetConsumer(r.Uint32())
				case 2:
					b := g.Bytes()
					for range 16 {
						b[r.IntN(len(b))] = byte(r.Uint32())
					}
				case 3:
					x := bad[r.IntN(2)]
					w := ring.Send{ID: 1, Opcode: r.Uint32N(9), Flags: r.Uint32() & 15, RemoteAddr: x.buf.Addr + uint64(r.IntN(1<<20)), RKey: bad[0].buf.MR.RKey(),
						SGEs: []ring.SGE{x.buf.SGE(r.IntN(1000), r.IntN(9000)), x.buf.SGE(0, r.IntN(100))}}
					ring.SendWQE(x.qp.SendRing().At(r.Uint32())).Encode(&w)
				}
			}
			bad[0].qp.Doorbell()
			bad[1].qp.Doorbell()
			p.dev[0].Sweep()
			if n%50 == 0 {
				good[1].qp.PostRecv(uint64(n), good[1].buf.SGE(0, 100))
				if err := good[0].qp.PostSend(&ring.Send{ID: uint64(n), Opcode: ring.OpSend, Flags: ring.FlagSignaled, SGEs: []ring.SGE{good[0].buf.SGE(0, 100)}}); err != nil {
					t.Fatal(err)
				}
			}
			p.run(sim.Time(r.IntN(100)) * sim.Microsecond)
		}
		p.run(100 * sim.Millisecond)
		c := good[0].poll()
		if len(c) != 4 || c[3].Status != 0 {
			t.Errorf("seed %d: the neighbour has %+v", seed, c)
		}
		bad[0].Context.Close()
		bad[1].Context.Close()
		p.drain()
	}
}

// TestZeroAllocations: in the steady state a packet costs no allocation.
func TestZeroAllocations(t *testing.T) {
	for _, op := range []uint32{ring.OpRDMAWrite, ring.OpSend, ring.OpRDMARead, ring.OpFetchAdd} {
		for _, size := range []int{8, 4096, 65536} {
			if op == ring.OpFetchAdd && size > 8 {
				continue
			}
			s := newStream(t, size, op, nil)
			for range 50 {
				s.round()
			}
			before := s.p.dev[0].Counters().TxFrames
			if n := testing.AllocsPerRun(20, s.round); n != 0 {
				t.Errorf("opcode %d, %d bytes: %g allocations in a round", op, size, n)
			}
			if s.p.dev[0].Counters().TxFrames-before < 20 {
				t.Errorf("opcode %d: nothing was sent", op)
			}
		}
	}
}

// TestLoopback: two queue pairs of one device reach each other without the
// port.
func TestLoopback(t *testing.T) {
	p := newPeer(t, nil)
	p.want("")
	a, b := *p.end, *p.end
	for _, x := range []*end{&a, &b} {
		q, err := p.NewQP(p.cq, p.cq, hca.QPCap{MaxSendWR: 16, MaxRecvWR: 16, MaxSendSGE: 1, MaxRecvSGE: 1}, false)
		if err != nil {
			t.Fatal(err)
		}
		x.qp = q
	}
	if err := connectLoop(a.qp, b.qp); err != nil {
		t.Fatal(err)
	}
	fill(p.buf.B[:10000], 1)
	b.qp.PostRecv(2, p.buf.SGE(20000, 10000))
	a.qp.PostSend(&ring.Send{ID: 1, Opcode: ring.OpSend, Flags: ring.FlagSignaled, SGEs: []ring.SGE{p.buf.SGE(0, 10000)}})
	if p.dev.Ready() != 0 {
		t.Error("a packet for the device itself goes to the port")
	}
	p.advance(sim.Millisecond)
	p.wantCQ("2 0 128 10000; 1 0 0 10000")
	if string(p.buf.B[:10000]) != string(p.buf.B[20000:30000]) {
		t.Error("data differ")
	}
}
