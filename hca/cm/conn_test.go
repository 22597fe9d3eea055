package cm_test

import (
	"fmt"
	"strings"
	"testing"

	"cnuas/hca"
	"cnuas/hca/cm"
	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
)

func TestConnectAndDisconnect(t *testing.T) {
	for _, roce := range []bool{true, false} {
		t.Run(fmt.Sprint("RoCE ", roce), func(t *testing.T) {
			n := newNetwork(t, roce)
			a, p := n.pair()
			n.connect(a)
			n.run(sim.Millisecond)
			if a.conn.State() != cm.Established || p.conn.State() != cm.Established {
				t.Fatalf("%v, %v: %s", a.conn.State(), p.conn.State(), n.messages())
			}
			checkQPs(t, a.conn, p.conn)
			if string(p.req.Params.PrivateData[:5]) != "hello" || p.req.Params.InitiatorDepth != 4 || p.req.Params.ResponderResources != 3 {
				t.Errorf("request %+v", p.req)
			}
			must(t, a.conn.Disconnect(nil))
			n.run(10 * sim.Second)
			if got, want := n.messages(), "0:REQ 1:REP 0:RTU 0:DREQ 1:DREP"; got != want {
				t.Errorf("messages %s, want %s", got, want)
			}
			if got, want := a.events(), "reply, disconnected, timewait exit"; got != want {
				t.Errorf("active: %s, want %s", got, want)
			}
			if got, want := p.events(), "request, established, disconnect, timewait exit"; got != want {
				t.Errorf("passive: %s, want %s", got, want)
			}
			a.conn.Destroy()
			p.conn.Destroy()
			n.empty()
		})
	}
}

// empty checks that nothing is left in the managers.
func (n *network) empty() {
	n.t.Helper()
	n.run(200 * sim.Second)
	for i, m := range n.mgr {
		if k := m.Conns(); k != 0 {
			n.t.Errorf("manager %d still has %d connections", i, k)
		}
	}
	if n.eng.Pending() != 0 {
		n.t.Errorf("%d events are pending", n.eng.Pending())
	}
}

// checkQPs: what one side sends with is what the other expects.
func checkQPs(t *testing.T, a, p *cm.Conn) {
	t.Helper()
	attr := func(c *cm.Conn, s hca.QPState) hca.QPAttr {
		x, m, err := c.QPAttr(s)
		must(t, err)
		if m&hca.AttrState == 0 || x.State != s {
			t.Errorf("to %v: mask %#x state %v", s, m, x.State)
		}
		return x
	}
	for _, d := range [][2]*cm.Conn{{a, p}, {p, a}} {
		rtr, rts := attr(d[0], hca.RTR), attr(d[1], hca.RTS)
		if rtr.RQPSN != rts.SQPSN {
			t.Errorf("expects PSN %#x, is sent %#x", rtr.RQPSN, rts.SQPSN)
		}
		if rts.MaxRdAtomic != rtr.MaxDestRdAtomic {
			t.Errorf("%d reads are sent to who takes %d", rts.MaxRdAtomic, rtr.MaxDestRdAtomic)
		}
		if rtr.PathMTU != 5 || rts.Timeout < 15 || rts.Timeout > 20 {
			t.Errorf("RTR %+v, RTS %+v", rtr, rts)
		}
		if attr(d[0], hca.Init).Access&hca.AccessRemoteRead == 0 {
			t.Error("no reads although there are responder resources")
		}
	}
	if x := attr(a, hca.RTR); x.DestQPN != 0x22 || x.AV.DGID != gid(1) {
		t.Errorf("active: %+v", x)
	}
	if x := attr(p, hca.RTR); x.DestQPN != 0x11 || x.AV.DGID != gid(0) {
		t.Errorf("passive: %+v", x)
	}
	if x, y := attr(a, hca.RTS), attr(p, hca.RTS); x.RetryCnt != 7 || y.RetryCnt != 7 || x.RNRRetry != 6 || y.RNRRetry != 6 {
		t.Errorf("retries %+v %+v", x, y)
	}
}

