package hca_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/sm"
)

// station is a kernel's queue pair and what came to it.
type station struct {
	*hca.DatagramQP
	d    *hca.Device
	got  []hca.Datagram
	data [][]byte
}

func (p *pair) station(i int, qkey uint32) *station {
	p.t.Helper()
	s := &station{d: p.dev[i]}
	s.DatagramQP = must[*hca.DatagramQP](p.t)(p.dev[i].OpenDatagram(qkey, func(m *hca.Datagram) {
		s.got = append(s.got, *m)
		s.data = append(s.data, bytes.Clone(m.Data))
	}))
	return s
}

// to is the address of a device's queue pair.
func (p *pair) to(i int, qpn, qkey uint32) hca.MADAddress {
	av := p.vector(i)
	return hca.MADAddress{QPN: qpn, QKey: qkey, LID: av.DLID, SGIDIndex: av.SGIDIndex, GID: av.DGID, MAC: av.DMAC}
}

// onBoth runs a test over both fabrics.
func onBoth(t *testing.T, f func(*testing.T)) {
	t.Run("RoCE", f)
	overIB = true
	defer func() { overIB = false }()
	t.Run("InfiniBand", f)
}

// TestDatagramQP: between kernels' queue pairs, and between them and programs',
// answered by the address that came.
func TestDatagramQP(t *testing.T) {
	onBoth(t, func(t *testing.T) {
		p := newPair(t, 1, nil, hca.Config{})
		a, b := p.station(0, 7), p.station(1, 7)
		most := 128 << p.dev[0].ActiveMTU()
		for i, n := range []int{0, 1, 44, 45, 2044, most} {
			m := hca.Datagram{Addr: p.to(1, b.Num(), 7), Data: bytesOf(n, uint32(i))}
			if err := a.Send(&m); err != nil {
				t.Fatalf("%d bytes: %v", n, err)
			}
			clear(m.Data) // it was copied
			p.run(10 * sim.Microsecond)
			if len(b.data) != i+1 || !bytes.Equal(b.data[i], bytesOf(n, uint32(i))) {
				t.Fatalf("%d bytes: %d arrived", n, len(b.data))
			}
			g := b.got[i]
			if g.Addr.QPN != a.Num() || g.Addr.QKey != 7 || g.ToGroup || g.GRHPresent != (p.net == nil) || g.Addr.GRH != g.GRHPresent {
				t.Errorf("%+v", g)
			}
			if err := b.Send(&hca.Datagram{Addr: g.Addr, Data: []byte{byte(i), 2, 3}}); err != nil {
				t.Fatal(err)
			}
			p.run(10 * sim.Microsecond)
			if len(a.data) != i+1 || !bytes.Equal(a.data[i], []byte{byte(i), 2, 3}) {
				t.Fatalf("%d bytes: no answer: %v", n, a.data)
			}
		}
		if err := a.Send(&hca.Datagram{Addr: p.to(1, b.Num(), 7), Data: make([]byte, most+1)}); !errors.Is(err, hca.ErrInvalid) {
			t.Errorf("above the MTU: %v", err)
		}
		// To itself.
		if err := a.Send(&hca.Datagram{Addr: p.to(0, a.Num(), 7), Data: []byte{9}}); err != nil {
			t.Error(err)
		}
		p.run(10 * sim.Microsecond)
		if n := len(a.data); n != 7 || a.data[6][0] != 9 {
			t.Errorf("to itself: %d", n)
		}
		// A program's queue pair to a kernel's and back.
		x := p.udEnd(1, false)
		x.qp.PostRecv(5, x.buf.SGE(0, 4096))
		if err := a.Send(&hca.Datagram{Addr: p.to(1, x.qp.Num(), 0x11), Data: bytesOf(77, 1)}); err != nil {
			t.Fatal(err)
		}
		p.run(10 * sim.Microsecond)
		if c := x.poll(); len(c) != 1 || c[0].ByteLen != 117 || c[0].SrcQP != a.Num() || !bytes.Equal(x.buf.B[40:117], bytesOf(77, 1)) {
			t.Errorf("%+v", c)
		}
		ah := must[*hca.AH](t)(x.Context.CreateAH(x.PD, p.vector(0)))
		x.qp.PostSend(&ring.Send{ID: 1, Opcode: ring.OpSend, QPN: a.Num(), QKey: 7, AH: ah.Num(), SGEs: []ring.SGE{x.buf.SGE(40, 77)}})
		x.qp.PostSend(&ring.Send{ID: 1, Opcode: ring.OpSend, QPN: a.Num(), QKey: 8, AH: ah.Num(), SGEs: []ring.SGE{x.buf.SGE(40, 77)}})
		p.run(10 * sim.Microsecond)
		if n := len(a.data); n != 8 || !bytes.Equal(a.data[7], bytesOf(77, 1)) || p.dev[0].Counters().Dropped[hca.DropQKey] != 1 {
			t.Errorf("from a program: %d, dropped %v", n, p.dev[0].Counters().Dropped)
		}
		// Closed.
		b.Close()
		b.Close()
		if err := b.Send(&hca.Datagram{Addr: p.to(0, a.Num(), 7)}); !errors.Is(err, hca.ErrInvalid) {
			t.Errorf("closed: %v", err)
		}
		a.Send(&hca.Datagram{Addr: p.to(1, b.Num(), 7), Data: []byte{1}})
		p.run(10 * sim.Microsecond)
		if len(b.data) != 6 || p.dev[1].Counters().Dropped[hca.DropNoQP] == 0 {
			t.Errorf("arrived at a closed queue pair")
		}
		p.drain()
	})
}

