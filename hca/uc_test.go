package hca_test

import (
	"bytes"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/verbs"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// TestUCRequester: packets without acknowledge requests, each message complete
// when its last packet is sent, and nothing that UC cannot do.
func TestUCRequester(t *testing.T) {
	p := newPeerOf(t, hca.UC, nil)
	sge1 := func(n int) []ring.SGE { return []ring.SGE{p.buf.SGE(0, n)} }
	p.send(ring.Send{ID: 1, Opcode: ring.OpSend, Flags: ring.FlagSignaled, SGEs: sge1(600)})
	p.want("UC SEND First 100 256B; UC SEND Middle 101 256B; UC SEND Last 102 88B")
	p.wantCQ("1 0 0 600")
	p.send(ring.Send{ID: 2, Opcode: ring.OpSendImm, Flags: ring.FlagSignaled | ring.FlagSolicited, Imm: [4]byte{0, 0, 0, 9}, SGEs: sge1(4)})
	p.send(ring.Send{ID: 3, Opcode: ring.OpRDMAWrite, RemoteAddr: 0x1000, RKey: 7, SGEs: sge1(300)})
	p.send(ring.Send{ID: 4, Opcode: ring.OpRDMAWriteImm, Flags: ring.FlagSignaled, RemoteAddr: 0x1000, RKey: 7, Imm: [4]byte{0, 0, 1, 0}})
	p.want("UC SEND Only with Immediate 103 S imm=9 4B; UC RDMA WRITE First 104 va=1000 key=7 len=300 256B; UC RDMA WRITE Last 105 44B; " +
		"UC RDMA WRITE Only with Immediate 106 va=1000 key=7 len=0 imm=256")
	p.wantCQ("2 0 0 4; 4 0 1 0")
	p.advance(sim.Second) // no timer
	p.want("")
	p.send(ring.Send{ID: 5, Opcode: ring.OpRDMARead, SGEs: sge1(8)})
	p.send(ring.Send{ID: 6, Opcode: ring.OpSend, SGEs: sge1(8)})
	p.want("")
	p.wantState(hca.SQE)
	p.qp.Doorbell()
	p.wantCQ("5 2 2 0; 6 5 0 0")
	// The receive side goes on, and the send queue again after a Modify.
	p.recv(7, 0, 8)
	p.in(pkt{op: wire.UCSendOnly, psn: 200, pay: bytesOf(8, 1)})
	p.wantCQ("7 0 128 8")
	p.modify(hca.RTS)
	p.send(ring.Send{ID: 8, Opcode: ring.OpSend, Flags: ring.FlagSignaled, SGEs: sge1(8)})
	p.want("UC SEND Only 107 8B")
	p.wantCQ("8 0 0 8")
}

// TestUCResponder is a table of what arrives: completions, drops by reason, and
// never an answer.
func TestUCResponder(t *testing.T) {
	const (
		sf, sm, sl, so = wire.UCSendFirst, wire.UCSendMiddle, wire.UCSendLast, wire.UCSendOnly
		wf, wl, wo     = wire.UCWriteFirst, wire.UCWriteLast, wire.UCWriteOnly
	)
	full := bytesOf(256, 3)
	for _, c := range []struct {
		name  string
		recvs []int // lengths
		in    func(p *peer) []pkt
		cq    string
		drops map[hca.DropReason]uint64
		ooo   uint64
	}{
		{"in order", []int{600}, func(*peer) []pkt {
			return []pkt{{op: sf, psn: 200, pay: full}, {op: sm, psn: 201, pay: full}, {op: sl, psn: 202, pay: full[:9]}}
		}, "0 0 128 521", nil, 0},
		{"gap in the middle", []int{600}, func(*peer) []pkt {
			return []pkt{{op: sf, psn: 200, pay: full}, {op: sl, psn: 202, pay: full}, {op: so, psn: 203, pay: full[:5]}}
		}, "0 0 128 5", map[hca.DropReason]uint64{hca.DropMessage: 1}, 1},
		{"first lost", []int{600, 600}, func(*peer) []pkt {
			return []pkt{{op: sm, psn: 201, pay: full}, {op: sl, psn: 202, pay: full}, {op: so, psn: 203, pay: full[:5]}}
		}, "0 0 128 5", map[hca.DropReason]uint64{hca.DropMessage: 2}, 1},
		{"last lost", []int{600, 600}, func(*peer) []pkt {
			return []pkt{{op: sf, psn: 200, pay: full}, {op: sf, psn: 202, pay: full}, {op: sl, psn: 203, pay: full[:5]}}
		}, "0 0 128 261", nil, 1},
		{"whole messages lost", []int{600}, func(*peer) []pkt { return []pkt{{op: so, psn: 250, pay: full}} }, "0 0 128 256", nil, 1},
		{"last missing without a gap", []int{600}, func(*peer) []pkt {
			return []pkt{{op: sf, psn: 200, pay: full}, {op: so, psn: 201, pay: full[:7]}}
		}, "0 0 128 7", nil, 0},
		{"another kind in the middle", []int{600}, func(*peer) []pkt {
			return []pkt{{op: sf, psn: 200, pay: full}, {op: wl, psn: 201, pay: full}, {op: sl, psn: 202, pay: full}}
		}, "", map[hca.DropReason]uint64{hca.DropMessage: 2}, 0},
		{"no receive", nil, func(*peer) []pkt {
			return []pkt{{op: sf, psn: 200, pay: full}, {op: sl, psn: 201, pay: full}}
		}, "", map[hca.DropReason]uint64{hca.DropRNR: 1, hca.DropMessage: 1}, 0},
		{"too long, then one that fits", []int{300}, func(*peer) []pkt {
			return []pkt{{op: sf, psn: 200, pay: full}, {op: sl, psn: 201, pay: full}, {op: so, psn: 202, pay: full}}
		}, "0 0 128 256", map[hca.DropReason]uint64{hca.DropTooLong: 1}, 0},
		{"short first", []int{600}, func(*peer) []pkt {
			return []pkt{{op: sf, psn: 200, pay: full[:8]}, {op: sl, psn: 201, pay: full}}
		}, "", map[hca.DropReason]uint64{hca.DropMessage: 2}, 0},
		{"write, then with a wrong key", []int{8}, func(p *peer) []pkt {
			return []pkt{
				{op: wf, psn: 200, va: p.buf.Addr + 4096, rkey: p.buf.MR.RKey(), dmaLen: 260, pay: full}, {op: wl, psn: 201, pay: full[:4]},
				{op: wo, psn: 202, va: p.buf.Addr, rkey: p.buf.MR.RKey() + 1, dmaLen: 4, pay: full[:4]},
				{op: wire.UCWriteOnlyImm, psn: 203, va: p.buf.Addr, rkey: p.buf.MR.RKey(), dmaLen: 4, imm: 5, pay: full[:4]},
			}
		}, "0 0 129 4", map[hca.DropReason]uint64{hca.DropMessage: 1}, 0},
		{"of another service", []int{8}, func(*peer) []pkt {
			return []pkt{{op: wire.RCSendOnly, psn: 200, pay: full[:4]}, {op: wire.UDSendOnly, psn: 200, pay: full[:4]}, {op: wire.RCAcknowledge, psn: 100}}
		}, "", map[hca.DropReason]uint64{hca.DropOpcode: 3}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, deferred := range []bool{false, true} {
				p := newPeerOf(t, hca.UC, nil)
				p.deferred = deferred
				for i, n := range c.recvs {
					p.recv(uint64(i), 8192+1024*i, n)
				}
				p.in(c.in(p)...)
				p.want("")
				p.wantCQ(c.cq)
				p.wantState(hca.RTS)
				ctr := p.dev.Counters()
				for r := range hca.NumDropReasons {
					if ctr.Dropped[r] != c.drops[r] {
						t.Errorf("%v: %d dropped, want %d", r, ctr.Dropped[r], c.drops[r])
					}
				}
				if ctr.OutOfSequence != c.ooo {
					t.Errorf("%d out of sequence, want %d", ctr.OutOfSequence, c.ooo)
				}
			}
		})
	}
}

