package fabric

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cnuas/internal/ibport"
	"cnuas/internal/sim"
	"cnuas/internal/topology"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// buildIB makes a fabric with an InfiniBand part in virtual time.
func buildIB(t testing.TB, s *topology.Spec, o Options) *Fabric {
	t.Helper()
	f, err := Build(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// tunnelled makes every InfiniBand link of what load returns a tunnel.
var tunnelled bool

func load(t testing.TB, name string) *topology.Spec {
	t.Helper()
	s, err := topology.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Links {
		if l := s.Links[i].IB; l != nil {
			l.Tunnel = tunnelled
		}
	}
	return s
}

// peer is the port at the other end of a link of either sort.
func (f *Fabric) peer(p *ibport.Port) *ibport.Port { return f.ib[p.Link().PeerName()] }

// until lets simulated time pass until cond holds, at most d.
func until(f *Fabric, d sim.Time, cond func() bool) bool {
	for end := f.Engine.Now() + d; f.Engine.Now() < end; {
		if cond() {
			return true
		}
		f.Engine.RunUntil(f.Engine.Now() + sim.Millisecond)
	}
	return cond()
}

// isUp tells whether every connected port whose link is up is Active.
func isUp(f *Fabric) bool {
	for _, p := range f.ib {
		if p.Link().Up() && p.State() != mad.PortActive {
			return false
		}
	}
	return true
}

// bringUp waits until the subnet is up and its manager at rest.
func bringUp(t testing.TB, f *Fabric) {
	t.Helper()
	if !until(f, 5*sim.Second, func() bool {
		return isUp(f) && slices.ContainsFunc(f.sms, func(s *SubnetManager) bool { return s.m.Status().Sweeping == "idle" && s.m.Subnet() != nil })
	}) {
		t.Fatalf("the subnet is not up:\n%s", f.tableIB())
	}
}

// tableIB describes what a subnet manager has set, and what its ports counted.
func (f *Fabric) tableIB() string {
	var b strings.Builder
	line := func(p string, s string, lid wire.LID, counters any) {
		fmt.Fprintf(&b, "%-10s %-7s lid %d %v\n", p, s, lid, counters)
	}
	for _, n := range f.nodes {
		for _, p := range n.ibs {
			s := p.snapshot()
			line(p.Name(), s.State, p.Port().LID(), s.IB.Counters)
		}
	}
	for _, s := range f.switches {
		if s.ib == nil {
			continue
		}
		line(s.Spec.Name, "", s.ib.Port(0).LID(), s.ib.Totals())
		for _, x := range s.Spec.Ports {
			q := s.ib.Port(x.Number)
			snap := ibBasics(q)
			line("  "+q.Name(), snap.State, 0, snap.IB.Counters)
		}
		var a mad.LinearForwarding
		for i := 0; i < 2; i++ {
			s.ib.LFTBlock(i, &a)
			fmt.Fprintf(&b, "  lft %d: %v\n", i, a.Port)
		}
	}
	for _, m := range f.SMReport(1 << 20) {
		fmt.Fprintln(&b, strings.Join(m.Lines, "\n"))
	}
	return b.String()
}

// routes is what a subnet manager has set: what does not depend on how many
// datagrams it took.
func (f *Fabric) routes() string {
	var b strings.Builder
	for _, n := range f.nodes {
		for _, p := range n.ibs {
			i := p.Port().Info()
			fmt.Fprintf(&b, "%s %v %v lid %d lmc %d sm %d mtu %v %v %v %v\n", p.Name(), i.PortState, i.PortPhysicalState, i.LID, i.LMC, i.MasterSMLID, i.NeighborMTU, i.LinkWidthActive, i.LinkSpeedActive, i.LinkSpeedExtActive)
		}
	}
	for _, s := range f.switches {
		if s.ib == nil {
			continue
		}
		fmt.Fprintf(&b, "%s lid %d:", s.Spec.Name, s.ib.Port(0).LID())
		var a mad.LinearForwarding
		for l := range int(s.ib.SwitchInfo().LinearFDBTop) + 1 {
			if l%64 == 0 {
				s.ib.LFTBlock(l/64, &a)
			}
			fmt.Fprintf(&b, " %d", a.Port[l%64])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// walk follows the forwarding tables from a port to a LID.
func (f *Fabric) walk(from *IBPort, to wire.LID) (hops int, err error) {
	at := f.peer(from.Port())
	for ; hops < 64; hops++ {
		if at == nil {
			return hops, fmt.Errorf("ends in the air")
		}
		if at.HasLID(to) {
			return hops, nil
		}
		name, _, _ := strings.Cut(at.Name(), ":")
		i := slices.IndexFunc(f.switches, func(s *Switch) bool { return s.Spec.Name == name && s.ib != nil })
		if i < 0 {
			return hops, fmt.Errorf("comes to %s", at.Name())
		}
		sw := f.switches[i].ib
		if sw.Port(0).HasLID(to) {
			return hops, nil
		}
		var a mad.LinearForwarding
		sw.LFTBlock(int(to)/64, &a)
		out := sw.Port(int(a.Port[to%64]))
		if out == nil || out.Num() == 0 || out.State() != mad.PortActive {
			return hops, fmt.Errorf("no way at %s: %d", name, a.Port[to%64])
		}
		at = f.peer(out)
	}
	return hops, fmt.Errorf("goes in circles")
}

// checkRoutes follows the way from every host to every other.
func checkRoutes(t *testing.T, f *Fabric) {
	t.Helper()
	for _, n := range f.nodes {
		for _, p := range n.ibs {
			for _, m := range f.nodes {
				for _, q := range m.ibs {
					if p == q || !p.Port().Link().Up() || !q.Port().Link().Up() {
						continue
					}
					if _, err := f.walk(p, q.Port().LID()); err != nil {
						t.Errorf("%s to %s: %v", p.Name(), q.Name(), err)
					}
				}
			}
		}
	}
}

// TestSubnetComesUp brings the shipped topologies up, twice each.
func TestSubnetComesUp(t *testing.T) {
	for _, name := range []string{"ib-two-hosts", "ib-fat-tree", "hybrid"} {
		t.Run(name, func(t *testing.T) {
			run := func() *Fabric {
				f := buildIB(t, load(t, name), Options{})
				bringUp(t, f)
				f.Engine.RunUntil(30 * sim.Second) // light sweeps
				return f
			}
			f := run()
			checkRoutes(t, f)
			if bad := f.Check(); len(bad) != 0 {
				t.Error(bad)
			}
			if live := f.Pool.Live(); live != 0 && !tunnelled { // over tunnels flow control goes on
				t.Errorf("%d frames are alive at rest", live)
			}
			lids := map[wire.LID]string{}
			for _, n := range f.nodes {
				for _, p := range n.ibs {
					if l := p.Port().LID(); l == 0 || lids[l] != "" {
						t.Errorf("%s has LID %d, as %q has", p.Name(), l, lids[l])
					} else {
						lids[l] = p.Name()
					}
				}
			}
			table := f.tableIB()
			if again := run().tableIB(); table != again {
				t.Errorf("two runs differ:\n%s\n%s", table, again)
			}
			golden(t, "up-"+name, f.routes())
		})
	}
}

// TestNoSubnetManager: ports train, and wait.
func TestNoSubnetManager(t *testing.T) {
	f := buildIB(t, load(t, "ib-fat-tree"), Options{NoSM: true})
	f.Engine.RunUntil(sim.Second)
	for name, p := range f.ib {
		if p.State() != mad.PortInit || p.PhysState() != mad.PhysLinkUp || p.LID() != 0 {
			t.Errorf("%s: %v, %v, LID %d", name, p.State(), p.PhysState(), p.LID())
		}
	}
	if s, err := f.SMAt("h3"); s != nil || err != nil {
		t.Errorf("a manager at h3: %v, %v", s, err)
	}
	s, err := f.StartSM("h3", SMOptions{SM: topology.SM{Engine: topology.UpDown, Priority: 3, LMC: 1}})
	if err != nil {
		t.Fatal(err)
	}
	bringUp(t, f)
	checkRoutes(t, f)
	if x := s.m.Status(); x.Routing.Engine != "updn" || x.State != "Master" || x.Priority != 3 {
		t.Errorf("%+v", x)
	}
	if p := f.Node("h5").ibs[0].Port(); p.LMC() != 1 || p.CapMask()&mad.CapIsSM != 0 || f.Node("h3").ibs[0].Port().CapMask()&mad.CapIsSM == 0 {
		t.Errorf("LMC %d, capability masks %#x", p.LMC(), p.CapMask())
	}
	if _, err := f.StartSM("h3:ib0", SMOptions{}); err == nil || !strings.Contains(err.Error(), "cnuas sm stop h3:ib0") {
		t.Errorf("a second one at h3: %v", err)
	}
	for name, want := range map[string]string{
		"h9": "no node", "leaf1": "runs in a node", "h1:ib7": "use h1:ib0",
	} {
		if _, err := f.StartSM(name, SMOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := f.StopSM("h1"); err == nil || !strings.Contains(err.Error(), "h3:ib0") {
		t.Errorf("stop at h1: %v", err)
	}
	if err := f.StopSM("h3"); err != nil || len(f.sms) != 0 {
		t.Errorf("stop at h3: %v", err)
	}
	if !isUp(f) {
		t.Error("ports do not stay up without a manager")
	}
}

// TestSpineCablePulled: the manager hears of it by trap 128 and leads the paths
// over the other spine; LIDs stay. The cable comes back, and so do the paths.
func TestSpineCablePulled(t *testing.T) {
	f := buildIB(t, load(t, "ib-fat-tree"), Options{})
	bringUp(t, f)
	lids := func() (l []wire.LID) {
		for _, n := range f.nodes {
			l = append(l, n.ibs[0].Port().LID())
		}
		return l
	}
	before, m := lids(), f.sms[0].m
	for _, up := range []bool{false, true} {
		was := m.Status()
		if err := f.SetLink("leaf1:5", up); err != nil {
			t.Fatal(err)
		}
		if !until(f, sim.Second, func() bool {
			return m.Status().Stats.LastUp > was.Stats.LastUp && m.Status().Sweeping == "idle" && isUp(f)
		}) {
			t.Fatalf("up %v: no new sweep", up)
		}
		f.Engine.RunUntil(f.Engine.Now() + 100*sim.Millisecond)
		s := m.Status()
		if s.Stats.Traps == was.Stats.Traps || s.TrapCounts[0].Trap != mad.TrapLinkState {
			t.Errorf("up %v: traps %v", up, s.TrapCounts)
		}
		checkRoutes(t, f)
		if !slices.Equal(lids(), before) {
			t.Errorf("LIDs changed from %v to %v", before, lids())
		}
		used := 0
		for i := range 4 {
			var a mad.LinearForwarding
			f.switches[0].ib.LFTBlock(0, &a)
			if a.Port[before[4+i]] == 5 {
				used++
			}
		}
		if want := map[bool]int{false: 0, true: 2}[up]; used != want {
			t.Errorf("up %v: %d paths of leaf1 go over port 5, want %d", up, used, want)
		}
	}
	if bad := f.Check(); len(bad) != 0 {
		t.Error(bad)
	}
}

// TestStandbyTakesOver: the master dies, the standby notices within its polls.
func TestStandbyTakesOver(t *testing.T) {
	f := buildIB(t, load(t, "ib-fat-tree"), Options{NoSM: true})
	a, err := f.StartSM("h1", SMOptions{SM: topology.SM{Priority: 9}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := f.StartSM("h8", SMOptions{SM: topology.SM{Priority: 8}, Poll: 100 * sim.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if !until(f, 5*sim.Second, func() bool { return a.m.State() == mad.SMMaster && b.m.State() == mad.SMStandby && isUp(f) }) {
		t.Fatalf("%v and %v", a.m.State(), b.m.State())
	}
	f.Engine.RunUntil(f.Engine.Now() + sim.Second)
	lid := f.Node("h5").ibs[0].Port().LID()
	if err := f.StopSM("h1"); err != nil {
		t.Fatal(err)
	}
	at := f.Engine.Now()
	if !until(f, 5*sim.Second, func() bool {
		return b.m.State() == mad.SMMaster && b.m.Subnet() != nil && b.m.Status().Sweeping == "idle"
	}) {
		t.Fatalf("the standby is %v", b.m.State())
	}
	t.Logf("took over %v after the master had died", f.Engine.Now()-at)
	smLID, _ := f.Node("h5").ibs[0].Port().SMLID()
	if l := f.Node("h5").ibs[0].Port().LID(); l != lid || smLID != f.Node("h8").ibs[0].Port().LID() {
		t.Errorf("LID %d, was %d; SM at %d", l, lid, smLID)
	}
	if b.m.Status().Stats.Takeovers == 0 || !isUp(f) {
		t.Error("no takeover, or ports went down")
	}
	checkRoutes(t, f)
	// The first one comes back: it has the higher priority, and gets the subnet.
	a, err = f.StartSM("h1", SMOptions{SM: topology.SM{Priority: 9}})
	if err != nil {
		t.Fatal(err)
	}
	if !until(f, 5*sim.Second, func() bool { return a.m.State() == mad.SMMaster && b.m.State() == mad.SMStandby && a.m.Subnet() != nil }) {
		t.Errorf("%v and %v", a.m.State(), b.m.State())
	}
	if l := f.Node("h5").ibs[0].Port().LID(); l != lid {
		t.Errorf("LID %d, was %d", l, lid)
	}
}

// TestImportedFabric brings up what ibnetdiscover printed of a cluster. What the
// subnet manager finds is what the text says.
func TestImportedFabric(t *testing.T) {
	for _, name := range []string{"ibnetdiscover.txt", "ft2x2x8.topo", "room.ibnet"} {
		t.Run(name, func(t *testing.T) {
			s := load(t, filepath.Join("..", "topology", "testdata", "ibnet", name))
			f := buildIB(t, s, Options{})
			bringUp(t, f)
			checkRoutes(t, f)
			var want, got []string
			link := func(a wire.GUID, ap int, b wire.GUID, bp int) string {
				x, y := fmt.Sprintf("%v[%d]", a, ap), fmt.Sprintf("%v[%d]", b, bp)
				return min(x, y) + " " + max(x, y)
			}
			end := func(e topology.End) (wire.GUID, int) {
				if e.Switch >= 0 {
					w := &s.Switches[e.Switch]
					return wire.GUID(w.IB.GUID), w.Ports[e.Port].Number
				}
				p := &s.Nodes[e.Node].IBPorts[e.Port]
				return wire.GUID(s.Nodes[e.Node].HCAs[p.HCA].GUID), p.Num
			}
			for i := range s.Links {
				l := &s.Links[i]
				a, ap := end(l.A)
				b, bp := end(l.B)
				rate := l.Rate
				if l.IB.Speed == topology.FDR10 { // no speed of the standard
					rate = 8_000_000_000 * int64(l.IB.Width)
				}
				want = append(want, fmt.Sprintf("%s %dX %d", link(a, ap, b, bp), l.IB.Width, rate))
			}
			for _, n := range f.sms[0].m.Subnet().Nodes {
				for _, p := range n.Ports {
					if p == nil || p.Peer == nil {
						continue
					}
					q := p.Peer
					rate := ibport.DataRate(p.Info.LinkWidthActive, p.Info.LinkSpeedActive, p.Info.LinkSpeedExtActive)
					x := fmt.Sprintf("%s %dX %d", link(n.Info.NodeGUID, int(p.Num), q.Node.Info.NodeGUID, int(q.Num)), p.Info.LinkWidthActive.Lanes(), rate)
					if !slices.Contains(got, x) {
						got = append(got, x)
					}
				}
			}
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(want, got) {
				t.Errorf("the text says\n%s\nand the manager found\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
			}
			text := topology.ExportIBNet(f.Spec)
			again, problems := topology.Parse("again.ibnet", text)
			if again == nil {
				t.Fatal(problems)
			}
			again.Name = s.Name
			if x := topology.ExportIBNet(again); !bytes.Equal(x, text) {
				t.Errorf("the export changes:\n%s\n%s", text, x)
			}
		})
	}
}