// TestDatagramQPGroup: groups of kernels' and programs' queue pairs together; a
// sender does not hear itself.
func TestDatagramQPGroup(t *testing.T) {
	onBoth(t, func(t *testing.T) {
		p := newPair(t, 1, nil, hca.Config{})
		g, l := group4, wire.LID(0)
		addr := hca.MADAddress{QPN: 0xffffff, QKey: 0x11, SGIDIndex: 1, GID: group4}
		if p.net != nil {
			g, l = mgid, mlid
			addr = hca.MADAddress{QPN: 0xffffff, QKey: 0x11, LID: mlid, GRH: true, GID: mgid, HopLimit: 1}
			p.net.m.SetGroup(mlid, []wire.GUID{p.dev[0].IB().GUID(), p.dev[1].IB().GUID()}, nil)
			p.run(5 * sim.Millisecond)
		}
		x := p.udEnd(1, false) // in front of the kernel's
		y := p.udEnd(0, false)
		s := []*station{p.station(0, 0x11), p.station(0, 0x11), p.station(1, 0x11), p.station(1, 0x11)}
		for _, e := range []*end{x, y} {
			e.qp.PostRecv(1, e.buf.SGE(0, 4096))
			if err := e.qp.Attach(g, l); err != nil {
				t.Fatal(err)
			}
		}
		for _, q := range s[:3] {
			if err := q.Attach(g, l); err != nil {
				t.Fatal(err)
			}
		}
		if err := s[0].Send(&hca.Datagram{Addr: addr, Data: bytesOf(60, 3)}); err != nil {
			t.Fatal(err)
		}
		p.run(20 * sim.Microsecond)
		for i, want := range []int{0, 1, 1, 0} {
			if len(s[i].data) != want {
				t.Errorf("station %d has %d", i, len(s[i].data))
				continue
			}
			if want == 0 {
				continue
			}
			m := s[i].got[0]
			if !m.ToGroup || !m.GRHPresent || m.Addr.QPN != s[0].Num() || m.Addr.GID != p.dev[0].GIDs()[addr.SGIDIndex].GID || !bytes.Equal(s[i].data[0], bytesOf(60, 3)) {
				t.Errorf("station %d: %+v", i, m)
			}
			if p.net == nil && m.Addr.MAC != p.dev[0].Config().MAC {
				t.Errorf("station %d: MAC % x", i, m.Addr.MAC)
			}
		}
		for i, e := range []*end{x, y} {
			if c := e.poll(); len(c) != 1 || c[0].ByteLen != 100 || c[0].Flags != ring.WCFlagGRH || !bytes.Equal(e.buf.B[40:100], bytesOf(60, 3)) {
				t.Errorf("program %d: %+v", i, c)
			}
		}
		if err := s[2].Detach(g, l); err != nil {
			t.Error(err)
		}
		s[0].Send(&hca.Datagram{Addr: addr, Data: bytesOf(1, 3)})
		p.run(20 * sim.Microsecond)
		if len(s[1].data) != 2 || len(s[2].data) != 1 {
			t.Errorf("%d and %d after the detach", len(s[1].data), len(s[2].data))
		}
		for _, q := range s {
			q.Close()
		}
		x.Context.Close()
		y.Context.Close()
		p.drain()
	})
}

