package mads_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"cnuas/hca"
	mads "cnuas/hca/mad"
	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
)

// transfer has a client at port 1 ask a server at port 2 with out bytes and the
// server answer with in bytes; -1 is a plain MAD.
func transfer(t *testing.T, n *net, c mad.Class, method mad.Method, out, in int) (client, server *user) {
	t.Helper()
	reg := mads.Registration{Class: c, RMPP: true, OUI: openIB}
	a, client := n.port(1).agent(t, reg)
	reg.Methods = methods(method)
	_, server = n.port(2).agent(t, reg)
	server.answer = func(a *mads.Agent, m *mads.Message) {
		r := respond(m, in)
		r.Packet().SetMethod(method | mad.MethodResponse)
		r.Retries = 7
		if err := a.Send(r); err != nil {
			t.Error(err)
		}
	}
	m := request(2, c, method, 1, out)
	m.Timeout, m.Retries = 5*sim.Second, 7
	if err := a.Send(m); err != nil {
		t.Fatal(err)
	}
	return client, server
}

func TestRMPPLengths(t *testing.T) {
	for _, c := range []struct {
		class mad.Class
		m     mad.Method
		data  int
	}{{mad.ClassSubnAdm, mad.MethodGetTable, 200}, {mad.ClassPing, mad.MethodGetMulti, 216}} {
		for _, out := range []int{-1, 0, 1, c.data, c.data + 1, 20 * c.data} {
			for _, in := range []int{-1, 0, 1, c.data - 1, c.data, c.data + 1, 40 * c.data, 10001} {
				n := newNet()
				client, server := transfer(t, n, c.class, c.m, out, in)
				n.run(sim.Second)
				if len(server.got) != 1 || len(client.got) != 1 {
					t.Fatalf("%v %d/%d: %d requests, %d responses\n%s", c.class, out, in, len(server.got), len(client.got), strings.Join(n.log[:min(30, len(n.log))], "\n"))
				}
				for _, x := range []struct {
					got  []byte
					want int
				}{{server.got[0].Data, out}, {client.got[0].Data, in}} {
					want := request(2, c.class, c.m, 0, x.want).Data
					if h := headLen(c.class); len(x.got) != len(want) || !bytes.Equal(x.got[h:], want[h:]) {
						t.Errorf("%v %d/%d: %d bytes instead of %d, or others", c.class, out, in, len(x.got), len(want))
					}
				}
				for lid, p := range n.ports {
					if p.tab.InFlight() != 0 {
						t.Errorf("%v %d/%d: port %d: %d in flight", c.class, out, in, lid, p.tab.InFlight())
					}
				}
			}
		}
	}
}

