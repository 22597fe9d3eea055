package ipoib

import (
	"net/netip"
	"testing"

	"cnuas/internal/sim"
)

// igmpPacket is a packet with the router alert option.
func igmpPacket(dst string, m ...byte) []byte {
	b := make([]byte, 24, 24+len(m))
	d := netip.MustParseAddr(dst).As4()
	b[0], b[3], b[8], b[9] = 0x46, byte(24+len(m)), 1, protoIGMP
	copy(b[12:], []byte{10, 0, 0, 1})
	copy(b[16:], d[:])
	copy(b[20:], []byte{0x94, 4, 0, 0})
	return append(b, m...)
}

// mldPacket has the hop-by-hop header with router alert.
func mldPacket(dst string, m ...byte) []byte {
	b := make([]byte, 48, 48+len(m))
	d := netip.MustParseAddr(dst).As16()
	b[0], b[5], b[6], b[7] = 0x60, byte(8+len(m)), hopByHop, 1
	copy(b[24:], d[:])
	copy(b[40:], []byte{58, 0, 5, 2, 0, 0, 1, 0})
	return append(b, m...)
}

func group6(tail ...byte) []byte {
	a := netip.MustParseAddr("ff02::1:2:3").As16()
	return append(a[:], tail...)
}

// TestSnoop: groups that the kernel reports are joined, and left.
func TestSnoop(t *testing.T) {
	v4 := []byte{239, 1, 2, 3}
	cat := func(l ...[]byte) (b []byte) {
		for _, x := range l {
			b = append(b, x...)
		}
		return b
	}
	mld1 := func(typ byte) []byte { return cat([]byte{typ, 0, 0, 0, 0, 0, 0, 0}, group6()) }
	report4 := func(typ, sources byte, rest ...byte) []byte {
		return igmpPacket("224.0.0.22", cat([]byte{igmpReport3, 0, 0, 0, 0, 0, 0, 1, typ, 0, 0, sources}, v4, rest)...)
	}
	report6 := func(typ, sources byte, rest ...byte) []byte {
		return mldPacket("ff02::16", cat([]byte{mldReport2, 0, 0, 0, 0, 0, 0, 1, typ, 0, 0, sources}, group6(), rest)...)
	}
	for _, c := range []struct {
		name        string
		join, leave []byte
		mgid        string
	}{
		{"IGMPv2", igmpPacket("239.1.2.3", cat([]byte{igmpReport2, 0, 0, 0}, v4)...), igmpPacket("224.0.0.2", cat([]byte{igmpLeave, 0, 0, 0}, v4)...), "ff12:401b:ffff::f01:203"},
		{"IGMPv3", report4(recordToEx, 0), report4(recordToIn, 0), "ff12:401b:ffff::f01:203"},
		{"IGMPv3 with a source", report4(recordAllow, 1, 10, 0, 0, 9), report4(recordToIn, 0), "ff12:401b:ffff::f01:203"},
		{"MLDv1", mldPacket("ff02::1:2:3", mld1(mldReport1)...), mldPacket("ff02::2", mld1(mldDone)...), "ff12:601b:ffff::1:2:3"},
		{"MLDv2", report6(recordToEx, 0), report6(recordToIn, 0), "ff12:601b:ffff::1:2:3"},
	} {
		l := upLab(t, 2)
		h1 := l.ports[0]
		mgid := netip.MustParseAddr(c.mgid).As16()
		h1.output(c.join)
		l.run(sim.Millisecond)
		if h1.attached[mgid] == 0 {
			t.Errorf("%s: not joined: attached to %v", c.name, h1.attached)
		}
		to := "239.1.2.3"
		if mgid[2] == 0x60 {
			to = "ff02::1:2:3"
		}
		h1.got = nil
		l.ports[1].send(to, "mcst")
		l.run(sim.Millisecond)
		if len(h1.got) != 1 {
			t.Errorf("%s: got %v", c.name, h1.got)
		}
		h1.output(c.leave)
		l.run(sim.Millisecond)
		if h1.attached[mgid] != 0 || h1.i.Groups() > 6 {
			t.Errorf("%s: not left: %v", c.name, h1.attached)
		}
	}
	// The groups that all hosts are in stay.
	l := upLab(t, 1)
	n := len(l.ports[0].attached)
	l.ports[0].output(igmpPacket("224.0.0.2", igmpLeave, 0, 0, 0, 224, 0, 0, 1))
	l.run(sim.Millisecond)
	if len(l.ports[0].attached) != n {
		t.Errorf("%d groups, were %d", len(l.ports[0].attached), n)
	}
}

// TestSenders: a group that is only sent to is joined for that, left when
// nobody sends any more, and not asked for all the time if there is none.
func TestSenders(t *testing.T) {
	l := upLab(t, 2)
	h1 := l.ports[0]
	h1.send("239.9.9.9", "lost")
	h1.send("239.9.9.9", "lost")
	l.run(sim.Millisecond)
	l.expect("nobody listens", "h1 Set ff12:401b:ffff::f09:909 4")
	h1.send("239.9.9.9", "lost")
	l.run(10 * sim.Millisecond)
	l.expect("not asked again at once")
	if c := h1.i.Counters(); c.TxNoGroup != 3 || c.JoinFailures != 1 {
		t.Errorf("%+v", c)
	}
	l.run(2 * sim.Second)
	l.ports[1].output(igmpPacket("239.9.9.9", igmpReport2, 0, 0, 0, 239, 9, 9, 9))
	l.run(sim.Millisecond)
	h1.send("239.9.9.9", "here")
	l.run(sim.Millisecond)
	if got := l.ports[1].got; len(got) != 1 || got[0] != "here" {
		t.Errorf("h2 got %v", got)
	}
	l.log = nil
	l.run(2*idleTime + sim.Second)
	l.expect("left", "h1 Delete ff12:401b:ffff::f09:909 4")
}
