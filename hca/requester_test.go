package hca_test

import (
	"bytes"
	"fmt"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// key of the peer's memory in these tests, which the device does not know.
const rkey = 0xabcd

func (p *peer) write(id uint64, n int, flags uint32) {
	p.t.Helper()
	p.send(ring.Send{ID: id, Opcode: ring.OpRDMAWrite, Flags: flags, RemoteAddr: 0x1000, RKey: rkey, SGEs: []ring.SGE{p.buf.SGE(0, n)}})
}

func (p *peer) read(id uint64, n int) {
	p.t.Helper()
	p.send(ring.Send{ID: id, Opcode: ring.OpRDMARead, Flags: ring.FlagSignaled, RemoteAddr: 0x2000, RKey: rkey, SGEs: []ring.SGE{p.buf.SGE(4096, n)}})
}

func ack(psn, msn uint32) pkt {
	return pkt{op: wire.RCAcknowledge, psn: psn, syn: wire.ACK(31), msn: msn}
}

func nak(psn uint32, s wire.Syndrome) pkt { return pkt{op: wire.RCAcknowledge, psn: psn, syn: s} }

// TestRequesterPackets: the packets of each operation.
func TestRequesterPackets(t *testing.T) {
	rows := []struct {
		name string
		w    ring.Send
		n    int
		out  string
	}{
		{"WRITE", ring.Send{Opcode: ring.OpRDMAWrite}, 600, "RDMA WRITE First 100 va=1000 key=abcd len=600 256B; RDMA WRITE Middle 101 256B; RDMA WRITE Last 102 A 88B"},
		{"WRITE of two packets", ring.Send{Opcode: ring.OpRDMAWrite}, 512, "RDMA WRITE First 100 va=1000 key=abcd len=512 256B; RDMA WRITE Last 101 A 256B"},
		{"WRITE of one", ring.Send{Opcode: ring.OpRDMAWrite}, 256, "RDMA WRITE Only 100 A va=1000 key=abcd len=256 256B"},
		{"WRITE of nothing", ring.Send{Opcode: ring.OpRDMAWrite}, 0, "RDMA WRITE Only 100 A va=1000 key=abcd len=0"},
		{"WRITE imm", ring.Send{Opcode: ring.OpRDMAWriteImm, Imm: [4]byte{0, 0, 0, 9}}, 300, "RDMA WRITE First 100 va=1000 key=abcd len=300 256B; RDMA WRITE Last with Immediate 101 A imm=9 44B"},
		{"WRITE imm of one", ring.Send{Opcode: ring.OpRDMAWriteImm, Imm: [4]byte{0, 0, 0, 9}}, 3, "RDMA WRITE Only with Immediate 100 A va=1000 key=abcd len=3 imm=9 3B"},
		{"SEND", ring.Send{Opcode: ring.OpSend, Flags: ring.FlagSolicited}, 300, "SEND First 100 256B; SEND Last 101 A S 44B"},
		{"SEND of one", ring.Send{Opcode: ring.OpSend}, 1, "SEND Only 100 A 1B"},
		{"SEND imm", ring.Send{Opcode: ring.OpSendImm, Imm: [4]byte{0, 0, 1, 0}}, 2, "SEND Only with Immediate 100 A imm=256 2B"},
		{"READ", ring.Send{Opcode: ring.OpRDMARead}, 600, "RDMA READ Request 100 A va=1000 key=abcd len=600"},
		{"CmpSwap", ring.Send{Opcode: ring.OpCompareSwap, CompareAdd: 1, Swap: 2}, 8, "CmpSwap 100 A va=1000 key=abcd swapadd=2 compare=1"},
		{"FetchAdd", ring.Send{Opcode: ring.OpFetchAdd, CompareAdd: 3}, 8, "FetchAdd 100 A va=1000 key=abcd swapadd=3 compare=0"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			p := newPeer(t, nil)
			r.w.RemoteAddr, r.w.RKey, r.w.SGEs = 0x1000, rkey, []ring.SGE{p.buf.SGE(0, r.n)}
			p.send(r.w)
			p.want(r.out)
			p.want("")
		})
	}
}

