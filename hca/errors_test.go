package hca_test

import (
	"fmt"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// TestErrors: every negative answer and every local fault, with the status
// that a program expects; what is behind it is flushed.
func TestErrors(t *testing.T) {
	good := func(p *peer) { p.write(1, 10, ring.FlagSignaled) }
	drain := func(p *peer) { p.out() }
	rows := []struct {
		name string
		do   func(p *peer)
		cq   string
	}{
		{"remote access", func(p *peer) { good(p); good(p); drain(p); p.in(nak(100, wire.NAKRemoteAccess)) }, "1 10 1 0; 1 5 1 0"},
		{"invalid request", func(p *peer) { good(p); drain(p); p.in(nak(100, wire.NAKInvalidRequest)) }, "1 9 1 0"},
		{"remote operational", func(p *peer) { good(p); drain(p); p.in(nak(100, wire.NAKRemoteOperational)) }, "1 11 1 0"},
		{"the second is refused", func(p *peer) { good(p); p.write(2, 1, 0); drain(p); p.in(nak(101, wire.NAKRemoteAccess)) }, "1 0 1 10; 2 10 1 0"},
		{"no answer", func(p *peer) {
			good(p)
			for range 3 {
				drain(p)
				p.advance(10 * sim.Millisecond)
			}
		}, "1 12 1 0"},
		{"NAK without progress", func(p *peer) {
			good(p)
			for range 3 {
				drain(p)
				p.in(nak(100, wire.NAKSequence))
			}
		}, "1 12 1 0"},
		{"RNR", func(p *peer) {
			good(p)
			for range 2 {
				drain(p)
				p.in(nak(100, wire.RNRNAK(1)))
				p.advance(sim.Millisecond)
			}
		}, "1 13 1 0"},
		{"bad local key", func(p *peer) {
			good(p)
			p.send(ring.Send{ID: 2, Opcode: ring.OpSend, SGEs: []ring.SGE{sge(p.buf.Addr, 8, 4711)}})
			p.write(3, 1, 0)
			drain(p)
			p.wantCQ("")
			p.in(ack(100, 1))
			drain(p)
		}, "1 0 1 10; 2 4 0 0; 3 5 1 0"},
		{"outside the region", func(p *peer) {
			p.send(ring.Send{ID: 2, Opcode: ring.OpSend, SGEs: []ring.SGE{sge(p.buf.Addr+1<<16, 1, p.buf.MR.LKey())}})
			drain(p)
		}, "2 4 0 0"},
		{"READ into a bad key", func(p *peer) {
			p.send(ring.Send{ID: 2, Opcode: ring.OpRDMARead, SGEs: []ring.SGE{sge(p.buf.Addr, 8, 4711)}})
			drain(p)
		}, "2 4 2 0"},
		{"opcode unknown", func(p *peer) { p.send(ring.Send{ID: 2, Opcode: 9}); drain(p) }, "2 2 0 0"},
		{"more SGEs than agreed", func(p *peer) {
			p.qp.Post(&ring.Send{ID: 2, Opcode: ring.OpSend, SGEs: make([]ring.SGE, 4)})
			ring.SendWQE(p.sq().At(0))[196] = 5
			p.qp.Doorbell()
			drain(p)
		}, "2 2 0 0"},
		{"atomic into less than 8 bytes", func(p *peer) {
			p.send(ring.Send{ID: 2, Opcode: ring.OpFetchAdd, SGEs: []ring.SGE{p.buf.SGE(0, 7)}})
			drain(p)
		}, "2 1 4 0"},
		{"longer than a message may be", func(p *peer) {
			p.send(ring.Send{ID: 2, Opcode: ring.OpSend, SGEs: []ring.SGE{sge(p.buf.Addr, hca.MaxMsgSize, 0), sge(p.buf.Addr, 1, 0)}})
			drain(p)
		}, "2 1 0 0"},
		{"memory not mapped", func(p *peer) {
			p.Fault = func(s hca.Segment, write bool) error {
				if !write && s.Addr >= p.buf.Addr+1000 {
					return fmt.Errorf("not mapped")
				}
				return nil
			}
			p.qp.Post(&ring.Send{ID: 1, Opcode: ring.OpRDMAWrite, Flags: ring.FlagSignaled, SGEs: []ring.SGE{p.buf.SGE(0, 4)}})
			p.send(ring.Send{ID: 2, Opcode: ring.OpSend, SGEs: []ring.SGE{p.buf.SGE(2000, 8)}})
			p.want("RDMA WRITE Only 100 A va=0 key=0 len=4 4B")
			p.in(ack(100, 1))
			drain(p)
		}, "1 0 1 4; 2 4 0 0"},
		{"READ response refused", func(p *peer) {
			p.read(1, 300)
			drain(p)
			p.in(pkt{op: wire.RCReadRespFirst, psn: 100, syn: wire.ACK(31), pay: bytesOf(256, 1)}, nak(101, wire.NAKRemoteAccess))
		}, "1 10 2 0"},
		{"READ response of a wrong length", func(p *peer) {
			p.read(1, 300)
			drain(p)
			p.in(pkt{op: wire.RCReadRespFirst, psn: 100, syn: wire.ACK(31), pay: bytesOf(200, 1)})
		}, "1 7 2 0"},
		{"READ response to a WRITE", func(p *peer) {
			good(p)
			drain(p)
			p.in(pkt{op: wire.RCReadRespOnly, psn: 100, syn: wire.ACK(31), pay: bytesOf(10, 1)})
		}, "1 7 1 0"},
		{"receives are flushed too", func(p *peer) { p.recv(8, 0, 1); good(p); drain(p); p.in(nak(100, wire.NAKRemoteAccess)) }, "1 10 1 0; 8 5 128 0"},
		{"posted in Err", func(p *peer) {
			p.modify(hca.Err)
			p.recv(8, 0, 1)
			good(p)
			p.dev.Sweep()
		}, "1 5 1 0; 8 5 128 0"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			p := newPeer(t, nil)
			r.do(p)
			p.wantCQ(r.cq)
			p.wantState(hca.Err)
			p.out()
			p.advance(sim.Second)
			p.dev.ReleaseSlab()
			if p.pool.Live() != 0 || p.pool.LiveSlabs() != 0 {
				t.Errorf("%d frames and %d slabs alive", p.pool.Live(), p.pool.LiveSlabs())
			}
		})
	}
}

func (p *peer) modify(s hca.QPState) {
	p.t.Helper()
	if err := p.qp.Modify(&hca.QPAttr{State: s}, hca.AttrState); err != nil {
		p.t.Fatal(err)
	}
}
