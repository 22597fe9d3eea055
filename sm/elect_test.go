package sm_test

import (
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
	"cnuas/sm/smtest"
)

func masters(ms ...*sm.Manager) (n int) {
	for _, m := range ms {
		if m.State() == mad.SMMaster {
			n++
		}
	}
	return n
}

// pollTime is used in these tests: opensm with 1 s took over after 6.0 s.
const pollTime = sim.Second

// pair starts a master at H1, then a standby at H8.
func pair(t *testing.T, prioA, prioB uint8) (f *smtest.Fabric, a, b *sm.Manager) {
	f = smtest.FT2x2x8(sim.NewEngine(1))
	a = up(t, f, "H1", sm.Config{Priority: prioA, PollTime: pollTime})
	b = f.Manage(f.Node("H8").Ports[1], sm.Config{Priority: prioB, PollTime: pollTime})
	b.Start()
	f.Run(5 * sim.Second)
	return f, a, b
}

func TestTakeover(t *testing.T) {
	f, a, b := pair(t, 5, 3)
	if a.State() != mad.SMMaster || b.State() != mad.SMStandby {
		t.Fatalf("%v, %v", a.State(), b.State())
	}
	if s := b.Status(); s.MasterGUID != a.Config().GUID || s.MasterLID != f.Node("H1").Ports[1].Info.LID {
		t.Errorf("the standby knows master %v at LID %d", s.MasterGUID, s.MasterLID)
	}
	before := lids(f)
	begin := f.Eng.Now()
	a.Stop() // the process dies; the port says nothing of it
	for b.State() != mad.SMMaster || b.Subnet() == nil {
		reach(t, f) // tables stay
		f.Run(100 * sim.Millisecond)
		if f.Eng.Now()-begin > 20*pollTime {
			t.Fatalf("no takeover: %+v", b.Status())
		}
	}
	took := f.Eng.Now() - begin
	t.Logf("took over after %v at a polling time of %v", took, pollTime)
	if took > 6*pollTime+2*sim.Second {
		t.Errorf("took over after %v", took)
	}
	if now := lids(f); now != before {
		t.Errorf("LIDs %s\nwere %s", now, before)
	}
	lid := f.Node("H8").Ports[1].Info.LID
	for _, n := range f.Nodes {
		for _, p := range n.Ports {
			if p != nil && p.Info.LID != 0 && p.Info.MasterSMLID != lid {
				t.Errorf("%s: MasterSMLID %d, want %d", n.Name, p.Info.MasterSMLID, lid)
			}
		}
	}
	if f.Node("H4").Ports[1].Reregister != 0 { // IBSim has no ClientReregistration
		t.Error("ClientReregister for a port without it")
	}
	// The old one comes back: higher, it is given the subnet back, once.
	a.Start()
	f.Run(10 * pollTime)
	if a.State() != mad.SMMaster || b.State() != mad.SMStandby {
		t.Errorf("after its return: %v, %v", a.State(), b.State())
	}
	if s := b.Status().Stats; s.HandoversOut != 1 || s.StateChanges != 5 {
		t.Errorf("%d handovers, %d changes of state", s.HandoversOut, s.StateChanges)
	}
	reach(t, f)
}

