package hca_test

import (
	"errors"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/verbs"
	"cnuas/internal/frame"
	"cnuas/internal/sim"
)

// TestTransitions walks every pair of states: those of IBTA vol. 1 §11.2.5.2
// work with the attributes that they need, fail without one of them and with
// one too many; the others fail.
func TestTransitions(t *testing.T) {
	need := map[[2]hca.QPState]hca.AttrMask{
		{hca.Reset, hca.Reset}: 0, {hca.Reset, hca.Init}: toInit,
		{hca.Init, hca.Init}: 0, {hca.Init, hca.RTR}: toRTR,
		{hca.RTR, hca.RTS}: toRTS,
		{hca.RTS, hca.RTS}: 0, {hca.RTS, hca.SQD}: 0,
		{hca.SQD, hca.SQD}: 0, {hca.SQD, hca.RTS}: 0,
		{hca.Err, hca.Err}: 0,
	}
	for s := hca.Init; s <= hca.Err; s++ {
		need[[2]hca.QPState{s, hca.Reset}] = 0
		need[[2]hca.QPState{s, hca.Err}] = 0
	}
	attr := hca.QPAttr{Port: 1, PathMTU: 1, DestQPN: peerQPN, AV: hca.AddressVector{SGIDIndex: 1, DGID: v4gid(9), DLID: 9}}
	at := func(s hca.QPState) *peer {
		p := newPeer(t, nil)
		switch s {
		case hca.Reset, hca.Init, hca.RTR:
			p.modify(hca.Reset)
			a := attr
			for _, x := range []struct {
				s hca.QPState
				m hca.AttrMask
			}{{hca.Init, toInit}, {hca.RTR, toRTR}} {
				if a.State = x.s; s >= x.s {
					if err := p.qp.Modify(&a, x.m); err != nil {
						t.Fatal(err)
					}
				}
			}
		case hca.SQD, hca.Err:
			p.modify(s)
		}
		return p
	}
	for from := hca.Reset; from <= hca.Err; from++ {
		if from == hca.SQE {
			continue // RC never is in it
		}
		for to := hca.Reset; to <= hca.Err; to++ {
			mask, ok := need[[2]hca.QPState{from, to}]
			ok = ok && to != hca.SQE
			a := attr
			a.State = to
			p := at(from)
			err := p.qp.Modify(&a, mask|hca.AttrState)
			if !ok {
				if !errors.Is(err, hca.ErrState) || p.qp.State() != from {
					t.Errorf("%v to %v: %v, state %v", from, to, err, p.qp.State())
				}
				continue
			}
			if err != nil || p.qp.State() != to {
				t.Errorf("%v to %v: %v, state %v", from, to, err, p.qp.State())
			}
			for bit := hca.AttrMask(2); bit <= hca.AttrDestQPN; bit <<= 1 {
				if mask&bit != 0 {
					p = at(from)
					if err := p.qp.Modify(&a, (mask|hca.AttrState)&^bit); !errors.Is(err, hca.ErrState) || p.qp.State() != from {
						t.Errorf("%v to %v without %#x: %v", from, to, bit, err)
					}
				}
			}
			if err := at(from).qp.Modify(&a, mask|hca.AttrState|hca.AttrQKey); !errors.Is(err, hca.ErrState) {
				t.Errorf("%v to %v with a Q_Key: %v", from, to, err)
			}
		}
	}
}

// TestAttributes: values out of range are refused and nothing changes.
func TestAttributes(t *testing.T) {
	base := hca.QPAttr{Port: 1, PathMTU: 1, DestQPN: peerQPN, AV: hca.AddressVector{SGIDIndex: 1, DGID: v4gid(9)}}
	rows := []struct {
		name string
		step int
		do   func(a *hca.QPAttr)
		want error
	}{
		{"port", 0, func(a *hca.QPAttr) { a.Port = 2 }, hca.ErrInvalid},
		{"pkey", 0, func(a *hca.QPAttr) { a.PKeyIndex = 1 }, hca.ErrInvalid},
		{"access", 0, func(a *hca.QPAttr) { a.Access = 1 << 15 }, hca.ErrInvalid},
		{"mtu 0", 1, func(a *hca.QPAttr) { a.PathMTU = 0 }, hca.ErrInvalid},
		{"mtu above the port's", 1, func(a *hca.QPAttr) { a.PathMTU = 6 }, hca.ErrInvalid},
		{"rnr timer", 1, func(a *hca.QPAttr) { a.MinRNRTimer = 32 }, hca.ErrInvalid},
		{"dest rd atomic", 1, func(a *hca.QPAttr) { a.MaxDestRdAtomic = hca.MaxRdAtomic + 1 }, hca.ErrInvalid},
		{"gid index empty", 1, func(a *hca.QPAttr) { a.AV.SGIDIndex = 5 }, hca.ErrNoGID},
		{"gid index", 1, func(a *hca.QPAttr) { a.AV.SGIDIndex = 255 }, hca.ErrNoGID},
		{"gids of two families", 1, func(a *hca.QPAttr) { a.AV.DGID = llgid(9) }, hca.ErrInvalid},
		{"no dgid", 1, func(a *hca.QPAttr) { a.AV = hca.AddressVector{} }, hca.ErrInvalid},
		{"timeout", 2, func(a *hca.QPAttr) { a.Timeout = 32 }, hca.ErrInvalid},
		{"retry", 2, func(a *hca.QPAttr) { a.RetryCnt = 8 }, hca.ErrInvalid},
		{"rnr retry", 2, func(a *hca.QPAttr) { a.RNRRetry = 8 }, hca.ErrInvalid},
		{"rd atomic", 2, func(a *hca.QPAttr) { a.MaxRdAtomic = hca.MaxRdAtomic + 1 }, hca.ErrInvalid},
	}
	steps := []struct {
		s hca.QPState
		m hca.AttrMask
	}{{hca.Init, toInit}, {hca.RTR, toRTR}, {hca.RTS, toRTS}}
	for _, r := range rows {
		p := newPeer(t, nil)
		p.modify(hca.Reset)
		for i := 0; i <= r.step; i++ {
			a := base
			a.State = steps[i].s
			if i == r.step {
				before, _ := p.qp.Query()
				r.do(&a)
				err := p.qp.Modify(&a, steps[i].m)
				after, _ := p.qp.Query()
				if !errors.Is(err, r.want) || before != after {
					t.Errorf("%s: %v, want %v", r.name, err, r.want)
				}
			} else if err := p.qp.Modify(&a, steps[i].m); err != nil {
				t.Fatalf("%s: %v", r.name, err)
			}
		}
	}
}