// TestLossAndDuplicates: whatever single message is lost, or comes twice, and
// if every second one is, the connection is made and ended.
func TestLossAndDuplicates(t *testing.T) {
	type rule struct {
		name   string
		filter func(n int, m mad.Packet) copies
	}
	rules := []rule{
		{"every third is lost", func(n int, _ mad.Packet) copies { return copies(min(1, n%3)) }},
		{"all come twice", func(int, mad.Packet) copies { return 2 }},
		{"all come three times", func(int, mad.Packet) copies { return 3 }},
	}
	for k := range 5 {
		rules = append(rules,
			rule{fmt.Sprintf("message %d is lost", k), func(n int, _ mad.Packet) copies { return copies(min(1, max(n-k, k-n))) }},
			rule{fmt.Sprintf("messages %d and on are lost twice", k), func(n int, _ mad.Packet) copies {
				if n == k || n == k+1 {
					return 0
				}
				return 1
			}})
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			n := newNetwork(t, true)
			n.filter = r.filter
			a, p := n.pair()
			n.connect(a)
			n.run(60 * sim.Second)
			if a.conn.State() != cm.Established || p.conn.State() != cm.Established {
				t.Fatalf("%v, %v: %s", a.conn.State(), p.conn.State(), n.messages())
			}
			must(t, p.conn.Disconnect(nil))
			n.run(100 * sim.Second)
			if got, want := a.events(), "reply, disconnect, timewait exit"; got != want {
				t.Errorf("active: %s, want %s; %s", got, want, n.messages())
			}
			if got, want := p.events(), "request, established, disconnected, timewait exit"; got != want {
				t.Errorf("passive: %s, want %s; %s", got, want, n.messages())
			}
			a.conn.Destroy()
			p.conn.Destroy()
			n.empty()
		})
	}
}

func lose(names ...string) func(int, mad.Packet) copies {
	return func(_ int, m mad.Packet) copies {
		for _, x := range names {
			if strings.HasPrefix(short(m), x) {
				return 0
			}
		}
		return 1
	}
}

// TestFailures walks through what ends otherwise.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name            string
		setup           func(n *network, a, p *user)
		then            func(n *network, a, p *user)
		messages        string
		active, passive string
	}{
		{name: "rejected by the consumer", setup: func(n *network, a, p *user) { p.reject = true },
			messages: "0:REQ 1:REJ28/0", active: "rejected 28", passive: "request"},
		{name: "rejected by the listener", setup: func(n *network, a, p *user) { p.verdict = cm.Verdict(mad.RejectNoResources) },
			messages: "0:REQ 1:REJ3/0", active: "rejected 3", passive: "request"},
		{name: "reply rejected", setup: func(n *network, a, p *user) { a.reject = true },
			messages: "0:REQ 1:REP 0:REJ28/1", active: "reply, timewait exit", passive: "request, rejected 28, timewait exit"},
		{name: "ignored until it gives up", setup: func(n *network, a, p *user) { p.verdict = cm.Ignore },
			messages: strings.Repeat("0:REQ ", 16) + "0:REJ4/2", active: "unreachable", passive: strings.TrimSuffix(strings.Repeat("request, ", 16), ", ")},
		{name: "nobody answers", setup: func(n *network, a, p *user) { n.filter = lose("REQ") },
			messages: strings.Repeat("0:REQ ", 16) + "0:REJ4/2", active: "unreachable"},
		{name: "RTU never comes", setup: func(n *network, a, p *user) { n.filter = lose("RTU") },
			messages: "0:REQ " + strings.Repeat("1:REP 0:RTU ", 16) + "1:REJ4/2", active: "reply, rejected 4, timewait exit", passive: "request, unreachable, timewait exit"},
		{name: "data instead of the RTU", setup: func(n *network, a, p *user) { n.filter = lose("RTU") },
			then:     func(n *network, a, p *user) { p.conn.Notify() },
			messages: "0:REQ 1:REP 0:RTU", active: "reply", passive: "request, established"},
		{name: "DREP never comes", setup: func(n *network, a, p *user) { n.filter = lose("DREP") },
			then:     func(n *network, a, p *user) { must(n.t, a.conn.Disconnect(nil)) },
			messages: "0:REQ 1:REP 0:RTU " + strings.TrimSpace(strings.Repeat("0:DREQ 1:DREP ", 16)),
			active:   "reply, disconnected late, timewait exit", passive: "request, established, disconnect, timewait exit"},
		{name: "both disconnect at once",
			then: func(n *network, a, p *user) {
				must(n.t, a.conn.Disconnect(nil))
				must(n.t, p.conn.Disconnect(nil))
			},
			messages: "0:REQ 1:REP 0:RTU 0:DREQ 1:DREQ 1:DREP 0:DREP",
			active:   "reply, disconnected, timewait exit", passive: "request, established, disconnected, timewait exit"},
		{name: "active side is destroyed", then: func(n *network, a, p *user) { a.conn.Destroy() },
			messages: "0:REQ 1:REP 0:RTU 0:DREQ 1:DREP", active: "reply", passive: "request, established, disconnect, timewait exit"},
		{name: "destroyed before the reply", setup: func(n *network, a, p *user) { p.hold = true },
			then:     func(n *network, a, p *user) { a.conn.Destroy() },
			messages: "0:REQ 0:REJ4/2", passive: "request, rejected 4"},
		{name: "destroyed without an answer", setup: func(n *network, a, p *user) { p.hold = true },
			then:     func(n *network, a, p *user) { p.conn.Destroy() },
			messages: "0:REQ 1:REJ28/0", active: "rejected 28", passive: "request"},
		{name: "the reply is never confirmed", setup: func(n *network, a, p *user) { a.hold = true },
			then:     func(n *network, a, p *user) { a.conn.Destroy() },
			messages: "0:REQ 1:REP 0:REJ28/1", active: "reply", passive: "request, rejected 28, timewait exit"},
		{name: "manager closed", then: func(n *network, a, p *user) { n.mgr[1].Close() },
			messages: "0:REQ 1:REP 0:RTU 1:DREQ 0:DREP", active: "reply, disconnect, timewait exit", passive: "request, established"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNetwork(t, true)
			a, p := n.pair()
			if c.setup != nil {
				c.setup(n, a, p)
			}
			n.connect(a)
			n.run(sim.Millisecond)
			if c.then != nil {
				c.then(n, a, p)
			}
			n.run(200 * sim.Second)
			if got := n.messages(); got != c.messages {
				t.Errorf("messages %s\nwant     %s", got, c.messages)
			}
			if a.events() != c.active || p.events() != c.passive {
				t.Errorf("active: %s\nwant:   %s\npassive: %s\nwant:    %s", a.events(), c.active, p.events(), c.passive)
			}
			for _, u := range []*user{a, p} {
				if u.conn != nil {
					u.conn.Destroy()
				}
			}
			n.empty()
		})
	}
}

