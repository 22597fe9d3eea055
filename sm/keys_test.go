package sm_test

import (
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
	"cnuas/sm/smtest"
)

// TestProtectBits: a port that another has locked is named, whatever its
// protect level lets through, and the rest of the subnet is up.
func TestProtectBits(t *testing.T) {
	for bits, want := range []string{
		"PortInfo of port 1 cannot be set (no answer; 0x0000000000100005 has the M_Key of another)",
		"PortInfo of port 1 cannot be set (no answer; 0x0000000000100005 has the M_Key of another)",
		"route 0,1,3: no usable answer to NodeInfo",
		"route 0,1,3: no usable answer to NodeInfo",
	} {
		f := smtest.FT2x2x8(sim.NewEngine(1))
		h := f.Node("H3").Ports[1]
		h.Info.MKey, h.Info.MKeyProtectBits = 0x123, uint8(bits)
		m := f.Manage(f.Node("H1").Ports[1], sm.Config{MKey: 0xabc, MKeyBits: 1, Timeout: 5 * sim.Millisecond})
		m.Start()
		f.Run(2 * sim.Second)
		if m.State() != mad.SMMaster || !strings.Contains(notes(m), want) {
			t.Errorf("level %d: %v, %q", bits, m.State(), notes(m))
		}
		if h.Info.LID != 0 || h.Info.MKey != 0x123 || h.Info.MKeyViolations == 0 {
			t.Errorf("level %d: LID %d, key %#x, %d violations", bits, h.Info.LID, h.Info.MKey, h.Info.MKeyViolations)
		}
		if _, err := f.Hops(f.Node("H2").Ports[1], f.Node("H7").Ports[1].Info.LID); err != nil {
			t.Errorf("level %d: %v", bits, err)
		}
		// Its owner gives the key up.
		h.Info.MKey, h.Info.MKeyProtectBits = 0, 0
		f.Run(3 * sim.Second)
		if h.Info.LID == 0 || h.Info.MKey != 0xabc || h.Info.MKeyProtectBits != 1 {
			t.Errorf("level %d, unlocked: LID %d, key %#x, bits %d", bits, h.Info.LID, h.Info.MKey, h.Info.MKeyProtectBits)
		}
		reach(t, f)
	}
}

// TestSMKeys: managers with different SM_Keys. The one that was there first
// stays master, since the other does not obey; it keeps the subnet in order.
func TestSMKeys(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	a := up(t, f, "H1", sm.Config{Priority: 1, SMKey: 7, PollTime: pollTime, Sweep: sim.Second, Timeout: 10 * sim.Millisecond})
	b := f.Manage(f.Node("H8").Ports[1], sm.Config{Priority: 9, SMKey: 8, PollTime: pollTime, Timeout: 10 * sim.Millisecond})
	b.Start()
	f.Run(5 * sim.Second)
	if a.State() != mad.SMMaster || b.State() != mad.SMStandby {
		t.Fatalf("%v, %v", a.State(), b.State())
	}
	if !strings.Contains(notes(a), "0x000000000010000f does not take over (no answer)") || !strings.Contains(notes(b), "SMInfo control 1 of 0x0000000000100001 with another SM_Key") {
		t.Errorf("notes %q and %q", notes(a), notes(b))
	}
	if n := a.Status().Stats.HandoversOut; n != 1 {
		t.Errorf("%d handovers in 5 s", n)
	}
	f.Pull(f.Node("S1").Ports[2])
	f.Run(2 * sim.Second)
	reach(t, f)
	f.Run(60 * sim.Second)
	if a.State() != mad.SMMaster || b.State() != mad.SMStandby || a.Status().Stats.HandoversOut > 7 {
		t.Errorf("after a minute: %v, %v, %d handovers", a.State(), b.State(), a.Status().Stats.HandoversOut)
	}
	reach(t, f)
	// A key is told to who has it, and to who asks without one as OpenSM does.
	if i := f.Node("H2").Ports[1]; i != nil {
		var got mad.SMInfo
		e := i.Endpoint()
		e.SMP = func(d *sm.Datagram) { mad.Decode(&got, d.SMP().Data()) }
		for _, key := range []uint64{0, 8, 7} {
			d := sm.Datagram{DLID: f.Node("H1").Ports[1].Info.LID}
			s := d.SMP()
			s[0], s[1], s[2] = 1, byte(mad.ClassSubnLID), 1
			s.Packet().SetMethod(mad.MethodGet)
			s.Packet().SetAttr(mad.AttrSMInfo)
			mad.Encode(&mad.SMInfo{GUID: i.GUID, SMKey: key}, s.Data())
			e.Send(&d)
			f.Run(10 * sim.Millisecond)
			if want := map[uint64]uint64{0: 7, 7: 7}[key]; got.GUID != 0x100001 || got.SMKey != want || got.SMState != mad.SMMaster || got.Priority != 1 {
				t.Errorf("asked with key %d: %+v", key, got)
			}
		}
	}
}

// TestTIDHigh: every request has the high half of the TID that its owner gave,
// and no two have the same.
func TestTIDHigh(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	f.Run(5 * sim.Second) // the low half begins with the time
	self, seen := f.Node("H1").Ports[1], map[uint64]bool{}
	f.See = func(from *smtest.Port, d *sm.Datagram) {
		p := d.Packet()
		if from != self || p.Method().IsResponse() || p.Method() == mad.MethodTrapRepress {
			return
		}
		if p.TID()>>32 != 0x8765 || seen[p.TID()] {
			t.Errorf("TID %#x", p.TID())
		}
		seen[p.TID()] = true
	}
	m := up(t, f, "H1", sm.Config{TIDHigh: 0x8765, MaxSMPs: 32})
	reach(t, f)
	if n := m.Status().Stats.SMPs; n != uint64(len(seen)) {
		t.Errorf("%d SMPs, %d TIDs", n, len(seen))
	}
}

// TestSilence: a manager that was stopped says nothing, and one that hears
// nothing comes to an end.
func TestSilence(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	m := up(t, f, "H1", sm.Config{Sweep: sim.Second})
	m.Stop()
	n := m.Status().Stats.SMPs
	f.Run(10 * sim.Second)
	if m.Status().Stats.SMPs != n || m.State() != mad.SMNotActive || m.MasterLID() != 0 {
		t.Errorf("it sent %d SMPs, is %v", m.Status().Stats.SMPs-n, m.State())
	}
	m.Start()
	f.Run(sim.Second)
	if m.State() != mad.SMMaster {
		t.Errorf("started again: %v", m.State())
	}
	f.Loss = 1
	f.Run(60 * sim.Second)
	s := m.Status()
	if s.Stats.GaveUp == 0 || m.Subnet() == nil {
		t.Errorf("all lost: %d given up, subnet %v", s.Stats.GaveUp, m.Subnet())
	}
	f.Loss = 0
	f.Run(10 * sim.Second)
	if s := m.Status(); s.State != "Master" || s.Stats.SweepErrors != 0 || s.Stats.Nodes != 12 {
		t.Errorf("heard again: %s, %d errors, %d nodes", s.State, s.Stats.SweepErrors, s.Stats.Nodes)
	}
	reach(t, f)
}