// TestPolling: a standby asks the master every PollTime, by its directed route
// and, when that is gone, by its LID; it takes over in PollRetries polls more.
func TestPolling(t *testing.T) {
	for _, x := range []struct {
		poll    sim.Time
		retries int
	}{{sim.Second, 4}, {200 * sim.Millisecond, 2}, {10 * sim.Second, 4}} {
		f := smtest.FT2x2x8(sim.NewEngine(1))
		a := up(t, f, "H1", sm.Config{Priority: 5})
		b := f.Manage(f.Node("H8").Ports[1], sm.Config{Priority: 3, PollTime: x.poll, PollRetries: x.retries, Timeout: 10 * sim.Millisecond})
		b.Start()
		f.Run(sim.Second)
		n := b.Status().Stats.Polls
		f.Run(20 * x.poll)
		if p := b.Status().Stats.Polls - n; p != 20 {
			t.Errorf("every %v: %d polls in 20 of these times", x.poll, p)
		}
		// One of the cables of the directed route is pulled for ever.
		f.Pull(f.Node("S1").Ports[2])
		f.Run(20 * x.poll)
		if s := b.Status().Stats; s.Takeovers != 0 || b.State() != mad.SMStandby {
			t.Fatalf("every %v: %d takeovers, %v, while the master is there", x.poll, s.Takeovers, b.State())
		}
		begin := f.Eng.Now()
		f.Kill(f.Node("H1").Ports[1], a)
		for b.State() != mad.SMMaster && f.Eng.Now() < begin+100*x.poll {
			f.Run(10 * sim.Millisecond)
		}
		least, most := sim.Time(x.retries)*x.poll, sim.Time(x.retries+2)*x.poll+sim.Second
		if took := f.Eng.Now() - begin; took < least || took > most {
			t.Errorf("every %v, %d retries: took over after %v, want %v to %v", x.poll, x.retries, took, least, most)
		}
		f.Run(sim.Second)
		reach(t, f)
	}
}

func TestHandover(t *testing.T) {
	f, a, b := pair(t, 5, 8)
	if a.State() != mad.SMStandby || b.State() != mad.SMMaster {
		t.Fatalf("%v, %v", a.State(), b.State())
	}
	if s, z := a.Status().Stats, b.Status().Stats; s.HandoversOut != 1 || z.HandoversIn != 1 || s.Acknowledged != 1 {
		t.Errorf("handovers %d out, %d in, %d acknowledged", s.HandoversOut, z.HandoversIn, s.Acknowledged)
	}
	reach(t, f)
	if f.Node("H4").Ports[1].Info.MasterSMLID != f.Node("H8").Ports[1].Info.LID {
		t.Error("MasterSMLID is not the new master's")
	}
	f.Run(60 * sim.Second)
	if masters(a, b) != 1 || a.Status().Stats.StateChanges > 4 {
		t.Errorf("it flaps: %d masters, %d changes", masters(a, b), a.Status().Stats.StateChanges)
	}
}

// TestTie: of equal priorities the lower GUID is master, whoever begins.
func TestTie(t *testing.T) {
	f, a, b := pair(t, 5, 5)
	if a.State() != mad.SMMaster || b.State() != mad.SMStandby {
		t.Errorf("%v, %v", a.State(), b.State())
	}
	_ = f
	f = smtest.FT2x2x8(sim.NewEngine(1))
	b = up(t, f, "H8", sm.Config{Priority: 5, PollTime: pollTime})
	a = f.Manage(f.Node("H1").Ports[1], sm.Config{Priority: 5, PollTime: pollTime})
	a.Start()
	f.Run(5 * sim.Second)
	if a.State() != mad.SMMaster || b.State() != mad.SMStandby {
		t.Errorf("the lower GUID came later: %v, %v", a.State(), b.State())
	}
}

// TestTogether: managers that begin at the same time, with SMPs lost.
func TestTogether(t *testing.T) {
	for seed := range uint64(8) {
		f := smtest.FT2x2x8(sim.NewEngine(seed))
		f.Loss = float64(seed%3) * 0.03
		var ms []*sm.Manager
		for i, h := range []string{"H1", "H3", "H6", "H8"} {
			m := f.Manage(f.Node(h).Ports[1], sm.Config{Priority: uint8(i * 2), PollTime: pollTime, Sweep: 2 * sim.Second})
			m.Start()
			ms = append(ms, m)
		}
		f.Run(120 * sim.Second)
		f.Loss = 0
		f.Run(60 * sim.Second)
		if masters(ms...) != 1 || ms[3].State() != mad.SMMaster {
			t.Errorf("seed %d: %v %v %v %v", seed, ms[0].State(), ms[1].State(), ms[2].State(), ms[3].State())
		}
		reach(t, f)
	}
}

