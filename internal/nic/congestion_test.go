package nic

import (
	"strings"
	"testing"

	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// congested is a NIC of a kernel node: no HCA, rule and congestion points.
func congested(t testing.TB, c Congestion) (*bench, *[]seen) {
	b := newBench(t, Config{RoCE: &RoCERule{DSCP: 26, ECT: true}, Congestion: &c}, 10*link.Gbps)
	b.n.SetSource(nil)
	return b, b.watch()
}

// arrive lets a packet come from the peer.
func (b *bench) arrive(k kernelPacket) {
	k.in = true
	b.p.port.SendControl(k.build(b))
	b.run(10 * sim.Microsecond)
}

const ce = 26<<2 | wire.ECNCE

// A marked packet of a flow that is known is answered by a CNP that is right in
// every field.
func TestNotificationPoint(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		for _, vid := range []uint16{0, 10} {
			b, got := congested(t, Congestion{CNPDSCP: 48})
			k := kernelPacket{v6: v6, vid: vid, op: wire.RCWriteMiddle, qpn: 17, psn: 700, pay: 1024, sport: 0xc777, tos: ce}
			b.arrive(k)
			if c := b.n.Counters(); c.ECNMarked != 1 || c.CNPUnknownFlow != 1 || c.CNPSent != 0 {
				t.Errorf("before the kernel answered: %+v", c)
			}
			b.n.FromHost(kernelPacket{v6: v6, vid: vid, op: wire.RCAcknowledge, qpn: 55, psn: 700, pay: 4, sport: 0xd333}.build(b))
			b.run(10 * sim.Microsecond)
			b.arrive(k)
			c := b.n.Counters()
			if c.ECNMarked != 2 || c.CNPUnknownFlow != 1 || c.CNPSent != 1 || c.RxHost.Frames != 2 || len(*got) != 2 {
				t.Fatalf("%+v, %d frames", c, len(*got))
			}
			s := (*got)[1]
			rightICRC(t, s)
			l4 := int(s.layers.L4)
			udp, bth := wire.UDP(s.data[l4:]), wire.BTH(s.data[l4+wire.UDPLen:])
			want := wire.BTHFields{Opcode: wire.CNP, MigReq: true, PKey: wire.DefaultPKey, BECN: true, DestQP: 55}
			if bth.Fields() != want || s.layers.TOS != 48<<2 || s.layers.VID != vid || s.layers.Tagged != (vid != 0) {
				t.Errorf("BTH %+v, TOS %#x, VLAN %d", bth.Fields(), s.layers.TOS, s.layers.VID)
			}
			if udp.SrcPort() != 0xd333 || udp.DstPort() != wire.RoCEv2Port || udp.Len() != len(s.data)-l4 || udp.Checksum() != 0 {
				t.Errorf("UDP % x", udp[:8])
			}
			if string(bth[wire.BTHLen:wire.BTHLen+16]) != strings.Repeat("\x00", 16) || len(bth) != wire.BTHLen+16+wire.ICRCLen {
				t.Errorf("behind the BTH: % x", bth[wire.BTHLen:])
			}
			e := wire.Ethernet(s.data)
			if e.Dst() != peerMAC || e.Src() != myMAC {
				t.Errorf("addresses % x", s.data[:12])
			}
			if ip := s.data[s.layers.L3:]; v6 && (wire.IPv6(ip).Src() != my6 || wire.IPv6(ip).Dst() != peer6) ||
				!v6 && (wire.IPv4(ip).Src() != myIP || wire.IPv4(ip).Dst() != peerIP) {
				t.Errorf("IP % x", ip[:40])
			}
			if c.TxHost[6].Frames != 1 {
				t.Errorf("priorities %v", c.TxHost)
			}
		}
	}
}

// One CNP in an interval and flow; flows do not share it.
func TestNotificationInterval(t *testing.T) {
	for _, c := range []struct {
		interval  sim.Time
		every     sim.Time
		marks     int
		cnps      uint64
		unmarked  bool
		unrelated wire.Opcode // instead of a write
	}{
		{0, 10 * sim.Microsecond, 100, 20, false, 0},
		{0, 100 * sim.Microsecond, 10, 10, false, 0},
		{20 * sim.Microsecond, 10 * sim.Microsecond, 100, 50, false, 0},
		{0, 10 * sim.Microsecond, 50, 0, true, 0},
		{0, 10 * sim.Microsecond, 50, 0, false, wire.UDSendOnly},
	} {
		b, got := congested(t, Congestion{CNPDSCP: 48, Interval: c.interval})
		for q := range uint32(2) {
			b.arrive(kernelPacket{op: wire.RCSendOnly, qpn: 17 + q, psn: q * 99999})
			b.n.FromHost(kernelPacket{op: wire.RCAcknowledge, qpn: 55 + q, psn: q * 99999}.build(b))
		}
		b.run(sim.Millisecond)
		k := kernelPacket{in: true, op: wire.RCSendOnly, tos: ce, qpn: 17}
		if c.unmarked {
			k.tos = 26<<2 | wire.ECNECT0
		}
		if c.unrelated != 0 {
			k.op = c.unrelated
		}
		for range c.marks {
			for q := range uint32(2) {
				k.qpn, k.psn = 17+q, q*99999
				b.p.port.SendControl(k.build(b))
			}
			b.run(c.every)
		}
		n := b.n.Counters()
		if n.CNPSent != 2*c.cnps || uint64(len(*got)) != 2+2*c.cnps {
			t.Errorf("%+v: %d CNPs", c, n.CNPSent)
		}
		if marks := uint64(2 * c.marks); !c.unmarked && n.ECNMarked != marks || c.unrelated != 0 && n.CNPUnknownFlow != marks {
			t.Errorf("%+v: counters %+v", c, n)
		}
	}
}

