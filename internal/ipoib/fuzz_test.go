package ipoib

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"cnuas/hca"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

func seeds(f *testing.F) {
	own := NewAddr(0x102, hca.GID{0: 0xfe, 1: 0x80, 15: 2})
	b := make([]byte, HeaderLen+arpLen)
	binary.BigEndian.PutUint16(b, wire.EtherTypeARP)
	arp(b[HeaderLen:]).encode(wire.ARPRequest, own, netip.MustParseAddr("10.0.0.2"), Addr{}, netip.MustParseAddr("10.0.0.1"))
	f.Add(b)
	b = make([]byte, HeaderLen+ndLen)
	binary.BigEndian.PutUint16(b, wire.EtherTypeIPv6)
	encodeND(b[HeaderLen:], wire.ICMPv6NeighborSol, 0, netip.MustParseAddr("fd00::2"), netip.MustParseAddr("ff02::1:ff00:1"), netip.MustParseAddr("fd00::1"), own)
	f.Add(b)
	for _, p := range [][]byte{packet(2, "10.0.0.1", "fuzz"), packet(2, "fd00::1", "fuzz"),
		igmpPacket("224.0.0.22", igmpReport3, 0, 0, 0, 0, 0, 0, 1, recordToEx, 0, 0, 0, 239, 1, 2, 3),
		mldPacket("ff02::16", append([]byte{mldReport2, 0, 0, 0, 0, 0, 0, 1, recordToEx, 0, 0, 0}, group6()...)...)} {
		typ := uint16(wire.EtherTypeIPv4)
		if p[0]>>4 == 6 {
			typ = wire.EtherTypeIPv6
		}
		f.Add(append(binary.BigEndian.AppendUint16(nil, typ), append([]byte{0, 0}, p...)...))
	}
}

// FuzzReceive: no datagram of a stranger's breaks an interface, or makes it
// remember more than one neighbour.
func FuzzReceive(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 2048 {
			return
		}
		l := upLab(t, 2)
		p := l.ports[0]
		p.receive(&hca.Datagram{Data: b, Addr: hca.MADAddress{QPN: 0x102, LID: 2, QKey: testQKey}})
		if n := p.i.Neighbours(); n > 1 {
			t.Errorf("%d neighbours", n)
		}
		l.run(5 * sim.Second)
		p.got = nil
		l.ports[1].send("10.0.0.1", "fine")
		l.run(10 * sim.Millisecond)
		if len(p.got) != 1 {
			t.Errorf("after % x: got %v", b, p.got)
		}
	})
}

// FuzzOutput: nothing that a kernel sends breaks an interface.
func FuzzOutput(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 4096 {
			return
		}
		l := upLab(t, 2)
		p := l.ports[0]
		p.i.Output(append([]byte(nil), b...))
		l.run(5 * sim.Second)
		p.send("10.0.0.2", "fine")
		l.run(10 * sim.Millisecond)
		got := l.ports[1].got
		if len(got) == 0 || got[len(got)-1] != "fine" {
			t.Errorf("after % x: %v", b, got)
		}
	})
}

// TestNoAllocation: a packet to a known neighbour and one received cost no
// memory.
func TestNoAllocation(t *testing.T) {
	l := upLab(t, 2)
	h1 := l.ports[0]
	h1.send("10.0.0.2", "warm")
	l.run(sim.Millisecond)
	h1.i.qp = sink{}
	h1.i.host = sink{}
	b := append(make([]byte, HeaderLen), packet(1, "10.0.0.2", "fast")...)
	in := append([]byte{8, 0, 0, 0}, packet(2, "10.0.0.1", "fast")...)
	d := &hca.Datagram{Data: in, Addr: hca.MADAddress{QPN: 0x102, LID: 2}}
	if n := testing.AllocsPerRun(100, func() { h1.i.Output(b); h1.i.receive(d) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

type sink struct{ *fakePort }

func (sink) Send(*hca.Datagram) error { return nil }
func (sink) Deliver([]byte) bool      { return true }
func (sink) LinkChanged(bool, int)    {}