// TestMRA: who takes its time to answer tells the peer to wait, and only when
// it asks again.
func TestMRA(t *testing.T) {
	n := newNetwork(t, true)
	a, p := n.pair()
	p.hold, a.hold = true, true
	n.connect(a)
	n.run(60 * sim.Second)
	if got, want := n.messages(), "0:REQ 0:REQ 1:MRA"; got != want {
		t.Fatalf("messages %s, want %s", got, want)
	}
	pp := params(0x22)
	must(t, p.conn.Accept(&pp))
	n.run(sim.Millisecond)
	a.conn.Delay()
	n.run(60 * sim.Second)
	must(t, a.conn.Confirm(nil))
	n.run(sim.Millisecond)
	if got, want := n.messages(), "0:REQ 0:REQ 1:MRA 1:REP 1:REP 0:MRA 0:RTU"; got != want {
		t.Errorf("messages %s, want %s", got, want)
	}
	if a.events() != "reply" || p.events() != "request, established" {
		t.Errorf("%s; %s", a.events(), p.events())
	}
}

// TestStale: a peer that has forgotten a connection makes a new one with the
// same queue pair (IBTA vol. 1 §12.9.8.3.1).
func TestStale(t *testing.T) {
	n := newNetwork(t, true)
	a, p := n.pair()
	n.connect(a)
	n.run(sim.Millisecond)
	old := p.conn
	n.mgr[0] = cm.New(end{n, 0}, n.eng.NewProc(), cm.Config{GUID: 0x100, RoCE: true})
	b := &user{t: t}
	n.connect(b)
	n.run(sim.Millisecond)
	if b.events() != "rejected 10" || p.events() != "request, established, disconnected late" || old.State() != cm.TimeWait {
		t.Errorf("%s; %s; %v", b.events(), p.events(), old.State())
	}
	n.run(10 * sim.Second)
	c := &user{t: t}
	n.connect(c)
	n.run(sim.Millisecond)
	if c.conn.State() != cm.Established {
		t.Errorf("after timewait: %v, %s", c.conn.State(), n.messages())
	}
}