// TestRMPPDialogue: what an answer of three segments looks like on the wire.
func TestRMPPDialogue(t *testing.T) {
	n := newNet()
	transfer(t, n, mad.ClassSubnAdm, mad.MethodGetTable, -1, 500)
	n.run(sim.Second)
	want := strings.Join([]string{
		"0ps 1>2 GetTable",
		"1.000us 2>1 GetTableResp DATA 1/560",
		"2.000us 1>2 GetTable ACK 1/17",
		"3.000us 2>1 GetTableResp DATA 2/0",
		"3.000us 2>1 GetTableResp DATA 3/120",
		"4.000us 1>2 GetTable ACK 3/17",
	}, "\n")
	if got := strings.Join(n.log, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestRMPPLoss: messages arrive whole whatever single MAD is lost, and under
// random loss.
func TestRMPPLoss(t *testing.T) {
	run := func(what string, lose func(int, mad.Packet) bool) {
		t.Helper()
		n := newNet()
		n.lose = lose
		client, server := transfer(t, n, mad.ClassSubnAdm, mad.MethodGetMulti, 1000, 9000)
		n.run(200 * sim.Second)
		if len(client.got) != 1 || len(client.got[0].Data) != 9056 || len(server.got) != 1 {
			t.Errorf("%s: %d responses, %d requests\n%s", what, len(client.got), len(server.got), strings.Join(n.log, "\n"))
		}
		for _, p := range n.ports {
			if p.tab.InFlight() != 0 || p.tab.Receives() != 0 {
				t.Errorf("%s: left %d, %d", what, p.tab.InFlight(), p.tab.Receives())
			}
		}
	}
	n := newNet()
	transfer(t, n, mad.ClassSubnAdm, mad.MethodGetMulti, 1000, 9000)
	n.run(sim.Second)
	for i := 1; i <= n.n; i++ {
		run(fmt.Sprintf("loss of MAD %d", i), func(k int, _ mad.Packet) bool { return k == i })
	}
	e := sim.NewEngine(3)
	r := e.NewProc().NewRand(1)
	for i := range 20 {
		run(fmt.Sprintf("random loss %d", i), func(int, mad.Packet) bool { return r.Chance(0.05) })
	}
}

// TestRMPPSilence: a peer that says nothing, or no more.
func TestRMPPSilence(t *testing.T) {
	n := newNet()
	n.lose = func(_ int, m mad.Packet) bool {
		return m.Method() == mad.MethodGetMulti && mad.RMPP(m).Type() == mad.RMPPAck
	}
	client, server := transfer(t, n, mad.ClassSubnAdm, mad.MethodGetMulti, 1000, 9000)
	n.run(300 * sim.Second)
	if len(server.done) != 1 || server.done[0] != mads.ErrTimeout {
		t.Errorf("server without acknowledgements: %v", server.done)
	}
	if len(client.got) != 0 || len(client.done) != 1 {
		t.Errorf("client: %d responses, %v", len(client.got), client.done)
	}
	if !strings.Contains(n.log[len(n.log)-1], "ABORT") {
		t.Errorf("no ABORT but %q", n.log[len(n.log)-1])
	}
	for _, p := range n.ports {
		if p.tab.InFlight() != 0 || p.tab.Receives() != 0 {
			t.Errorf("left %d, %d", p.tab.InFlight(), p.tab.Receives())
		}
	}
}

// TestRMPPControl: STOP and ABORT end a transfer at once on either side.
func TestRMPPControl(t *testing.T) {
	for _, typ := range []mad.RMPPType{mad.RMPPStop, mad.RMPPAbort} {
		n := newNet()
		a := n.port(1)
		c, u := a.agent(t, mads.Registration{Class: mad.ClassSubnAdm, RMPP: true})
		say := func(m mad.Method, f mad.RMPPFields) {
			x := request(1, mad.ClassSubnAdm, m, uint64(c.TIDHigh())<<32|1, 200)
			f.Flags |= mad.RMPPActive
			f.Encode(x.Data)
			x.Addr.LID = 2
			a.sink.ReceiveMAD(1, &x.Addr, x.Data)
		}
		// A request that is being sent.
		m := request(2, mad.ClassSubnAdm, mad.MethodGetMulti, 1, 3000)
		m.Timeout = sim.Second
		if err := c.Send(m); err != nil {
			t.Fatal(err)
		}
		say(mad.MethodGetMultiResp, mad.RMPPFields{Type: typ, Status: mad.RMPPNoResources})
		if len(u.done) != 1 || u.done[0] != mads.ErrAborted || a.tab.InFlight() != 0 {
			t.Errorf("%v of a request: %v", typ, u.done)
		}
		// A response that is arriving.
		m = request(2, mad.ClassSubnAdm, mad.MethodGetTable, 1, -1)
		m.Timeout = sim.Second
		if err := c.Send(m); err != nil {
			t.Fatal(err)
		}
		say(mad.MethodGetTableResp, mad.RMPPFields{Type: mad.RMPPData, Flags: mad.RMPPFirst, Data1: 1})
		if a.tab.Receives() != 1 {
			t.Fatal("nothing is arriving")
		}
		say(mad.MethodGetTableResp, mad.RMPPFields{Type: typ, Status: mad.RMPPTooManyRetries})
		if len(u.done) != 2 || u.done[1] != mads.ErrAborted || a.tab.InFlight() != 0 || a.tab.Receives() != 0 {
			t.Errorf("%v of a response: %v, %d arriving", typ, u.done, a.tab.Receives())
		}
	}
}

// TestRMPPWrongs: segments that break the rules are answered by an ABORT.
func TestRMPPWrongs(t *testing.T) {
	for _, c := range []struct {
		name string
		ver  uint8
		f    mad.RMPPFields
		want string // of what is sent back
	}{
		{"version", 2, mad.RMPPFields{Type: mad.RMPPData, Flags: mad.RMPPFirst, Data1: 1}, "ABORT"},
		{"first without flag", 1, mad.RMPPFields{Type: mad.RMPPData, Data1: 1}, "ABORT"},
		{"payload too long", 1, mad.RMPPFields{Type: mad.RMPPData, Flags: mad.RMPPFirst | mad.RMPPLast, Data1: 1, Data2: 1000}, "ABORT"},
		{"in the middle", 1, mad.RMPPFields{Type: mad.RMPPData, Data1: 7}, ""},
		{"type 9", 1, mad.RMPPFields{Type: 9, Data1: 1}, ""},
		{"ACK of nothing", 1, mad.RMPPFields{Type: mad.RMPPAck, Data1: 1, Data2: 5}, ""},
		{"ABORT of nothing", 1, mad.RMPPFields{Type: mad.RMPPAbort, Status: 120}, ""},
	} {
		n := newNet()
		p := n.port(1)
		_, u := p.agent(t, mads.Registration{Class: mad.ClassSubnAdm, RMPP: true, Methods: methods(mad.MethodGetMulti)})
		m := request(1, mad.ClassSubnAdm, mad.MethodGetMulti, 1, 200)
		c.f.Flags |= mad.RMPPActive
		c.f.Encode(m.Data)
		m.Data[24] = c.ver
		m.Addr.LID = 2
		p.sink.ReceiveMAD(1, &m.Addr, m.Data)
		if len(u.got) != 0 || p.tab.Receives() != 0 {
			t.Errorf("%s: %d messages, %d arriving", c.name, len(u.got), p.tab.Receives())
		}
		if got := strings.Join(n.log, "|"); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: sent %q, want %q", c.name, got, c.want)
		}
	}
}

// TestRMPPFlood: peers that begin messages and never end them take a bounded
// amount, for a bounded time.
func TestRMPPFlood(t *testing.T) {
	n := newNet()
	p := n.port(1)
	_, u := p.agent(t, mads.Registration{Class: mad.ClassSubnAdm, RMPP: true, Methods: methods(mad.MethodGetMulti)})
	m := request(1, mad.ClassSubnAdm, mad.MethodGetMulti, 1, 200)
	m.Addr.LID = 2
	for i := range 3 * mads.MaxReceives {
		m.Packet().SetTID(uint64(i))
		f := mad.RMPPFields{Type: mad.RMPPData, Flags: mad.RMPPActive | mad.RMPPFirst, Data1: 1}
		f.Encode(m.Data)
		p.sink.ReceiveMAD(1, &m.Addr, m.Data)
	}
	if got := p.tab.Receives(); got != mads.MaxReceives || p.tab.Count.Overload == 0 {
		t.Errorf("%d arriving, %d refused", got, p.tab.Count.Overload)
	}
	n.run(41 * sim.Second)
	if p.tab.Receives() != 0 || len(u.got) != 0 {
		t.Errorf("%d arriving", p.tab.Receives())
	}
	// Complete ones make room for new ones.
	for i := range 2 * mads.MaxReceives {
		m.Packet().SetTID(uint64(i))
		f := mad.RMPPFields{Type: mad.RMPPData, Flags: mad.RMPPActive | mad.RMPPFirst | mad.RMPPLast, Data1: 1, Data2: 100}
		f.Encode(m.Data)
		p.sink.ReceiveMAD(1, &m.Addr, m.Data)
	}
	if len(u.got) != 2*mads.MaxReceives {
		t.Errorf("%d of %d messages", len(u.got), 2*mads.MaxReceives)
	}
}

// FuzzReceive: whatever MADs come, nothing panics, and when the last agent is
// closed nothing is left.
func FuzzReceive(f *testing.F) {
	for _, c := range []mad.Class{0x81, 0x01, 0x03, 0x04, 0x07, 0x32, 0x05} {
		for _, m := range []mad.Method{1, 3, 0x12, 0x81, 0x92, 7} {
			f.Add(request(2, c, m, 1<<32|1, 100).Data, []byte{1, 2, 3})
		}
	}
	f.Fuzz(func(t *testing.T, m, ops []byte) {
		n := newNet()
		p := n.port(1)
		var agents []*mads.Agent
		all := [2]uint64{^uint64(0), ^uint64(0)}
		for i, c := range []mad.Class{0x81, 0x01, 0x03, 0x04, 0x07, 0x32} {
			r := mads.Registration{Class: c, Methods: all, RMPP: c.HasRMPP(), OUI: openIB, OwnTimers: i&1 == 0}
			a, u := p.agent(t, r)
			u.answer = func(a *mads.Agent, m *mads.Message) { _ = a.Send(m) }
			agents = append(agents, a)
		}
		addr := hca.MADAddress{QPN: 1, LID: 1}
		b := make([]byte, mad.PacketLen)
		for i, o := range ops[:min(len(ops), 64)] {
			copy(b, m)
			b[0] = 1
			if len(m) > 0 {
				b[(i*31+int(o))%64] ^= o
			}
			for qp := range uint32(2) {
				p.sink.ReceiveMAD(qp, &addr, b)
			}
			x := mads.Message{Addr: addr, Data: append([]byte(nil), m...), Timeout: sim.Time(o) * sim.Millisecond}
			_ = agents[int(o)%len(agents)].Send(&x)
			n.run(sim.Time(o) * sim.Millisecond)
			if len(n.queue) > 10000 {
				break
			}
		}
		p.sink.ReceiveMAD(0, &addr, m[:min(len(m), 255)])
		for _, a := range agents {
			a.Close()
		}
		if p.tab.InFlight() != 0 || p.tab.Receives() != 0 {
			t.Errorf("left: %d, %d", p.tab.InFlight(), p.tab.Receives())
		}
	})
}