// CNPs that wait behind a pause are bounded, and go with the link.
func TestNotificationIsBounded(t *testing.T) {
	b, _ := congested(t, Congestion{CNPDSCP: 48, Interval: sim.Nanosecond})
	b.arrive(kernelPacket{op: wire.RCSendOnly, qpn: 17})
	b.n.FromHost(kernelPacket{op: wire.RCAcknowledge, qpn: 55}.build(b))
	b.run(sim.Microsecond)
	b.p.stop(1<<6, 0xffff)
	for range maxCNPs + 100 {
		b.p.port.SendControl(kernelPacket{in: true, op: wire.RCSendOnly, qpn: 17, tos: ce}.build(b))
	}
	b.run(200 * sim.Microsecond)
	if c := b.n.Counters(); c.CNPSent != maxCNPs || c.TxHost[6].Frames != 0 {
		t.Errorf("%d CNPs wait, %d were sent", c.CNPSent, c.TxHost[6].Frames)
	}
	b.n.Port().SetUp(false)
	if c := b.n.Counters(); c.TxDrops[DropLinkDown] != maxCNPs {
		t.Errorf("%+v", c)
	}
}

// law records what a reaction point is told.
type law struct{ at []sim.Time }

func (l *law) Notified(now sim.Time)                 { l.at = append(l.at, now) }
func (l *law) Sent(now sim.Time, bytes int) sim.Time { return now }

// CNPs for the kernel end in the NIC and reach the reaction point of the flow.
func TestReactionPoint(t *testing.T) {
	b, _ := congested(t, Congestion{CNPDSCP: 48})
	cnp := kernelPacket{op: wire.CNP, qpn: 17, pay: 16, tos: 48 << 2}
	b.arrive(cnp) // nobody to tell
	b.arrive(kernelPacket{op: wire.RCAcknowledge, qpn: 17, pay: 4})
	l := &law{}
	ip := mapped(peerIP)
	b.n.points.flows.local(&ip, 17).rp = l
	cnp.v6 = true // another peer
	b.arrive(cnp)
	cnp.v6 = false
	b.arrive(cnp)
	c := b.n.Counters()
	if c.CNPReceived != 3 || c.RxHost.Frames != 1 || len(l.at) != 1 {
		t.Errorf("%+v, told at %v", c, l.at)
	}
	// One whose ICRC is wrong is the kernel's to refuse.
	cnp.in = true
	f := cnp.build(b)
	f.Data[len(f.Data)-1] ^= 1
	b.p.port.SendControl(f)
	b.run(10 * sim.Microsecond)
	if c := b.n.Counters(); c.CNPReceived != 3 || c.RxHost.Frames != 2 {
		t.Errorf("wrong ICRC: %+v", c)
	}
}

// Without congestion points, and beside an HCA, the kernel gets what is its own.
func TestNoCongestionPoints(t *testing.T) {
	b := newBench(t, Config{}, 10*link.Gbps)
	b.arrive(kernelPacket{op: wire.CNP, pay: 16})
	b.n.SetSource(nil)
	b.arrive(kernelPacket{op: wire.CNP, pay: 16})
	if c := b.n.Counters(); c.CNPReceived != 0 || c.RxSource.Frames != 1 || c.RxHost.Frames != 1 {
		t.Errorf("%+v", c)
	}
}

func TestNotificationAllocatesNothing(t *testing.T) {
	b, _ := congested(t, Congestion{CNPDSCP: 48, Interval: sim.Nanosecond})
	b.p.see = nil
	b.arrive(kernelPacket{op: wire.RCSendOnly, qpn: 17})
	b.n.FromHost(kernelPacket{op: wire.RCAcknowledge, qpn: 55}.build(b))
	b.n.SetHost(discard{b.pool})
	if n := testing.AllocsPerRun(200, func() { b.arrive(kernelPacket{op: wire.RCSendOnly, qpn: 17, tos: ce}) }); n != 0 {
		t.Errorf("%v allocations for a marked frame", n)
	}
	if b.n.Counters().CNPSent < 200 {
		t.Errorf("%+v", b.n.Counters())
	}
}

type discard struct{ pool *frame.Pool }

func (d discard) Deliver(f *frame.Frame) { d.pool.Put(f) }
func (d discard) Resume()                {}
func (d discard) LinkChanged(bool)       {}