func TestSIDR(t *testing.T) {
	for _, c := range []struct {
		name     string
		setup    func(n *network, p *user)
		service  uint64
		messages string
		active   string
	}{
		{name: "answered", messages: "0:SIDR_REQ 1:SIDR_REP0", active: "resolved 0"},
		{name: "refused", setup: func(n *network, p *user) { p.reject = true }, messages: "0:SIDR_REQ 1:SIDR_REP2", active: "resolved 2"},
		{name: "no such service", service: 5, messages: "0:SIDR_REQ 1:SIDR_REP1", active: "resolved 1"},
		{name: "the answer is lost", setup: func(n *network, p *user) {
			n.filter = func(k int, _ mad.Packet) copies { return copies(min(1, max(k-1, 1-k))) }
		}, messages: "0:SIDR_REQ 1:SIDR_REP0 0:SIDR_REQ 1:SIDR_REP0", active: "resolved 0"},
		{name: "asked and answered twice", setup: func(n *network, p *user) { n.filter = func(int, mad.Packet) copies { return 2 } },
			messages: "0:SIDR_REQ 1:SIDR_REP0 1:SIDR_REP0", active: "resolved 0"},
		{name: "nobody answers", setup: func(n *network, p *user) { n.filter = lose("SIDR_REP") },
			messages: strings.TrimSpace(strings.Repeat("0:SIDR_REQ 1:SIDR_REP0 ", 16)), active: "unreachable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNetwork(t, true)
			a, p := n.pair()
			if c.setup != nil {
				c.setup(n, p)
			}
			s := uint64(service)
			if c.service != 0 {
				s = c.service
			}
			q, err := n.mgr[0].Resolve(a, n.dial(s), []byte("who"))
			must(t, err)
			n.run(100 * sim.Second)
			if got := n.messages(); got != c.messages || a.events() != c.active {
				t.Errorf("messages %s\nwant     %s\n%s, want %s", got, c.messages, a.events(), c.active)
			}
			if c.active == "resolved 0" && (a.last.QPN != 0x77 || a.last.QKey != 0x1234 || string(a.last.PrivateData[:3]) != "yes" || p.events() != "request") {
				t.Errorf("%+v; %s", a.last, p.events())
			}
			q.Destroy()
			n.empty()
		})
	}
}

// TestRefusedRequests: REQs that no listener gets to see.
func TestRefusedRequests(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(d *cm.Dial, p *cm.Params)
		reason mad.RejectReason
	}{
		{"unknown service", func(d *cm.Dial, _ *cm.Params) { d.ServiceID++ }, mad.RejectInvalidServiceID},
		{"not our GID", func(d *cm.Dial, _ *cm.Params) { d.Path.DGID[9] = 1 }, mad.RejectPrimaryRemoteGID},
		{"not our LID", func(d *cm.Dial, _ *cm.Params) { d.Path.DLID = 99 }, mad.RejectPrimaryRemoteLID},
		{"P_Key", func(d *cm.Dial, _ *cm.Params) { d.Path.PKey = 0x8123 }, mad.RejectUnsupported},
		{"MTU", func(d *cm.Dial, _ *cm.Params) { d.Path.MTU = 9 }, mad.RejectInvalidMTU},
		{"MTU larger than ours", func(d *cm.Dial, _ *cm.Params) { d.Path.MTU = mad.MTU4096 }, mad.RejectInvalidMTU},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNetwork(t, false)
			n.smaller[1] = 1
			a, p := n.pair()
			d, pp := n.dial(service), params(0x11)
			d.Path.MTU = mad.MTU2048
			c.change(&d, &pp)
			roundabout := &rerouted{end{n, 0}}
			m := cm.New(roundabout, n.eng.NewProc(), cm.Config{GUID: 0x100, LID: nil})
			n.mgr[0] = m
			_, err := m.Connect(a, d, &pp)
			must(t, err)
			n.run(sim.Millisecond)
			if c.reason == mad.RejectInvalidMTU && string(a.last.ARI) != "\x04" {
				t.Errorf("additional information %x, want the MTU that goes", a.last.ARI)
			}
			if a.events() != fmt.Sprintf("rejected %d", c.reason) || p.events() != "" {
				t.Errorf("%s; %s; %s", a.events(), p.events(), n.messages())
			}
		})
	}
}

// rerouted delivers to the other end whatever the address says.
type rerouted struct{ end }

func (r *rerouted) SendMAD(qp uint32, to *hca.MADAddress, m []byte) error {
	x := *to
	x.LID = lid(1)
	return r.end.SendMAD(qp, &x, m)
}