// TestObjects: what may be made, freed, and when not.
func TestObjects(t *testing.T) {
	d := testDevice(sim.NewEngine(1), &frame.Pool{}, nil, 1, hca.Config{MaxQP: 2, MaxMR: 2, MaxPD: 2, MaxCQ: 1})
	p := must[*verbs.Program](t)(verbs.Open(d, 4096))
	c := p.Context
	other := d.Open(p.Arena, nil)
	cq := must[*verbs.CQ](t)(p.NewCQ(4, nil))
	if _, err := p.NewCQ(4, nil); !errors.Is(err, hca.ErrNoMemory) {
		t.Errorf("a second CQ: %v", err)
	}
	mr := must[*hca.MR](t)(c.RegMR(p.PD, 0, 10, 0, 0))
	for _, x := range []struct {
		name       string
		pd         *hca.PD
		start, len uint64
		acc        hca.Access
		c          *hca.Context
	}{
		{"no domain", nil, 0, 1, 0, c},
		{"the domain of another program", p.PD, 0, 1, 0, other},
		{"remote write without local write", p.PD, 0, 1, hca.AccessRemoteWrite, c},
		{"remote atomic without local write", p.PD, 0, 1, hca.AccessRemoteAtomic, c},
		{"around the end of the address space", p.PD, ^uint64(0), 2, 0, c},
		{"unknown access", p.PD, 0, 1, 1 << 12, c},
	} {
		if _, err := x.c.RegMR(x.pd, x.start, x.len, x.start, x.acc); !errors.Is(err, hca.ErrInvalid) {
			t.Errorf("region %s: %v", x.name, err)
		}
	}
	if err := p.PD.Dealloc(); !errors.Is(err, hca.ErrBusy) {
		t.Errorf("domain in use: %v", err)
	}
	qp := must[*verbs.QP](t)(p.NewQP(cq, cq, hca.QPCap{MaxSendWR: 1, MaxRecvWR: 1}, false))
	must[*verbs.QP](t)(p.NewQP(cq, cq, hca.QPCap{MaxSendWR: 1, MaxRecvWR: 1}, false))
	if _, err := p.NewQP(cq, cq, hca.QPCap{}, false); !errors.Is(err, hca.ErrNoMemory) {
		t.Errorf("a third queue pair: %v", err)
	}
	if _, err := c.CreateQP(hca.QPInit{PD: p.PD, Type: 9}); !errors.Is(err, hca.ErrNotSupported) {
		t.Errorf("XRC: %v", err)
	}
	if _, err := c.CreateQP(hca.QPInit{PD: p.PD, Type: hca.RC, SendCQ: cq.CQ, RecvCQ: cq.CQ, SQ: qp.SendRing(), RQ: qp.RecvRing(), Cap: hca.QPCap{MaxSendSGE: 30}}); !errors.Is(err, hca.ErrInvalid) {
		t.Errorf("SGEs that the ring has no room for: %v", err)
	}
	if err := cq.Destroy(); !errors.Is(err, hca.ErrBusy) {
		t.Errorf("CQ in use: %v", err)
	}
	if err := qp.Destroy(); err != nil || qp.Destroy() == nil {
		t.Errorf("destroy: %v, or twice", err)
	}
	if err := mr.Dereg(); err != nil || mr.Dereg() == nil {
		t.Errorf("dereg: %v, or twice", err)
	}
	c.Close()
	p = must[*verbs.Program](t)(verbs.Open(d, 4096))
	cq = must[*verbs.CQ](t)(p.NewCQ(4, nil))
	for range 2 {
		must[*verbs.QP](t)(p.NewQP(cq, cq, hca.QPCap{}, false))
	}
}

