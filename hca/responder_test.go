package hca_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"cnuas/hca"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// TestResponder: packets in, packets out. Each row begins with a fresh queue
// pair that expects PSN 200.
func TestResponder(t *testing.T) {
	full := bytesOf(256, 1)
	part := bytesOf(99, 2)
	rows := []struct {
		name  string
		attr  func(*hca.QPAttr)
		do    func(p *peer) // before
		in    func(p *peer) []pkt
		out   string
		cq    string
		state hca.QPState
		ev    []hca.EventType
		check func(t *testing.T, p *peer)
	}{
		{
			name: "WRITE only, acknowledged on request",
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCWriteOnly, psn: 200, va: p.buf.Addr + 5, rkey: p.buf.MR.RKey(), dmaLen: 99, pay: part, ack: true}}
			},
			out: "Acknowledge 200 [ACK msn 1]", state: hca.RTS,
			check: func(t *testing.T, p *peer) {
				if !bytes.Equal(p.buf.B[5:104], part) {
					t.Error("data differ")
				}
			},
		},
		{
			name: "WRITE without request for an acknowledge",
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCWriteOnly, psn: 200, va: p.buf.Addr, rkey: p.buf.MR.RKey(), dmaLen: 99, pay: part}}
			},
			state: hca.RTS,
		},
		{
			name: "WRITE first, middle, last; acknowledges coalesce",
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCWriteFirst, psn: 200, va: p.buf.Addr, rkey: p.buf.MR.RKey(), dmaLen: 611, pay: full, ack: true},
					{op: wire.RCWriteMiddle, psn: 201, pay: full, ack: true}, {op: wire.RCWriteLast, psn: 202, pay: part, ack: true}}
			},
			out: "Acknowledge 202 [ACK msn 1]", state: hca.RTS,
			check: func(t *testing.T, p *peer) {
				if !bytes.Equal(p.buf.B[:611], append(append(append([]byte{}, full...), full...), part...)) {
					t.Error("data differ")
				}
			},
		},
		{
			name: "WRITE of nothing with a bad key",
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCWriteOnly, psn: 200, va: 1, rkey: 12345, ack: true}}
			},
			out: "Acknowledge 200 [ACK msn 1]", state: hca.RTS,
		},
		{
			name: "WRITE with immediate takes a receive",
			do:   func(p *peer) { p.recv(7, 0, 10) },
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCWriteOnlyImm, psn: 200, va: p.buf.Addr, rkey: p.buf.MR.RKey(), dmaLen: 99, pay: part, imm: 5, ack: true}}
			},
			out: "Acknowledge 200 [ACK msn 1]", cq: "7 0 129 99", state: hca.RTS,
		},
		{
			name: "SEND in three packets",
			do:   func(p *peer) { p.recv(8, 1000, 611) },
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCSendFirst, psn: 200, pay: full}, {op: wire.RCSendMiddle, psn: 201, pay: full}, {op: wire.RCSendLastImm, psn: 202, pay: part, imm: 1, ack: true}}
			},
			out: "Acknowledge 202 [ACK msn 1]", cq: "8 0 128 611", state: hca.RTS,
		},
		{
			name: "SEND without a receive: RNR NAK, then silence",
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCSendOnly, psn: 200, pay: part, ack: true}, {op: wire.RCSendOnly, psn: 201, pay: part, ack: true}}
			},
			out: "Acknowledge 200 [RNR NAK (timer 12) msn 0]", state: hca.RTS,
		},
		{
			name: "WRITE with immediate without a receive: RNR NAK at the last packet",
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCWriteFirst, psn: 200, va: p.buf.Addr, rkey: p.buf.MR.RKey(), dmaLen: 355, pay: full}, {op: wire.RCWriteLastImm, psn: 201, pay: part, ack: true}}
			},
			out: "Acknowledge 201 [RNR NAK (timer 12) msn 0]", state: hca.RTS,
		},
		{
			name: "gap: one NAK",
			do:   func(p *peer) { p.recv(1, 0, 500) },
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCSendOnly, psn: 202, pay: part, ack: true}, {op: wire.RCSendOnly, psn: 203, pay: part, ack: true}}
			},
			out: "Acknowledge 200 [NAK PSN sequence error msn 0]", state: hca.RTS,
		},
		{
			name: "gap closed before the NAK has left",
			do:   func(p *peer) { p.recv(1, 0, 500) },
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCSendOnly, psn: 201, pay: part, ack: true}, {op: wire.RCSendOnly, psn: 200, pay: part, ack: true}}
			},
			out: "Acknowledge 200 [ACK msn 1]", cq: "1 0 128 99", state: hca.RTS,
		},
		{
			name: "duplicate is acknowledged, not executed",
			do:   func(p *peer) { p.recv(1, 0, 500); p.recv(2, 0, 500) },
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCSendOnly, psn: 200, pay: part}, {op: wire.RCSendOnly, psn: 200, pay: part, ack: true}}
			},
			out: "Acknowledge 200 [ACK msn 1]", cq: "1 0 128 99", state: hca.RTS,
		},
		{
			name: "SEND too long",
			do:   func(p *peer) { p.recv(1, 0, 50); p.recv(2, 0, 500) },
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCSendOnly, psn: 200, pay: part, ack: true}}
			},
			out: "Acknowledge 200 [NAK invalid request msn 0]", cq: "1 1 128 0; 2 5 128 0", state: hca.Err, ev: []hca.EventType{hca.EventQPReqErr},
		},
		{
			name: "receive with a bad key",
			do:   func(p *peer) { p.qp.PostRecv(1, sge(p.buf.Addr, 500, 77)); p.recv(2, 0, 500) },
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCSendOnly, psn: 200, pay: part, ack: true}}
			},
			out: "Acknowledge 200 [NAK remote operational error msn 0]", cq: "1 4 128 0; 2 5 128 0", state: hca.Err, ev: []hca.EventType{hca.EventQPFatal},
		},
		{
			name: "WRITE with a bad key",
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCWriteOnly, psn: 200, va: p.buf.Addr, rkey: p.buf.MR.RKey() + 1, dmaLen: 99, pay: part, ack: true}}
			},
			out: "Acknowledge 200 [NAK remote access error msn 0]", state: hca.Err, ev: []hca.EventType{hca.EventQPAccessErr},
		},
		{
			name: "WRITE past the end of a region",
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCWriteOnly, psn: 200, va: p.buf.Addr + 1<<16 - 98, rkey: p.buf.MR.RKey(), dmaLen: 99, pay: part, ack: true}}
			},
			out: "Acknowledge 200 [NAK remote access error msn 0]", state: hca.Err, ev: []hca.EventType{hca.EventQPAccessErr},
		},
		{
			name: "WRITE where the queue pair forbids it",
			attr: func(a *hca.QPAttr) { a.Access = hca.AccessRemoteRead },
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCWriteOnly, psn: 200, va: p.buf.Addr, rkey: p.buf.MR.RKey(), dmaLen: 99, pay: part, ack: true}}
			},
			out: "Acknowledge 200 [NAK invalid request msn 0]", state: hca.Err, ev: []hca.EventType{hca.EventQPReqErr},
		},
		{
			name: "WRITE longer than its RETH says",
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCWriteFirst, psn: 200, va: p.buf.Addr, rkey: p.buf.MR.RKey(), dmaLen: 300, pay: full}, {op: wire.RCWriteLast, psn: 201, pay: part}}
			},
			out: "Acknowledge 201 [NAK invalid request msn 0]", state: hca.Err, ev: []hca.EventType{hca.EventQPReqErr},
		},
		{
			name: "middle without a beginning",
			in:   func(p *peer) []pkt { return []pkt{{op: wire.RCWriteMiddle, psn: 200, pay: full}} },
			out:  "Acknowledge 200 [NAK invalid request msn 0]", state: hca.Err, ev: []hca.EventType{hca.EventQPReqErr},
		},
		{
			name: "SEND inside of a WRITE",
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCWriteFirst, psn: 200, va: p.buf.Addr, rkey: p.buf.MR.RKey(), dmaLen: 300, pay: full}, {op: wire.RCSendMiddle, psn: 201, pay: full}}
			},
			out: "Acknowledge 201 [NAK invalid request msn 0]", state: hca.Err, ev: []hca.EventType{hca.EventQPReqErr},
		},
		{
			name: "middle that is not full",
			in:   func(p *peer) []pkt { return []pkt{{op: wire.RCSendFirst, psn: 200, pay: part}} },
			out:  "Acknowledge 200 [NAK invalid request msn 0]", state: hca.Err, ev: []hca.EventType{hca.EventQPReqErr},
		},
		{
			name: "payload above the path MTU",
			in:   func(p *peer) []pkt { return []pkt{{op: wire.RCSendOnly, psn: 200, pay: bytesOf(257, 1)}} },
			out:  "Acknowledge 200 [NAK invalid request msn 0]", state: hca.Err, ev: []hca.EventType{hca.EventQPReqErr},
		},
		{
			name: "READ in three packets, then the ACK of a WRITE behind it",
			do:   func(p *peer) { fill(p.buf.B, 3) },
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCReadRequest, psn: 200, va: p.buf.Addr, rkey: p.buf.MR.RKey(), dmaLen: 600, ack: true},
					{op: wire.RCWriteOnly, psn: 203, va: p.buf.Addr, rkey: p.buf.MR.RKey(), dmaLen: 99, pay: part, ack: true}}
			},
			out: "RDMA READ response First 200 [ACK msn 1] 256B; RDMA READ response Middle 201 256B; RDMA READ response Last 202 [ACK msn 1] 88B; Acknowledge 203 [ACK msn 2]", state: hca.RTS,
		},
		{
			name: "READ of nothing",
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCReadRequest, psn: 200, va: 0, rkey: 0, dmaLen: 0, ack: true}}
			},
			out: "RDMA READ response Only 200 [ACK msn 1]", state: hca.RTS,
		},
		{
			name: "duplicate READ begins in the middle",
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCReadRequest, psn: 200, va: p.buf.Addr, rkey: p.buf.MR.RKey(), dmaLen: 600, ack: true},
					{op: wire.RCReadRequest, psn: 201, va: p.buf.Addr + 256, rkey: p.buf.MR.RKey(), dmaLen: 344, ack: true}}
			},
			out: "RDMA READ response First 201 [ACK msn 1] 256B; RDMA READ response Last 202 [ACK msn 1] 88B", state: hca.RTS,
		},
		{
			name: "duplicate READ past the end of the first is dropped",
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCReadRequest, psn: 200, va: p.buf.Addr, rkey: p.buf.MR.RKey(), dmaLen: 100, ack: true},
					{op: wire.RCReadRequest, psn: 200, va: p.buf.Addr, rkey: p.buf.MR.RKey(), dmaLen: 300, ack: true}}
			},
			out: "RDMA READ response Only 200 [ACK msn 1] 100B", state: hca.RTS,
		},
		{
			name: "more READs than agreed",
			in: func(p *peer) []pkt {
				r := func(psn uint32) pkt {
					return pkt{op: wire.RCReadRequest, psn: psn, va: p.buf.Addr, rkey: p.buf.MR.RKey(), dmaLen: 10, ack: true}
				}
				return []pkt{r(200), r(201), r(202)}
			},
			out:   "RDMA READ response Only 200 [ACK msn 1] 10B; RDMA READ response Only 201 [ACK msn 2] 10B; Acknowledge 202 [NAK invalid request msn 2]",
			state: hca.Err, ev: []hca.EventType{hca.EventQPReqErr},
		},
		{
			name: "READ with a bad key behind a good one",
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCReadRequest, psn: 200, va: p.buf.Addr, rkey: p.buf.MR.RKey(), dmaLen: 10, ack: true},
					{op: wire.RCReadRequest, psn: 201, va: p.buf.Addr, rkey: p.buf.MR.RKey() ^ 1, dmaLen: 10, ack: true}}
			},
			out:   "RDMA READ response Only 200 [ACK msn 1] 10B; Acknowledge 201 [NAK remote access error msn 1]",
			state: hca.Err, ev: []hca.EventType{hca.EventQPAccessErr},
		},
		{
			name: "FetchAdd, and its duplicate",
			do:   func(p *peer) { binary.NativeEndian.PutUint64(p.buf.B, 40) },
			in: func(p *peer) []pkt {
				a := pkt{op: wire.RCFetchAdd, psn: 200, va: p.buf.Addr, rkey: p.buf.MR.RKey(), swapAdd: 2, ack: true}
				return []pkt{a, a}
			},
			out: "ATOMIC Acknowledge 200 [ACK msn 1] orig=40", state: hca.RTS,
			check: func(t *testing.T, p *peer) {
				if v := binary.NativeEndian.Uint64(p.buf.B); v != 42 {
					t.Errorf("value %d, want 42: carried out more than once?", v)
				}
			},
		},
		{
			name: "CmpSwap after a WRITE sees it",
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCWriteOnly, psn: 200, va: p.buf.Addr, rkey: p.buf.MR.RKey(), dmaLen: 8, pay: binary.NativeEndian.AppendUint64(nil, 7)},
					{op: wire.RCCompareSwap, psn: 201, va: p.buf.Addr, rkey: p.buf.MR.RKey(), compare: 7, swapAdd: 9, ack: true}}
			},
			out: "ATOMIC Acknowledge 201 [ACK msn 2] orig=7", state: hca.RTS,
			check: func(t *testing.T, p *peer) {
				if v := binary.NativeEndian.Uint64(p.buf.B); v != 9 {
					t.Errorf("value %d, want 9", v)
				}
			},
		},
		{
			name: "atomic that is not aligned",
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCFetchAdd, psn: 200, va: p.buf.Addr + 4, rkey: p.buf.MR.RKey(), ack: true}}
			},
			out: "Acknowledge 200 [NAK invalid request msn 0]", state: hca.Err, ev: []hca.EventType{hca.EventQPReqErr},
		},
		{
			name: "solicited event bit and CE: completion and CNP",
			do:   func(p *peer) { p.recv(1, 0, 500) },
			in: func(p *peer) []pkt {
				return []pkt{{op: wire.RCSendOnly, psn: 200, pay: part, se: true, ce: true}, {op: wire.RCSendOnly, psn: 200, pay: part, ce: true}}
			},
			out: "Acknowledge 200 [ACK msn 1]; CNP 0", cq: "1 0 128 99", state: hca.RTS,
		},
	}
	for _, deferred := range []bool{false, true} {
		for _, r := range rows {
			if overIB && onlyRoCE[r.name] {
				continue
			}
			t.Run(fmt.Sprintf("%s/%v", r.name, deferred), func(t *testing.T) {
				p := newPeer(t, r.attr)
				p.deferred = deferred
				if r.do != nil {
					r.do(p)
				}
				p.in(r.in(p)...)
				p.want(r.out)
				p.wantCQ(r.cq)
				p.wantState(r.state)
				p.wantEvents(r.ev...)
				if r.check != nil {
					r.check(t, p)
				}
				p.dev.ReleaseSlab()
				if n := p.pool.Live(); n != 0 {
					t.Errorf("%d frames alive", n)
				}
			})
		}
	}
}