func TestOtherMessages(t *testing.T) {
	n := newNetwork(t, true)
	a, p := n.pair()
	n.connect(a)
	n.run(sim.Millisecond)
	from := hca.MADAddress{QPN: 1, GRH: true, GID: gid(0)}
	var b [mad.PacketLen]byte
	put := func(version uint8, attr mad.AttrID, body mad.Attribute) {
		h := mad.Header{Class: mad.ClassComm, Version: version, Method: mad.MethodSend, Attr: attr, TID: 5}
		h.Encode(b[:])
		mad.Encode(body, mad.Packet(b[:]).Data())
		n.log = nil
		n.mgr[1].Receive(&from, b[:])
	}
	put(2, mad.AttrLoadAlternatePath, &mad.LoadAlternatePath{LocalCommID: a.conn.LocalID(), RemoteCommID: p.conn.LocalID()})
	if n.messages() != "1:APR" {
		t.Errorf("LAP: %s", n.messages())
	}
	put(3, mad.AttrConnectRequest, &mad.ConnectRequest{LocalCommID: 9})
	if n.messages() != "1:REJ31/0" {
		t.Errorf("REQ of version 3: %s", n.messages())
	}
	put(2, mad.AttrConnectReply, &mad.ConnectReply{LocalCommID: 9, RemoteCommID: 12345})
	if n.messages() != "1:REJ6/1" {
		t.Errorf("REP for nobody: %s", n.messages())
	}
	put(2, mad.AttrDisconnectRequest, &mad.DisconnectRequest{LocalCommID: 9, RemoteCommID: 12345})
	if n.messages() != "1:DREP" {
		t.Errorf("DREQ for nobody: %s", n.messages())
	}
	put(2, mad.AttrDisconnectRequest, &mad.DisconnectRequest{LocalCommID: a.conn.LocalID(), RemoteCommID: p.conn.LocalID(), RemoteQPN: 3})
	if n.messages() != "" || p.conn.State() != cm.Established {
		t.Errorf("DREQ with a wrong queue pair: %s, %v", n.messages(), p.conn.State())
	}
	if c := n.mgr[1].Counters(); c.Received != 7 || c.Unmatched != 2 {
		t.Errorf("%+v", c)
	}
}

func TestLimits(t *testing.T) {
	n := newNetwork(t, true)
	n.mgr[1] = cm.New(end{n, 1}, n.eng.NewProc(), cm.Config{GUID: 0x101, RoCE: true, MaxConns: 2})
	_, p := n.pair()
	p.hold = true
	var us []*user
	for i := range 3 {
		u := &user{t: t}
		us = append(us, u)
		pp := params(uint32(0x100 + i))
		_, err := n.mgr[0].Connect(u, n.dial(service), &pp)
		must(t, err)
	}
	n.run(sim.Millisecond)
	if us[2].events() != "rejected 3" || us[1].events() != "" {
		t.Errorf("%s; %s", us[1].events(), us[2].events())
	}
	for _, bad := range []cm.Params{
		{Type: hca.UD}, {Type: hca.RC, QPN: 1 << 24}, {Type: hca.RC, RetryCount: 8}, {Type: hca.RC, RNRRetryCount: 8},
		{Type: hca.RC, PrivateData: make([]byte, 93)},
	} {
		if _, err := n.mgr[0].Connect(us[0], n.dial(service), &bad); err != hca.ErrInvalid {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if _, err := n.mgr[1].Listen(service, ^uint64(0), p); err != hca.ErrBusy {
		t.Errorf("second listener: %v", err)
	}
	s, err := n.mgr[0].Listen(0x01060000, ^uint64(0xffff), p)
	must(t, err)
	if _, err := n.mgr[0].Listen(0x01060001, ^uint64(0xffff), p); err != hca.ErrBusy {
		t.Errorf("second listener with a mask: %v", err)
	}
	s.Close()
	_, err = n.mgr[0].Listen(0x01060001, ^uint64(0xffff), p)
	must(t, err)
	for name, f := range map[string]func() error{
		"accept":     func() error { return us[0].conn.Accept(&cm.Params{}) },
		"confirm":    func() error { return us[0].conn.Confirm(nil) },
		"answer":     func() error { return us[0].conn.Answer(1, 1, nil) },
		"refuse":     func() error { return us[0].conn.Refuse(nil) },
		"disconnect": func() error { return us[0].conn.Disconnect(nil) },
		"reject":     func() error { return us[0].conn.Reject(28, nil, nil) },
	} {
		us[0].conn, _ = n.mgr[0].Connect(us[0], n.dial(service), &cm.Params{Type: hca.RC})
		if err := f(); err != hca.ErrState {
			t.Errorf("%s: %v", name, err)
		}
	}
}
