package fabric

import (
	"fmt"
	"net/netip"
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/topology"
	"cnuas/internal/tunnel"
	"cnuas/internal/tunnel/datagram"
	"cnuas/internal/wire/mad"
)

// The tests of InfiniBand fabrics once more with every link a tunnel: the same
// subnets, the same routes.
func TestOverTunnel(t *testing.T) {
	defer func() { tunnelled = false }()
	tunnelled = true
	t.Run("SubnetComesUp", TestSubnetComesUp)
	t.Run("NoSubnetManager", TestNoSubnetManager)
	t.Run("SpineCablePulled", TestSpineCablePulled)
	t.Run("StandbyTakesOver", TestStandbyTakesOver)
	t.Run("ImportedFabric", TestImportedFabric)
	t.Run("SpinePulledUnderTraffic", TestIBSpinePulledUnderTraffic)
}

// A subnet comes up over tunnels that lose, and its routes are those of a good
// network. What is lost is in the ports' counters.
func TestSubnetOverBadTunnels(t *testing.T) {
	defer func() { tunnelled = false }()
	tunnelled = true
	for _, c := range []struct {
		name string
		f    datagram.Faults
	}{
		{"0.1 %", datagram.Faults{Delay: 20 * sim.Microsecond, Loss: .001}},
		{"5 %", datagram.Faults{Delay: 20 * sim.Microsecond, Loss: .05}},
		{"bursts", datagram.Faults{Delay: 20 * sim.Microsecond, Loss: .002, Burst: 20}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := buildIB(t, load(t, "ib-fat-tree"), Options{})
			f.tunnels.net.Faults = c.f
			if !until(f, 60*sim.Second, func() bool { return isUp(f) && f.SubnetsAtRest() }) {
				t.Fatalf("not up after a minute:\n%s", f.tableIB())
			}
			f.Engine.RunUntil(f.Engine.Now() + 20*sim.Second)
			checkRoutes(t, f)
			var errors, lost uint64
			for _, x := range f.tunnels.end {
				errors += x.Port().Counters().SymbolErrors
				lost += x.Stats.Lost
			}
			if lost == 0 || errors > lost || errors < lost*8/10 {
				t.Errorf("%d datagrams lost, %d symbol errors", lost, errors)
			}
			if bad := f.Check(); len(bad) != 0 {
				t.Error(bad)
			}
			t.Logf("%d of %d datagrams lost, %d symbol errors", lost, f.tunnels.net.Sent, errors)
		})
	}
}

// A switch in another process: the fabric is built without it, its neighbours
// are down, and the rest works.
func TestRemoteSwitch(t *testing.T) {
	s := load(t, "ib-fat-tree")
	var at netip.AddrPort
	for i := range s.Switches {
		if s.Switches[i].Name == "spine2" {
			at = netip.MustParseAddrPort("127.0.0.1:4794")
			s.Switches[i].IB.Remote = at
			for _, p := range s.Switches[i].Ports {
				s.Links[p.Link].IB.Tunnel = true
			}
		}
	}
	if !at.IsValid() {
		t.Fatal("there is no spine2")
	}
	f := buildIB(t, s, Options{})
	bringUp(t, f)
	checkRoutes(t, f)
	f.ClearFaults()
	st := f.Snapshot()
	if len(st.Faults) != 0 || len(f.Check()) != 0 {
		t.Errorf("faults %v, %v", st.Faults, f.Check())
	}
	n := 0
	for _, w := range st.Switches {
		if w.Name == "spine2" && w.Remote != at.String() {
			t.Errorf("%+v", w)
		}
		for _, p := range w.Ports {
			if p.Tunnel == nil {
				continue
			}
			n++
			if p.Tunnel.Peer != at.String() || p.Tunnel.There || p.Tunnel.Sent == 0 || p.State != "down" {
				t.Errorf("%s: %s, %+v", p.Name, p.State, p.Tunnel)
			}
		}
	}
	if n != 2 || f.IB("spine2:1") != nil {
		t.Errorf("%d tunnels", n)
	}
}

// Faults of a tunnel: its cable pulled at either end, and errors.
func TestTunnelFaults(t *testing.T) {
	defer func() { tunnelled = false }()
	tunnelled = true
	f := buildIB(t, load(t, "ib-two-hosts"), Options{})
	bringUp(t, f)
	l := &f.Spec.Links[0]
	for _, e := range []topology.End{l.A, l.B} {
		if err := f.SetLink(e.Name, false); err != nil {
			t.Fatal(err)
		}
		f.Engine.RunUntil(f.Engine.Now() + 10*sim.Millisecond)
		for _, x := range []topology.End{l.A, l.B} {
			if s := f.ib[x.Name].State(); s != mad.PortDown {
				t.Errorf("%s pulled: %s is %v", e.Name, x.Name, s)
			}
		}
		if n := len(f.faults()); n != 1 {
			t.Errorf("%d faults", n)
		}
		if e == l.A {
			f.ClearFaults()
		} else if err := f.SetLink(l.A.Name, true); err != nil { // at the other end than it was pulled
			t.Error(err)
		}
		if n := len(f.faults()); n != 0 {
			t.Errorf("%d faults after clearing them", n)
		}
		bringUp(t, f)
		if !until(f, 5*sim.Second, func() bool { return f.ib[l.A.Name].State() == mad.PortActive }) {
			t.Error("not up again")
		}
	}
}

// RC over tunnels that lose: every byte arrives, sent again where need be, and
// the tunnels' losses are the ports' symbol errors.
func TestRCOverBadTunnels(t *testing.T) {
	defer func() { tunnelled = false }()
	tunnelled = true
	for _, c := range []struct {
		name string
		f    datagram.Faults
	}{
		{"perfect", datagram.Faults{Delay: 5 * sim.Microsecond}},
		{"0.1 %", datagram.Faults{Delay: 5 * sim.Microsecond, Loss: .001}},
		{"5 %", datagram.Faults{Delay: 5 * sim.Microsecond, Loss: .05}},
		{"bursts", datagram.Faults{Delay: 5 * sim.Microsecond, Loss: .001, Burst: 12}},
		{"repeated and spoilt", datagram.Faults{Delay: 5 * sim.Microsecond, Repeat: .05, Spoil: .005}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &world{t: t, f: buildIB(t, load(t, "ib-fat-tree"), Options{})}
			w.f.tunnels.net.Faults.Delay = c.f.Delay
			bringUp(t, w.f)
			for i := range 4 {
				w.addIB(fmt.Sprintf("h%d", i+1), fmt.Sprintf("h%d", i+5), 16, 65536, 0)
			}
			w.f.tunnels.net.Faults = c.f
			w.start()
			if !until(w.f, 60*sim.Second, w.finished) {
				t.Fatal("not done in a minute")
			}
			w.f.tunnels.net.Faults = datagram.Faults{}
			w.finish(sim.Second)
			var errors, lost, again uint64
			for _, x := range w.f.tunnels.end {
				errors += x.Port().Counters().SymbolErrors
				lost += x.Stats.Lost + x.Stats.Drops[tunnel.DropPacket]
			}
			for _, fl := range w.flows {
				again += fl.from.Context.Device().Counters().Retransmitted
			}
			bad := c.f.Loss+c.f.Spoil > 0
			if errors > lost || (errors > 0) != bad || (again > 0) != bad {
				t.Errorf("%d datagrams lost, %d symbol errors, %d packets sent again", lost, errors, again)
			}
			t.Logf("%d of %d datagrams lost, %d symbol errors, %d packets sent again", lost, w.f.tunnels.net.Sent, errors, again)
		})
	}
}