// TestDatagramQPCloses: a queue pair that closes itself, or another, when it
// receives.
func TestDatagramQPCloses(t *testing.T) {
	p := newPair(t, 1, nil, hca.Config{})
	var q [3]*hca.DatagramQP
	n := 0
	for i := range q {
		q[i] = must[*hca.DatagramQP](t)(p.dev[1].OpenDatagram(1, func(*hca.Datagram) {
			n++
			for _, x := range q {
				x.Close()
			}
		}))
		if err := q[i].Attach(group4, 0); err != nil {
			t.Fatal(err)
		}
	}
	s := p.station(0, 1)
	for range 2 {
		if err := s.Send(&hca.Datagram{Addr: hca.MADAddress{QKey: 1, SGIDIndex: 1, GID: group4}, Data: []byte{1}}); err != nil {
			t.Fatal(err)
		}
	}
	p.run(20 * sim.Microsecond)
	if n != 1 {
		t.Errorf("%d received", n)
	}
	p.drain()
}

// TestDatagramQPNoAllocations: IPoIB sends and receives without garbage.
func TestDatagramQPNoAllocations(t *testing.T) {
	onBoth(t, func(t *testing.T) {
		p := newPair(t, 1, nil, hca.Config{})
		n := 0
		b := must[*hca.DatagramQP](t)(p.dev[1].OpenDatagram(1, func(*hca.Datagram) { n++ }))
		a := must[*hca.DatagramQP](t)(p.dev[0].OpenDatagram(1, func(*hca.Datagram) {}))
		m := &hca.Datagram{Addr: p.to(1, b.Num(), 1), Data: bytesOf(2044, 1)}
		round := func() {
			for range 100 {
				if a.Send(m) != nil {
					t.Fatal("refused")
				}
			}
			p.run(100 * sim.Microsecond)
		}
		for range 20 {
			round()
		}
		n = 0
		if k := testing.AllocsPerRun(10, round); k > 0 || n != 1100 {
			t.Errorf("%g allocations in a round of 100; %d arrived of 1100", k, n)
		}
	})
}

// TestDatagramQPKeys: the P_Key is one of the port's table.
func TestDatagramQPKeys(t *testing.T) {
	n := newIBNet(t, 1)
	n.star(2)
	n.up(sm.Config{Partitions: must[*sm.PartitionFile](t)(sm.ParsePartitions("Default=0x7fff,ipoib:ALL=full;\nP5=5: ALL=full;\n"))})
	p := n.pairOf(0, 1)
	a, b := p.station(0, 3), p.station(1, 3)
	if p.dev[0].PKeys()[1] != 0x8005 {
		t.Fatalf("P_Keys %#x", p.dev[0].PKeys()[:3])
	}
	send := func() string {
		k := len(b.got)
		a.Send(&hca.Datagram{Addr: p.to(1, b.Num(), 3), Data: []byte{1}})
		p.run(10 * sim.Microsecond)
		if len(b.got) == k {
			return "lost"
		}
		return fmt.Sprint(b.got[k].Addr.PKeyIndex)
	}
	got := []string{send()}
	a.SetKeys(3, 1)
	got = append(got, send())
	b.SetKeys(3, 1)
	got = append(got, send())
	b.SetKeys(4, 1)
	got = append(got, send())
	if fmt.Sprint(got) != "[0 lost 1 lost]" {
		t.Errorf("%v", got)
	}
	n.idle()
}