// TestResponderAfterNAK: a NAK is sent once for a gap, and again for the next.
func TestResponderAfterNAK(t *testing.T) {
	p := newPeer(t, nil)
	w := func(psn uint32) pkt {
		return pkt{op: wire.RCWriteOnly, psn: psn, va: p.buf.Addr, rkey: p.buf.MR.RKey(), dmaLen: 4, pay: []byte("abcd"), ack: true}
	}
	p.in(w(200))
	p.want("Acknowledge 200 [ACK msn 1]")
	p.in(w(203), w(204))
	p.want("Acknowledge 201 [NAK PSN sequence error msn 1]")
	p.in(w(205))
	p.want("")
	p.in(w(201))
	p.want("Acknowledge 201 [ACK msn 2]")
	p.in(w(204))
	p.want("Acknowledge 202 [NAK PSN sequence error msn 2]")
	p.in(w(200)) // an old one
	p.want("Acknowledge 201 [ACK msn 2]")
}

// TestRNRThenReceive: a SEND that was refused is taken when it comes again.
func TestRNRThenReceive(t *testing.T) {
	p := newPeer(t, nil)
	s := pkt{op: wire.RCSendOnly, psn: 200, pay: []byte("abcd"), ack: true}
	p.in(s)
	p.want("Acknowledge 200 [RNR NAK (timer 12) msn 0]")
	p.in(s)
	p.want("Acknowledge 200 [RNR NAK (timer 12) msn 0]")
	p.recv(3, 0, 4)
	p.in(s)
	p.want("Acknowledge 200 [ACK msn 1]")
	p.wantCQ("3 0 128 4")
}