// TestKeys: keys are found after many registrations and deregistrations, never
// repeat soon, and do not tell of each other.
func TestKeys(t *testing.T) {
	p := newPeer(t, nil)
	live := map[uint32]*hca.MR{}
	rnd := p.e.NewProc().NewRand(1)
	var all []*hca.MR
	for range 3000 {
		if len(all) > 0 && rnd.Uint32()&1 == 0 {
			i := rnd.IntN(len(all))
			delete(live, all[i].LKey())
			if err := all[i].Dereg(); err != nil {
				t.Fatal(err)
			}
			all[i] = all[len(all)-1]
			all = all[:len(all)-1]
			continue
		}
		m, err := p.Context.RegMR(p.PD, p.buf.Addr, 8, p.buf.Addr, allAccess)
		if err != nil || live[m.LKey()] != nil || m.LKey() == 0 {
			t.Fatalf("key %#x, %v", m.LKey(), err)
		}
		live[m.LKey()] = m
		all = append(all, m)
	}
	for i, m := range all {
		p.send(ring.Send{ID: uint64(i), Opcode: ring.OpRDMAWrite, Flags: ring.FlagSignaled, SGEs: []ring.SGE{sge(p.buf.Addr, 8, m.LKey())}})
		p.out()
		p.in(ack(100+uint32(i), 0))
		if c := p.poll(); len(c) != 1 || c[0].Status != 0 {
			t.Fatalf("key %#x is not found: %+v", m.LKey(), c)
		}
	}
	high := map[uint32]int{}
	for k := range live {
		high[k>>28]++
	}
	if len(high) != 16 {
		t.Errorf("%d keys are not spread: %v", len(live), high)
	}
}

// TestDomains: a key of another protection domain is worth nothing.
func TestDomains(t *testing.T) {
	p := newPeer(t, nil)
	pd := must[*hca.PD](t)(p.Context.AllocPD())
	mr := must[*hca.MR](t)(p.Context.RegMR(pd, p.buf.Addr, 64, p.buf.Addr, allAccess))
	p.send(ring.Send{ID: 1, Opcode: ring.OpSend, SGEs: []ring.SGE{sge(p.buf.Addr, 8, mr.LKey())}})
	p.out()
	p.wantCQ("1 4 0 0")
}

// TestPortEvents: programs hear of links and GIDs.
func TestPortEvents(t *testing.T) {
	p := newPeer(t, nil)
	p.dev.LinkChanged(true)
	p.dev.LinkChanged(false)
	p.dev.LinkChanged(true)
	p.dev.SetGID(4, hca.GIDEntry{GID: v4gid(7), Valid: true})
	p.dev.SetGID(4, hca.GIDEntry{GID: v4gid(7), Valid: true})
	p.dev.SetGID(-1, hca.GIDEntry{})
	p.wantEvents(hca.EventPortErr, hca.EventPortActive, hca.EventGIDChange)
}

// TestActiveMTU: the largest MTU whose packets fit an IP MTU.
func TestActiveMTU(t *testing.T) {
	for ip, want := range map[int]uint8{1500: 3, 4200: 5, 9000: 5, 4187: 4, 4188: 5, 576: 1, 100: 1} {
		d := hca.New(sim.NewEngine(1), &frame.Pool{}, nil, hca.Config{MTU: ip})
		if d.ActiveMTU() != want {
			t.Errorf("IP MTU %d: code %d, want %d", ip, d.ActiveMTU(), want)
		}
	}
}

// TestCommEst: the first packet in RTR is reported once.
func TestCommEst(t *testing.T) {
	p := newPair(t, 1, nil, hca.Config{})
	x := p.connect(connOpt{})
	_ = x
	q := must[*verbs.QP](t)(x[1].NewQP(x[1].cq, x[1].cq, hca.QPCap{MaxRecvWR: 4, MaxRecvSGE: 1}, false))
	s := must[*verbs.QP](t)(x[0].NewQP(x[0].cq, x[0].cq, hca.QPCap{MaxSendWR: 4, MaxSendSGE: 1}, false))
	if err := verbs.Connect(s, q, verbs.Path{}); err != nil {
		t.Fatal(err)
	}
	a, _ := q.Query()
	q.Modify(&hca.QPAttr{State: hca.Reset}, hca.AttrState)
	a.RQPSN = 0
	for _, st := range []struct {
		s hca.QPState
		m hca.AttrMask
	}{{hca.Init, toInit}, {hca.RTR, toRTR}} {
		a.State = st.s
		if err := q.Modify(&a, st.m); err != nil {
			t.Fatal(err)
		}
	}
	x[1].Events = nil
	for range 2 {
		s.PostSend(&ring.Send{Opcode: ring.OpRDMAWrite})
		p.run(sim.Microsecond * 10)
	}
	if len(x[1].Events) != 1 || x[1].Events[0].Type != hca.EventCommEst {
		t.Errorf("events %+v", x[1].Events)
	}
}
