package ether

import (
	"net/netip"
	"testing"

	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/sim"
)

// hot is a switch at full work: PFC, ECN and both ways of forwarding. Its
// stations only count.
func hot(t testing.TB) *network {
	cfg := lossless(6, 100_000, 50_000, 100_000)
	cfg.ECN[3] = ECN{Enable: true, KMin: 10_000, KMax: 40_000, PMax: 0.2}
	for i := 3; i < 6; i++ {
		cfg.Ports[i].Mode = Routed
	}
	cfg.Interfaces = []Interface{
		{Port: 3, Addrs: []netip.Prefix{prefix("10.0.3.254/24")}},
		{Port: 4, Addrs: []netip.Prefix{prefix("10.0.4.254/24")}},
	}
	cfg.Routes = []Route{{Prefix: prefix("10.9.0.0/16"), NextHops: []NextHop{
		{Port: 4, MAC: [6]byte{2, 0, 0, 0, 0, 5}}, {Port: 5, MAC: [6]byte{2, 0, 0, 0, 0, 6}}}}}
	n := star(t, cfg, link.Config{Rate: 100 * link.Gbps, Delay: 500 * sim.Nanosecond})
	n.hello()
	for _, h := range n.h {
		h.quiet = true
	}
	return n
}

// routed is a frame of h4 that goes by ECMP.
func (n *network) routed(sport uint16) *frame.Frame {
	h := n.h[3]
	return n.udp(udp{dst: PortMAC(swMAC, 3), src: h.mac, sip: [4]byte{10, 0, 3, 1}, dip: [4]byte{10, 9, 1, 1}, sport: sport, dport: 4791, tos: tos3, total: 4200})
}

func TestHopAllocatesNothing(t *testing.T) {
	n := hot(t)
	a, b, c, d := n.h[0], n.h[1], n.h[2], n.h[3]
	round := func() {
		for i := range 100 {
			a.send(3, a.to(c, tos3, 4200)) // two into one: PFC and ECN are at work
			b.send(3, b.to(c, tos3, 4200))
			d.send(3, n.routed(uint16(0xc000+i)))
		}
		n.run(200 * sim.Microsecond)
	}
	before := n.s.Totals().Dropped()
	round()
	if x := testing.AllocsPerRun(20, round); x != 0 {
		t.Errorf("%v allocations for 300 frames, want 0", x)
	}
	if tot := n.s.Counters(0); tot.PauseSent[3] == 0 || n.s.Counters(2).ECNMarked[3] == 0 {
		t.Error("neither PFC nor ECN was at work")
	}
	if n.s.Totals().Dropped() != before {
		t.Errorf("drops %v", n.s.Totals().Drops)
	}
}

// BenchmarkHop is the switch alone: Receive and Dequeue of a frame whose
// headers were parsed by its sender, as the HCA does. The ports' wires are busy
// for ever, so that the frame can be taken out by hand.
func BenchmarkHop(b *testing.B) {
	for _, c := range []struct {
		name    string
		in, out int
		mk      func(n *network) *frame.Frame
	}{
		{"bridged", 0, 2, func(n *network) *frame.Frame { return n.h[0].to(n.h[2], tos3, 4200) }},
		{"routed", 3, 4, func(n *network) *frame.Frame { return n.routed(0xc000) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := hot(b)
			f := c.mk(n)
			f.Parse()
			head, l := append([]byte(nil), f.Data...), f.Meta.Layers
			// A frame on each wire: the ports do not ask while time stands still.
			for i := range n.h {
				n.s.enqueue(n.s.ports[i], n.h[0].to(n.h[i], tos3, 4200))
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				copy(f.Data, head)
				f.Meta.Layers, f.Meta.Parsed = l, true
				n.s.Receive(c.in, f)
				if f = n.s.Dequeue(c.out); f == nil {
					f = n.s.Dequeue(c.out + 1) // the other way of ECMP
				}
			}
			b.StopTimer()
			n.pool.Put(f)
			n.unchecked = true // took frames out by hand: nothing to check
		})
	}
}

// BenchmarkFabricHop is a hop with everything: the sender's port, the wire, the
// switch and the receiver, 4200-byte frames at 100 Gb/s.
func BenchmarkFabricHop(b *testing.B) {
	n := hot(b)
	a, c := n.h[0], n.h[2]
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += 64 {
		for range 64 {
			a.q[3].Push(a.to(c, tos3, 4200))
		}
		a.port.Kick()
		n.run(64 * 340 * sim.Nanosecond)
	}
}