// TestAckRequests: one packet in 16 asks, and the last of the queue.
func TestAckRequests(t *testing.T) {
	p := newPeer(t, nil)
	for i := range 20 {
		if err := p.qp.Post(&ring.Send{ID: uint64(i), Opcode: ring.OpRDMAWrite, SGEs: []ring.SGE{p.buf.SGE(0, 1)}}); err != nil {
			t.Fatal(err)
		}
	}
	if !p.dev.Sweep() || p.dev.Sweep() {
		t.Error("Sweep does not tell new work from old")
	}
	var asked []uint32
	for p.dev.Ready() != 0 {
		f := p.dev.Next(0)
		if f == nil {
			continue
		}
		if h := wire.BTH(f.Data[42:]); h.AckReq() {
			asked = append(asked, h.PSN())
		}
		p.pool.Put(f)
	}
	if fmt.Sprint(asked) != "[115 119]" {
		t.Errorf("acknowledges asked for by %v", asked)
	}
}

// TestCompletion: acknowledges complete what they cover, in order; unsignalled
// requests complete silently and free their slots.
func TestCompletion(t *testing.T) {
	p := newPeer(t, nil)
	p.write(1, 300, ring.FlagSignaled)
	p.write(2, 10, 0)
	p.write(3, 10, ring.FlagSignaled)
	p.want("RDMA WRITE First 100 va=1000 key=abcd len=300 256B; RDMA WRITE Last 101 A 44B; RDMA WRITE Only 102 va=1000 key=abcd len=10 10B; RDMA WRITE Only 103 A va=1000 key=abcd len=10 10B")
	p.in(ack(100, 0))
	p.wantCQ("")
	p.in(ack(102, 2))
	p.wantCQ("1 0 1 300")
	p.in(ack(101, 1), ack(99, 0), ack(104, 5)) // old, older, never sent
	p.wantCQ("")
	p.in(ack(103, 3))
	p.wantCQ("3 0 1 10")
	if c := p.dev.Counters(); c.RxStale != 3 || c.RxAcks != 3 {
		t.Errorf("%d stale, %d acks", c.RxStale, c.RxAcks)
	}
}

// TestGoBack: after a NAK everything from its PSN on is sent again, with the
// bytes that the memory has then.
func TestGoBack(t *testing.T) {
	p := newPeer(t, nil)
	fill(p.buf.B[:1024], 1)
	p.write(1, 600, ring.FlagSignaled)
	p.write(2, 10, ring.FlagSignaled)
	p.want("RDMA WRITE First 100 va=1000 key=abcd len=600 256B; RDMA WRITE Middle 101 256B; RDMA WRITE Last 102 A 88B; RDMA WRITE Only 103 A va=1000 key=abcd len=10 10B")
	p.in(nak(101, wire.NAKSequence))
	fill(p.buf.B[:1024], 2)
	f := p.dev.Next(0)
	if !bytes.Equal(f.Pay, p.buf.B[256:512]) {
		t.Error("the packet sent again has other bytes than the memory")
	}
	if got := p.describe(f); got != "RDMA WRITE Middle 101 A 256B" {
		t.Errorf("sent again: %s", got)
	}
	p.pool.Put(f)
	p.want("RDMA WRITE Last 102 A 88B; RDMA WRITE Only 103 A va=1000 key=abcd len=10 10B")
	if c := p.dev.Counters(); c.Retransmitted != 3 {
		t.Errorf("%d retransmitted", c.Retransmitted)
	}
	p.in(ack(103, 2))
	p.wantCQ("1 0 1 600; 2 0 1 10")
}

