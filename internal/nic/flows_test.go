package nic

import (
	"fmt"
	"testing"

	"cnuas/internal/wire"
)

// step is a packet that arrives for the kernel, or one that it sends.
type step struct {
	out      bool
	op       wire.Opcode
	qpn, psn uint32
	port     uint16
}

func (t *flowTable) play(peer byte, steps ...step) {
	p := [16]byte{15: peer}
	for _, s := range steps {
		if s.out {
			t.sent(&p, s.op, s.qpn, s.psn, s.port)
		} else {
			t.received(&p, s.op, s.qpn, s.psn, s.port)
		}
	}
}

// known lists what the table has learned, in the order of the flows.
func (t *flowTable) known() string {
	s := ""
	for i := range t.flows {
		if f := &t.flows[i]; f.known {
			s += fmt.Sprintf("%d:%d-%d ", f.peer[15], f.local, f.remote)
			if t.remote(&f.peer, f.remote) != f || t.local(&f.peer, f.local) != f {
				s += "(not found) "
			}
		}
	}
	return s
}

// in and out name the parts of a scenario.
func in(op wire.Opcode, qpn, psn uint32) step  { return step{false, op, qpn, psn, 0xc000} }
func out(op wire.Opcode, qpn, psn uint32) step { return step{true, op, qpn, psn, 0xd000} }

func TestFlowsLearn(t *testing.T) {
	const write, ack, read, resp = wire.RCWriteMiddle, wire.RCAcknowledge, wire.RCReadRequest, wire.RCReadRespMiddle
	for _, c := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"nothing was sent", []step{in(write, 17, 100)}, ""},
		{"ACK of the last", []step{in(write, 17, 100), out(ack, 55, 100)}, "1:17-55 "},
		{"ACK of an earlier one", []step{in(write, 17, 100), in(write, 17, 227), out(ack, 55, 100)}, "1:17-55 "},
		{"NAK of one that is missing", []step{in(write, 17, 100), out(ack, 55, 101)}, "1:17-55 "},
		{"around the end of the range", []step{in(write, 17, 3), out(ack, 55, 0xfffffe)}, "1:17-55 "},
		{"ACK of something else", []step{in(write, 17, 100), out(ack, 55, 5000)}, ""},
		{"READ response", []step{in(read, 17, 100), out(wire.RCReadRespFirst, 55, 100), out(resp, 55, 99000)}, "1:17-55 "},
		{"a request is no reply", []step{in(write, 17, 100), out(write, 55, 100)}, ""},
		{"atomic", []step{in(wire.RCFetchAdd, 17, 9), out(wire.RCAtomicAcknowledge, 55, 9)}, "1:17-55 "},
		{"the kernel asks: ACKs arrive, more is sent", []step{in(ack, 17, 100), out(write, 55, 164)}, "1:17-55 "},
		{"the kernel reads", []step{in(resp, 17, 100), out(read, 55, 4196)}, "1:17-55 "},
		{"a reply arrives, another one leaves", []step{in(resp, 17, 100), out(ack, 55, 100)}, ""},
		{"two that it could be", []step{in(write, 17, 100), in(write, 18, 300), out(ack, 55, 200)}, ""},
		{"two, and a port that decides", []step{in(write, 17, 100), {false, write, 18, 300, 0xd000}, out(ack, 55, 200)}, "1:18-55 "},
		{"the first is known, so it is the second", []step{in(write, 17, 100), out(ack, 55, 100), in(write, 18, 100), out(ack, 56, 100)}, "1:17-55 1:18-56 "},
		{"connected anew", []step{in(write, 17, 100), out(ack, 55, 100), in(write, 17, 90000)}, ""},
		{"connected anew to another", []step{in(write, 17, 100), out(ack, 55, 100), in(write, 17, 90000), out(ack, 56, 90000)}, "1:17-56 "},
		{"the peer's number goes to another", []step{in(write, 17, 100), out(ack, 55, 100), in(write, 18, 90000), out(ack, 55, 90000)}, "1:18-55 "},
	} {
		var f flowTable
		f.init(4)
		f.play(2, in(write, 17, 100)) // somebody else with the same numbers
		f.play(1, c.steps...)
		if got := f.known(); got != c.want {
			t.Errorf("%s: known %q, want %q", c.name, got, c.want)
		}
	}
}

// The oldest flow goes for a new one and is learned again.
func TestFlowsAreBounded(t *testing.T) {
	var f flowTable
	f.init(3)
	for q := range uint32(5) {
		f.play(1, in(wire.RCSendOnly, q, q*100000), out(wire.RCAcknowledge, 50+q, q*100000))
	}
	if got := f.known(); got != "1:3-53 1:4-54 1:2-52 " || f.unknown != 0 {
		t.Errorf("known %q, %d unknown", got, f.unknown)
	}
	f.play(1, in(wire.RCSendOnly, 0, 1), out(wire.RCAcknowledge, 50, 1))
	if got := f.known(); got != "1:3-53 1:4-54 1:0-50 " {
		t.Errorf("known %q", got)
	}
}

func TestFlowsAllocateNothing(t *testing.T) {
	var f flowTable
	f.init(64)
	p := [16]byte{15: 1}
	q := uint32(0)
	if n := testing.AllocsPerRun(1000, func() {
		q++
		f.received(&p, wire.RCSendOnly, q%100, q, 1)
		f.sent(&p, wire.RCAcknowledge, q%90, q, 1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkFlows is what a connection that is known costs for a packet in and
// its ACK.
func BenchmarkFlows(b *testing.B) {
	var f flowTable
	f.init(DefaultFlows)
	p := [16]byte{10: 0xff, 11: 0xff, 12: 10, 15: 1}
	for i := range b.N {
		q := uint32(i % 32)
		f.received(&p, wire.RCWriteMiddle, q, q<<18|uint32(i)&0x3ff, 1)
		f.sent(&p, wire.RCAcknowledge, 100+q, q<<18|uint32(i)&0x3ff, 1)
	}
}

// FuzzFlows plays arbitrary packets and checks that the chains hold together.
func FuzzFlows(f *testing.F) {
	f.Add([]byte{0, 7, 17, 1, 1, 1, 17, 55, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		var x flowTable
		x.init(5)
		data = data[:min(len(data), 500)]
		for ; len(data) >= 5; data = data[5:] {
			x.play(data[0]>>6, step{data[0]&1 != 0, wire.Opcode(data[1] & 31), uint32(data[2] & 15), uint32(data[3]) << (data[0] >> 1 & 15), uint16(data[4] & 1)})
			unknown, local, remote := 0, 0, 0
			for i := range x.flows {
				if f := &x.flows[i]; f.used && !f.known {
					unknown++
				}
			}
			for h := range x.byLocal {
				for i := x.byLocal[h]; i >= 0; i = x.flows[i].nextLocal {
					local++
				}
				for i := x.byRemote[h]; i >= 0; i = x.flows[i].nextRemote {
					remote++
				}
			}
			used := 0
			for i := range x.flows {
				if x.flows[i].used {
					used++
				}
			}
			if unknown != x.unknown || local != used || remote != used-unknown {
				t.Fatalf("%d unknown, counted %d; %d used, %d and %d in chains", x.unknown, unknown, used, local, remote)
			}
			if s := x.known(); len(s) > 0 && s[len(s)-2] == ')' {
				t.Fatal(s)
			}
		}
	})
}