// TestUCLocalFault: a receive work request that is wrong is this side's fault.
func TestUCLocalFault(t *testing.T) {
	p := newPeerOf(t, hca.UC, nil)
	if err := p.qp.PostRecv(1, sge(p.buf.Addr, 8, p.buf.MR.LKey()+1)); err != nil {
		t.Fatal(err)
	}
	p.recv(2, 0, 8)
	p.in(pkt{op: wire.UCSendOnly, psn: 200, pay: bytesOf(8, 1)})
	p.want("")
	p.wantCQ("1 4 128 0; 2 5 128 0")
	p.wantState(hca.Err)
	p.wantEvents(hca.EventQPFatal)
}

// TestUCLoss: what arrives is whole messages in order, with the right bytes;
// what is lost is lost; every send is complete.
func TestUCLoss(t *testing.T) {
	for _, loss := range []float64{0, 0.02, 0.2} {
		for seed := range uint64(4) {
			p := newPair(t, seed, nil, hca.Config{})
			var x [2]*end
			for i := range x {
				e := &end{Program: must[*verbs.Program](t)(verbs.Open(p.dev[i], 2<<20))}
				e.cq = must[*verbs.CQ](t)(e.NewCQ(1024, nil))
				e.qp = must[*verbs.QP](t)(e.NewQPOf(verbs.QPSpec{Type: hca.UC, Send: e.cq, Recv: e.cq, Cap: hca.QPCap{MaxSendWR: 256, MaxRecvWR: 256, MaxSendSGE: 1, MaxRecvSGE: 1}}))
				e.buf = must[*verbs.Buffer](t)(e.Buffer(1<<20, allAccess))
				x[i] = e
			}
			if err := verbs.Connect(x[0].qp, x[1].qp, verbs.Path{MTU: 1, PSN: [2]uint32{0xfffff0, 5}}); err != nil {
				t.Fatal(err)
			}
			p.port[0].SetLoss(loss)
			const n, size = 200, 1000
			for i := range n {
				fill(x[0].buf.B[i*size:][:size], uint32(i))
				x[1].qp.PostRecv(uint64(i), x[1].buf.SGE(i*size, size))
				imm := [4]byte{0, 0, byte(i >> 8), byte(i)}
				if err := x[0].qp.Post(&ring.Send{ID: uint64(i), Opcode: ring.OpSendImm, Flags: ring.FlagSignaled, Imm: imm, SGEs: []ring.SGE{x[0].buf.SGE(i*size, size)}}); err != nil {
					t.Fatal(err)
				}
			}
			x[0].qp.Doorbell()
			p.run(10 * sim.Millisecond)
			if c := x[0].poll(); len(c) != n || c[n-1].Status != 0 {
				t.Fatalf("loss %g seed %d: %d sends complete", loss, seed, len(c))
			}
			got, last := x[1].poll(), -1
			for k, c := range got {
				i := int(c.Imm[2])<<8 | int(c.Imm[3])
				if c.Status != 0 || c.ID != uint64(k) || i <= last || !bytes.Equal(x[1].buf.B[k*size:][:size], x[0].buf.B[i*size:][:size]) {
					t.Fatalf("loss %g seed %d: receive %d is message %d after %d: %+v", loss, seed, k, i, last, c)
				}
				last = i
			}
			if (loss == 0) != (len(got) == n) || len(got) < n/20 {
				t.Errorf("loss %g seed %d: %d of %d messages", loss, seed, len(got), n)
			}
			if tx := p.dev[1].Counters().TxFrames; tx != 0 {
				t.Errorf("the receiver sent %d frames", tx)
			}
			p.port[0].SetLoss(0)
			p.drain()
		}
	}
}