// TestTimeout: the ACK timer expires between T and 1.25 T, starts at the first
// packet and again at each progress.
func TestTimeout(t *testing.T) {
	T := 4096 * sim.Nanosecond << 10
	p := newPeer(t, nil)
	p.write(1, 300, ring.FlagSignaled)
	p.out()
	p.advance(T - 1)
	p.want("")
	p.in(ack(100, 0))
	p.advance(T - 1)
	p.want("")
	p.advance(T/4 + 1)
	p.want("RDMA WRITE Last 101 A 44B")
	p.in(ack(101, 1))
	p.wantCQ("1 0 1 300")
	p.advance(10 * T)
	p.want("")
	if c := p.dev.Counters(); c.Timeouts != 1 {
		t.Errorf("%d timeouts", c.Timeouts)
	}
}

// TestRNRWait: nothing is sent before the timer of the NAK, then from its PSN.
func TestRNRWait(t *testing.T) {
	p := newPeer(t, nil)
	p.write(1, 10, ring.FlagSignaled)
	p.write(2, 10, ring.FlagSignaled)
	p.out()
	p.in(nak(101, wire.RNRNAK(14))) // 1.28 ms
	p.wantCQ("1 0 1 10")
	p.write(3, 10, 0)
	p.want("")
	p.advance(1279 * sim.Microsecond)
	p.want("")
	p.advance(sim.Microsecond)
	p.want("RDMA WRITE Only 101 A va=1000 key=abcd len=10 10B; RDMA WRITE Only 102 A va=1000 key=abcd len=10 10B")
}

// TestReadResponses: data, gaps and repetition of READs.
func TestReadResponses(t *testing.T) {
	data := bytesOf(600, 9)
	first := pkt{op: wire.RCReadRespFirst, psn: 100, syn: wire.ACK(31), pay: data[:256]}
	middle := pkt{op: wire.RCReadRespMiddle, psn: 101, pay: data[256:512]}
	last := pkt{op: wire.RCReadRespLast, psn: 102, syn: wire.ACK(31), pay: data[512:]}
	p := newPeer(t, nil)
	p.read(1, 600)
	p.write(2, 4, ring.FlagSignaled)
	p.want("RDMA READ Request 100 A va=2000 key=abcd len=600; RDMA WRITE Only 103 A va=1000 key=abcd len=4 4B")
	p.in(first, last) // the middle is lost
	p.want("RDMA READ Request 101 A va=2100 key=abcd len=344; RDMA WRITE Only 103 A va=1000 key=abcd len=4 4B")
	p.in(ack(103, 2)) // implied NAK once more, not repeated
	p.want("")
	again := pkt{op: wire.RCReadRespFirst, psn: 101, syn: wire.ACK(31), pay: data[256:512]}
	p.in(again)
	p.wantCQ("")
	p.in(last)
	p.wantCQ("1 0 2 600")
	p.in(middle, last) // late
	p.in(ack(103, 2))
	p.wantCQ("2 0 1 4")
	if !bytes.Equal(p.buf.B[4096:4696], data) {
		t.Error("data differ")
	}
	if c := p.dev.Counters(); c.ImpliedNaks != 1 {
		t.Errorf("%d implied NAKs", c.ImpliedNaks)
	}
}

// TestReadLimit: no more READs outstanding than agreed.
func TestReadLimit(t *testing.T) {
	p := newPeer(t, nil) // 2
	for i := range 3 {
		p.read(uint64(i), 10)
	}
	p.want("RDMA READ Request 100 A va=2000 key=abcd len=10; RDMA READ Request 101 A va=2000 key=abcd len=10")
	p.in(pkt{op: wire.RCReadRespOnly, psn: 100, syn: wire.ACK(31), pay: bytesOf(10, 1)})
	p.want("RDMA READ Request 102 A va=2000 key=abcd len=10")
}