// TestMerge: two subnets with a master each are joined by a cable.
func TestMerge(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	x := f.Pull(f.Node("S1").Ports[2])
	f.Pull(f.Node("S2").Ports[2])
	a := up(t, f, "H1", sm.Config{Priority: 1, PollTime: pollTime})
	b := up(t, f, "H8", sm.Config{Priority: 2, PollTime: pollTime})
	f.Plug(f.Node("S1").Ports[2], x)
	f.Run(20 * sim.Second)
	if a.State() != mad.SMStandby || b.State() != mad.SMMaster {
		t.Fatalf("%v, %v", a.State(), b.State())
	}
	reach(t, f)
}

// control sends a Set of SMInfo from a port.
func control(f *smtest.Fabric, from string, to *sm.Manager, c uint32, key uint64) (answered bool, st mad.Status) {
	e := f.Node(from).Ports[1].Endpoint()
	old := e.SMP
	defer func() { e.SMP = old }()
	e.SMP = func(d *sm.Datagram) {
		if d.Packet().TID() == 4711 {
			answered, st = true, d.Packet().Status()
		}
	}
	d := sm.Datagram{DLID: to.Subnet().Self().LID}
	s := d.SMP()
	s[0], s[1], s[2] = 1, byte(mad.ClassSubnLID), 1
	s.Packet().SetMethod(mad.MethodSet)
	s.Packet().SetTID(4711)
	s.Packet().SetAttr(mad.AttrSMInfo)
	s.Packet().SetModifier(c)
	mad.Encode(&mad.SMInfo{GUID: e.Port.GUID, SMKey: key, Priority: 15, SMState: mad.SMMaster}, s.Data())
	e.Send(&d)
	f.Run(10 * sim.Millisecond)
	return answered, st
}

func TestControls(t *testing.T) {
	f, a, b := pair(t, 5, 3)
	lid := f.Node("H8").Ports[1].Info.LID
	if ok, _ := control(f, "H2", a, mad.SMStandbyCtl, 99); ok {
		t.Error("a control with another SM_Key was answered")
	}
	if ok, st := control(f, "H2", a, mad.SMDisable, 1); !ok || st != mad.StatusInvalidField || a.State() != mad.SMMaster {
		t.Errorf("DISABLE to a master: %v %v, %v", ok, st, a.State())
	}
	toB := func(c uint32) mad.Status {
		e := f.Node("H2").Ports[1].Endpoint()
		var st mad.Status = 0xffff
		e.SMP = func(d *sm.Datagram) { st = d.Packet().Status() }
		d := sm.Datagram{DLID: lid}
		s := d.SMP()
		s[0], s[1], s[2] = 1, byte(mad.ClassSubnLID), 1
		s.Packet().SetMethod(mad.MethodSet)
		s.Packet().SetAttr(mad.AttrSMInfo)
		s.Packet().SetModifier(c)
		mad.Encode(&mad.SMInfo{GUID: e.Port.GUID, SMKey: 1, SMState: mad.SMMaster}, s.Data())
		e.Send(&d)
		f.Run(10 * sim.Millisecond)
		return st
	}
	if st := toB(mad.SMDisable); st != 0 || b.State() != mad.SMNotActive {
		t.Errorf("DISABLE: %v, %v", st, b.State())
	}
	f.Run(20 * pollTime)
	if b.State() != mad.SMNotActive {
		t.Errorf("a manager that is not active became %v", b.State())
	}
	if st := toB(mad.SMDiscover); st != mad.StatusInvalidField {
		t.Errorf("DISCOVER when not active: %v", st)
	}
	if st := toB(mad.SMStandbyCtl); st != 0 || b.State() != mad.SMStandby {
		t.Errorf("STANDBY: %v, %v", st, b.State())
	}
	if st := toB(mad.SMDiscover); st != 0 || b.State() == mad.SMMaster {
		t.Errorf("DISCOVER: %v, %v", st, b.State())
	}
	f.Run(5 * sim.Second)
	if a.State() != mad.SMMaster || b.State() != mad.SMStandby {
		t.Errorf("at the end: %v, %v", a.State(), b.State())
	}
	if st := toB(77); st != mad.StatusInvalidField {
		t.Errorf("unknown control: %v", st)
	}
}
