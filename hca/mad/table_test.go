package mads_test

import (
	"errors"
	"testing"

	"cnuas/hca"
	mads "cnuas/hca/mad"
	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
)

var openIB = [3]byte{0x00, 0x14, 0x05}

func TestRegister(t *testing.T) {
	get, trap := methods(mad.MethodGet), methods(mad.MethodTrap)
	tab := newNet().port(1).tab
	for _, c := range []struct {
		name string
		r    mads.Registration
		want error
	}{
		{"SM", mads.Registration{Class: 0x81, Version: 1, Methods: get}, nil},
		{"LID routed, its own table", mads.Registration{Class: 0x01, Version: 1, Methods: get}, nil},
		{"second for Get", mads.Registration{Class: 0x01, Version: 1, Methods: get}, mads.ErrInUse},
		{"one of several in use", mads.Registration{Class: 0x01, Version: 1, Methods: [2]uint64{get[0] | trap[0]}}, mads.ErrInUse},
		{"another method", mads.Registration{Class: 0x01, Version: 1, Methods: trap}, nil},
		{"another version", mads.Registration{Class: 0x01, Version: 2, Methods: get}, nil},
		{"a client", mads.Registration{Class: 0x01, Version: 1}, nil},
		{"another client", mads.Registration{Class: 0x01, Version: 1}, nil},
		{"SM class on QP1", mads.Registration{QP: 1, Class: 0x01, Version: 1}, mads.ErrInvalid},
		{"SA on QP0", mads.Registration{Class: 0x03, Version: 2}, mads.ErrInvalid},
		{"QP2", mads.Registration{QP: 2, Class: 0x03, Version: 2}, mads.ErrInvalid},
		{"version 8", mads.Registration{QP: 1, Class: 0x04, Version: 8}, mads.ErrInvalid},
		{"RMPP of a class without", mads.Registration{QP: 1, Class: 0x04, Version: 1, RMPP: true}, mads.ErrInvalid},
		{"SA with RMPP", mads.Registration{QP: 1, Class: 0x03, Version: 2, RMPP: true, Methods: get}, nil},
		{"class beyond", mads.Registration{QP: 1, Class: 0x50, Version: 1}, mads.ErrInvalid},
		{"vendor without OUI", mads.Registration{QP: 1, Class: 0x32, Version: 1, Methods: get}, mads.ErrInvalid},
		{"vendor", mads.Registration{QP: 1, Class: 0x32, Version: 1, Methods: get, OUI: openIB}, nil},
		{"other vendor", mads.Registration{QP: 1, Class: 0x32, Version: 1, Methods: get, OUI: [3]byte{1, 2, 3}}, nil},
		{"same vendor", mads.Registration{QP: 1, Class: 0x32, Version: 1, Methods: get, OUI: openIB}, mads.ErrInUse},
		{"no class, responses only", mads.Registration{QP: 1}, nil},
		{"no class, requests", mads.Registration{QP: 1, Methods: get}, mads.ErrInvalid},
		{"method 127", mads.Registration{QP: 1, Class: 0x0a, Version: 1, Methods: methods(127)}, nil},
		{"method 127 again", mads.Registration{QP: 1, Class: 0x0a, Version: 1, Methods: methods(127)}, mads.ErrInUse},
	} {
		if _, err := tab.Register(c.r, &user{}); err != c.want {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	p := newNet().port(1)
	p.roce = true
	if _, err := p.tab.Register(mads.Registration{Class: 0x01, Version: 1}, &user{}); err != mads.ErrNoQP {
		t.Errorf("QP0 of RoCE: %v", err)
	}
	if _, err := p.tab.Register(mads.Registration{QP: 1, Class: 0x07, Version: 2, Methods: methods(mad.MethodSend)}, &user{}); err != nil {
		t.Errorf("QP1 of RoCE: %v", err)
	}
}

// TestDispatch: requests go to who answers the method, responses to who asked.
func TestDispatch(t *testing.T) {
	n := newNet()
	a, b := n.port(1), n.port(2)
	_, getter := b.agent(t, mads.Registration{Class: 0x04, Methods: methods(mad.MethodGet)})
	_, setter := b.agent(t, mads.Registration{Class: 0x04, Methods: methods(mad.MethodSet)})
	answer := func(a *mads.Agent, m *mads.Message) {
		if err := a.Send(respond(m, -1)); err != nil {
			t.Error(err)
		}
	}
	getter.answer, setter.answer = answer, answer
	one, c1 := a.agent(t, mads.Registration{Class: 0x04})
	two, c2 := a.agent(t, mads.Registration{Class: 0x04})
	if one.TIDHigh() == two.TIDHigh() || one.TIDHigh() == 0 {
		t.Fatalf("TIDs of %#x and %#x", one.TIDHigh(), two.TIDHigh())
	}
	for i, x := range []struct {
		a *mads.Agent
		m mad.Method
	}{{one, mad.MethodGet}, {two, mad.MethodGet}, {two, mad.MethodSet}, {one, mad.MethodTrap}} {
		m := request(2, 0x04, x.m, 0xdead_0000_0007+uint64(i), -1)
		m.Timeout, m.Cookie = sim.Millisecond, uint64(i)
		if err := x.a.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	n.run(sim.Second)
	if len(getter.got) != 2 || len(setter.got) != 1 || len(c1.got) != 1 || len(c2.got) != 2 || b.tab.Count.NoAgent != 1 {
		t.Fatalf("%d Gets, %d Sets, %d and %d responses, %d for nobody", len(getter.got), len(setter.got), len(c1.got), len(c2.got), b.tab.Count.NoAgent)
	}
	if got := c1.got[0].Packet().TID(); got != uint64(one.TIDHigh())<<32|7 || c1.got[0].Cookie != 0 {
		t.Errorf("response %#x, cookie %d", got, c1.got[0].Cookie)
	}
	if c2.got[1].Cookie != 2 || c2.got[1].Addr.LID != 2 {
		t.Errorf("second response %+v", c2.got[1].Addr)
	}
	if len(c1.done) != 1 || c1.done[0] != mads.ErrTimeout {
		t.Errorf("Trap that nobody answers: %v", c1.done)
	}
	if a.tab.InFlight() != 0 {
		t.Errorf("%d in flight", a.tab.InFlight())
	}
}

// TestUnasked: a response that nobody waits for is dropped, unless its agent
// keeps the time itself.
func TestUnasked(t *testing.T) {
	n := newNet()
	p := n.port(1)
	a, u := p.agent(t, mads.Registration{Class: 0x81})
	own, o := p.agent(t, mads.Registration{Class: 0x81, OwnTimers: true})
	for _, x := range []*mads.Agent{a, own} {
		m := request(1, 0x81, mad.MethodGetResp, uint64(x.TIDHigh())<<32|1, -1)
		p.sink.ReceiveMAD(0, &m.Addr, m.Data)
		p.sink.ReceiveMAD(1, &m.Addr, m.Data) // not of this queue pair
		m.Data[1] = 0x04
		p.sink.ReceiveMAD(1, &m.Addr, m.Data) // the agent is on the other one
	}
	if len(u.got) != 0 || len(o.got) != 1 || p.tab.Count.Unasked != 1 || p.tab.Count.Malformed != 2 || p.tab.Count.NoAgent != 2 {
		t.Errorf("%d and %d, %+v", len(u.got), len(o.got), p.tab.Count)
	}
}

// TestRetries: a request is sent again at each timeout, and the program learns
// of the last.
func TestRetries(t *testing.T) {
	n := newNet()
	a := n.port(1)
	c, u := a.agent(t, mads.Registration{Class: 0x04})
	m := request(9, 0x04, mad.MethodGet, 5, -1)
	m.Timeout, m.Retries, m.Cookie = 200*sim.Millisecond, 3, 77
	if err := c.Send(m); err != nil {
		t.Fatal(err)
	}
	if err := c.Send(m); err != mads.ErrDuplicate {
		t.Errorf("the same again: %v", err)
	}
	n.run(799 * sim.Millisecond)
	if n.n != 4 || len(u.done) != 0 {
		t.Fatalf("%d sent, %v", n.n, u.done)
	}
	n.run(2 * sim.Millisecond)
	if len(u.done) != 1 || u.done[0] != mads.ErrTimeout || a.tab.Count.Retries != 3 || a.tab.Count.Timeouts != 1 {
		t.Errorf("%v %+v", u.done, a.tab.Count)
	}
	// A response that comes late, or after Cancel, is dropped.
	if err := c.Send(m); err != nil {
		t.Fatal(err)
	}
	if got := c.Cancel(77); got != 1 || a.tab.InFlight() != 0 {
		t.Errorf("cancelled %d", got)
	}
	r := request(1, 0x04, mad.MethodGetResp, uint64(c.TIDHigh())<<32|5, -1)
	a.sink.ReceiveMAD(1, &r.Addr, r.Data)
	n.run(sim.Second)
	if len(u.got) != 0 || len(u.done) != 1 {
		t.Errorf("after Cancel: %d, %v", len(u.got), u.done)
	}
}

func TestSendErrors(t *testing.T) {
	n := newNet()
	p := n.port(1)
	c, _ := p.agent(t, mads.Registration{Class: 0x04})
	good := func() *mads.Message { return request(2, 0x04, mad.MethodGet, 1, -1) }
	for _, x := range []struct {
		name   string
		change func(m *mads.Message)
	}{
		{"short", func(m *mads.Message) { m.Data = m.Data[:100] }},
		{"empty", func(m *mads.Message) { m.Data = nil }},
		{"class of QP0", func(m *mads.Message) { m.Data[1] = 0x81 }},
		{"timeout", func(m *mads.Message) { m.Timeout = -1 }},
		{"retries", func(m *mads.Message) { m.Retries = 1 << 20 }},
	} {
		m := good()
		x.change(m)
		if err := c.Send(m); err != mads.ErrInvalid {
			t.Errorf("%s: %v", x.name, err)
		}
	}
	p.err = hca.ErrInvalid
	m := good()
	m.Timeout = sim.Second
	if err := c.Send(m); !errors.Is(err, hca.ErrInvalid) || p.tab.InFlight() != 0 {
		t.Errorf("a port that refuses: %v", err)
	}
	p.err = nil
	c.Close()
	c.Close()
	if err := c.Send(good()); err != mads.ErrClosed {
		t.Errorf("closed: %v", err)
	}
}

// TestClose: what an agent had is gone, others can answer its requests, and
// nothing is reported any more.
func TestClose(t *testing.T) {
	n := newNet()
	p := n.port(1)
	reg := mads.Registration{Class: 0x03, Methods: methods(mad.MethodGet), RMPP: true}
	a, u := p.agent(t, reg)
	m := request(9, 0x03, mad.MethodGet, 1, -1)
	m.Timeout = sim.Millisecond
	long := request(9, 0x03, mad.MethodGetMulti, 2, 1000)
	if err := errors.Join(a.Send(m), a.Send(long)); err != nil {
		t.Fatal(err)
	}
	in := request(1, 0x03, mad.MethodGet, 3, 1000)
	f := mad.RMPPFields{Type: mad.RMPPData, Flags: mad.RMPPActive | mad.RMPPFirst, Data1: 1}
	seg := append([]byte(nil), in.Data[:256]...)
	f.Encode(seg)
	p.sink.ReceiveMAD(1, &in.Addr, seg)
	if p.tab.InFlight() != 2 || p.tab.Receives() != 1 {
		t.Fatalf("%d in flight, %d arriving", p.tab.InFlight(), p.tab.Receives())
	}
	a.Close()
	if p.tab.InFlight() != 0 || p.tab.Receives() != 0 || p.tab.Agents() != 0 {
		t.Errorf("left: %d, %d, %d", p.tab.InFlight(), p.tab.Receives(), p.tab.Agents())
	}
	b, _ := p.agent(t, reg)
	if b.TIDHigh() == a.TIDHigh() {
		t.Error("the TID is used again at once: late responses would reach another agent")
	}
	n.run(100 * sim.Second)
	if len(u.got)+len(u.done) != 0 {
		t.Errorf("reported after Close: %d, %v", len(u.got), u.done)
	}
}

// TestTIDs: whose transaction IDs get the agent's half.
func TestTIDs(t *testing.T) {
	n := newNet()
	p := n.port(1)
	var tid uint64
	n.lose = func(_ int, m mad.Packet) bool { tid = m.TID(); return true }
	for _, x := range []struct {
		c    mad.Class
		m    mad.Method
		keep bool
		own  bool
	}{
		{0x04, mad.MethodGet, false, true},
		{0x04, mad.MethodSet, false, true},
		{0x04, mad.MethodTrap, false, true}, // its repress has to find back
		{0x04, mad.MethodGetResp, false, false},
		{0x04, mad.MethodTrapRepress, false, false},
		{0x04, mad.MethodGet, true, false},
		{0x07, mad.MethodSend, false, false}, // a reply repeats the TID of the request
		{0x0a, 0x33, false, true},
	} {
		a, _ := p.agent(t, mads.Registration{Class: x.c})
		m := request(2, x.c, x.m, 0xaaaa_0000_0001, -1)
		m.KeepTID = x.keep
		if err := a.Send(m); err != nil {
			t.Fatal(err)
		}
		want := uint64(0xaaaa_0000_0001)
		if x.own {
			want = uint64(a.TIDHigh())<<32 | 1
		}
		if tid != want {
			t.Errorf("%v %v: TID %#x, want %#x", x.c, x.m, tid, want)
		}
	}
}

func TestLimits(t *testing.T) {
	n := newNet()
	p := n.port(1)
	var list []*mads.Agent
	for range 3 {
		a, _ := p.agent(t, mads.Registration{Class: 0x04})
		list = append(list, a)
	}
	sent := 0
	for _, a := range list {
		for i := 0; ; i++ {
			m := request(9, 0x04, mad.MethodGet, uint64(i), -1)
			m.Timeout = sim.Second
			err := a.Send(m)
			if err == mads.ErrNoMemory {
				break
			}
			if err != nil || i > mads.MaxAgentSends {
				t.Fatal(i, err)
			}
			sent++
		}
	}
	if sent != mads.MaxSends || p.tab.InFlight() != sent {
		t.Errorf("%d under way", sent)
	}
	n.run(2 * sim.Second)
	if p.tab.InFlight() != 0 || p.tab.Count.Timeouts != mads.MaxSends {
		t.Errorf("left: %d", p.tab.InFlight())
	}
}

// TestDispatchAllocatesNothing: plain MADs, request and response.
func TestDispatchAllocatesNothing(t *testing.T) {
	n := newNet()
	p := n.port(1)
	a, err := p.tab.Register(mads.Registration{Class: 0x81, Version: 1, Methods: methods(mad.MethodTrap), OwnTimers: true}, quiet{})
	if err != nil {
		t.Fatal(err)
	}
	trap := request(1, 0x81, mad.MethodTrap, 1, -1)
	resp := request(1, 0x81, mad.MethodGetResp, uint64(a.TIDHigh())<<32, -1)
	p.err = hca.ErrInvalid // the net of this test allocates
	m := request(2, 0x81, mad.MethodGet, 1, -1)
	timed := request(2, 0x81, mad.MethodGet, 2, -1)
	timed.Timeout = sim.Second
	_ = a.Send(timed) // its buffer
	if got := testing.AllocsPerRun(100, func() {
		p.sink.ReceiveMAD(0, &trap.Addr, trap.Data)
		p.sink.ReceiveMAD(0, &resp.Addr, resp.Data)
		_ = a.Send(m)
		_ = a.Send(timed)
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

type quiet struct{}

func (quiet) ReceiveMAD(*mads.Agent, *mads.Message)      {}
func (quiet) SendDone(*mads.Agent, *mads.Message, error) {}

// TestUnmatched: a Get or Set that nobody asked for gets an answer that says so;
// nothing else does, least of all an answer.
func TestUnmatched(t *testing.T) {
	n := newNet()
	a, b := n.port(1), n.port(2)
	for _, tt := range []struct {
		method mad.Method
		want   int // answers
	}{
		{mad.MethodGet, 1}, {mad.MethodSet, 1}, {mad.MethodGetResp, 0}, {mad.MethodSend, 0}, {mad.MethodTrap, 0}, {mad.MethodReport, 0},
	} {
		var m [mad.PacketLen]byte
		(&mad.Header{Class: mad.ClassCongestion, Method: tt.method, TID: 7, Attr: 0x11}).Encode(m[:])
		before := a.tab.Count.Received
		if err := a.SendMAD(1, &hca.MADAddress{QPN: 1, QKey: 0x80010000, LID: 2}, m[:]); err != nil {
			t.Fatal(err)
		}
		n.e.RunUntil(n.e.Now() + sim.Millisecond)
		if got := int(a.tab.Count.Received - before); got != tt.want {
			t.Errorf("%v: %d answers, want %d", tt.method, got, tt.want)
		}
	}
	if b.tab.Count.NoAgent != 6 {
		t.Errorf("%d for nobody", b.tab.Count.NoAgent)
	}
}