// TestFence: a fenced request waits for the READs before it and sends what
// they brought.
func TestFence(t *testing.T) {
	p := newPeer(t, nil)
	p.read(1, 8)
	p.send(ring.Send{ID: 2, Opcode: ring.OpSend, Flags: ring.FlagFence, SGEs: []ring.SGE{p.buf.SGE(4096, 8)}})
	p.want("RDMA READ Request 100 A va=2000 key=abcd len=8")
	p.in(pkt{op: wire.RCReadRespOnly, psn: 100, syn: wire.ACK(31), pay: []byte("8 bytes!")})
	f := p.dev.Next(0)
	if f == nil || string(f.Pay) != "8 bytes!" {
		t.Fatalf("sent %q", f.Pay)
	}
	p.pool.Put(f)
}

// TestDrain: SQD stops new requests, finishes those begun, and says so.
func TestDrain(t *testing.T) {
	p := newPeer(t, nil)
	p.write(1, 300, ring.FlagSignaled)
	f := p.dev.Next(0)
	p.pool.Put(f)
	p.write(2, 10, ring.FlagSignaled)
	if err := p.qp.Modify(&hca.QPAttr{State: hca.SQD}, hca.AttrState|hca.AttrEnSQDAsync); err != nil {
		t.Fatal(err)
	}
	p.want("RDMA WRITE Last 101 A 44B")
	p.wantEvents()
	p.in(ack(101, 1))
	p.wantCQ("1 0 1 300")
	p.wantEvents(hca.EventSQDrained)
	p.want("")
	p.modify(hca.RTS)
	p.want("RDMA WRITE Only 102 A va=1000 key=abcd len=10 10B")
}

// TestReset: a queue pair can be used again from Reset.
func TestReset(t *testing.T) {
	p := newPeer(t, nil)
	p.write(1, 10, 0)
	p.out()
	p.recv(1, 0, 1)
	p.modify(hca.Reset)
	if p.sq().Producer() != 0 || p.sq().Consumer() != 0 {
		t.Error("the rings are not empty")
	}
	p.in(ack(100, 1))
	p.advance(sim.Second)
	p.want("")
	p.wantCQ("")
	a := hca.QPAttr{Port: 1, PathMTU: 2, DestQPN: peerQPN, SQPSN: 7, AV: hca.AddressVector{SGIDIndex: 1, DGID: v4gid(9)}}
	for _, s := range []struct {
		to hca.QPState
		m  hca.AttrMask
	}{{hca.Init, toInit}, {hca.RTR, toRTR}, {hca.RTS, toRTS}} {
		a.State = s.to
		if err := p.qp.Modify(&a, s.m); err != nil {
			t.Fatal(err)
		}
	}
	p.write(5, 300, 0)
	p.want("RDMA WRITE Only 7 A va=1000 key=abcd len=300 300B")
}

// TestAckBeforeFault: what stands before a request that cannot be carried out,
// or before a drained queue, is acknowledged without a timeout.
func TestAckBeforeFault(t *testing.T) {
	p := newPeer(t, nil)
	p.qp.Post(&ring.Send{ID: 1, Opcode: ring.OpRDMAWrite, SGEs: []ring.SGE{p.buf.SGE(0, 4)}})
	p.send(ring.Send{ID: 2, Opcode: 9})
	p.want("RDMA WRITE Only 100 A va=0 key=0 len=4 4B")

	p = newPeer(t, nil)
	p.qp.Post(&ring.Send{ID: 1, Opcode: ring.OpRDMAWrite, SGEs: []ring.SGE{p.buf.SGE(0, 4)}})
	p.send(ring.Send{ID: 2, Opcode: ring.OpRDMAWrite, SGEs: []ring.SGE{p.buf.SGE(0, 4)}})
	f := p.dev.Next(0)
	if wire.BTH(f.Data[42:]).AckReq() {
		t.Fatal("the first of two asks")
	}
	p.pool.Put(f)
	if err := p.qp.Modify(&hca.QPAttr{State: hca.SQD}, hca.AttrState); err != nil {
		t.Fatal(err)
	}
	p.want("RDMA WRITE Only 100 A va=0 key=0 len=4 4B")
	p.want("")
}