// TestCNPInterval: at most one notification in 50 us and queue pair.
func TestCNPInterval(t *testing.T) {
	p := newPeer(t, nil)
	psn := uint32(200)
	mark := func() {
		p.in(pkt{op: wire.RCWriteOnly, psn: psn, va: p.buf.Addr, rkey: p.buf.MR.RKey(), dmaLen: 4, pay: []byte("abcd"), ce: true})
		psn++
	}
	mark()
	mark()
	p.want("CNP 0")
	p.advance(49 * sim.Microsecond)
	mark()
	p.want("")
	p.advance(1 * sim.Microsecond)
	mark()
	p.want("CNP 0")
	c := p.dev.Counters()
	if c.ECNMarked != 4 || c.CNPSent != 2 {
		t.Errorf("%d marks, %d CNPs; want 4 and 2", c.ECNMarked, c.CNPSent)
	}
}

// TestCNPFrame: class and bits of a notification.
func TestCNPFrame(t *testing.T) {
	p := newPeer(t, nil)
	p.want("")
	p.in(pkt{op: wire.RCWriteOnly, psn: 200, ce: true})
	if m := p.dev.Ready(); m != 1<<6 {
		t.Fatalf("ready %#x: a CNP leaves in the priority of DSCP 48", m)
	}
	f := p.dev.Next(6)
	b := f.AppendTo(nil)
	if b[15] != 48<<2 || !wire.BTH(b[42:]).BECN() || len(b) != 54+16+4 {
		t.Errorf("CNP % x", b)
	}
	if c := p.frame(pkt{op: wire.CNP}); len(c) != len(b) {
		t.Errorf("a CNP of %d bytes, want %d", len(b), len(c))
	}
	p.pool.Put(f)
	p.in(pkt{op: wire.CNP})
	if c := p.dev.Counters(); c.CNPReceived != 1 {
		t.Errorf("%d CNPs received", c.CNPReceived)
	}
}
