package sm_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
	"cnuas/sm/route"
	"cnuas/sm/smtest"
)

var (
	lftSwitch = regexp.MustCompile(`of switch Lid (\d+) guid (0x[0-9a-f]+)`)
	lftEntry  = regexp.MustCompile(`^(0x[0-9a-f]+) (\d+) .*portguid (0x[0-9a-f]+)`)
)

// dumped reads the tables that opensm 3.3.23 dumped: by switch and destination
// GUID the port; and the LID of each GUID.
func dumped(t *testing.T, file string) (ports map[wire.GUID]map[wire.GUID]int, lids map[wire.GUID]wire.LID) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	num := func(s string) uint64 {
		v, err := strconv.ParseUint(s, 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	ports, lids = map[wire.GUID]map[wire.GUID]int{}, map[wire.GUID]wire.LID{}
	var at wire.GUID
	for _, line := range strings.Split(string(b), "\n") {
		if x := lftSwitch.FindStringSubmatch(line); x != nil {
			at = wire.GUID(num(x[2]))
			ports[at] = map[wire.GUID]int{}
		} else if x := lftEntry.FindStringSubmatch(line); x != nil {
			port, _ := strconv.Atoi(x[2])
			ports[at][wire.GUID(num(x[3]))] = port
			lids[wire.GUID(num(x[3]))] = wire.LID(num(x[1]))
		}
	}
	return ports, lids
}

// histogram of hosts by the ports that lead to them, ports that lead to as many
// as one another being the same.
func histogram(m map[wire.GUID]int) string {
	n := map[int]int{}
	for g, p := range m {
		if g < 0x200000 {
			n[p]++
		}
	}
	var l []int
	for _, c := range n {
		l = append(l, c)
	}
	sort.Ints(l)
	return fmt.Sprint(l)
}

// TestGoldenTables: what is in the switches is what opensm's engines of the
// same names put there, by GUID and with LIDs of our own as balanced as with
// opensm's, with its LIDs the same entry by entry; ran twice, everything is the
// same bit by bit.
func TestGoldenTables(t *testing.T) {
	for engine, entries := range map[route.Engine][4]int{route.EngineMinHop: {12, 12, 12, 12}, route.EngineUpDown: {12, 12, 11, 11}, route.EngineFatTree: {12, 12, 11, 11}} {
		want, lids := dumped(t, string(engine)+"-lfts.dump")
		var first string
		for run := range 3 {
			f := smtest.FT2x2x8(sim.NewEngine(1))
			cfg := sm.Config{Engine: engine, Strict: true}
			if run == 2 { // with the LIDs of opensm
				for g, l := range lids {
					cfg.LIDs = append(cfg.LIDs, sm.GUIDLID{GUID: g, LID: l})
				}
			}
			m := up(t, f, "H1", cfg)
			for i, name := range []string{"L1", "L2", "S1", "S2"} {
				n := f.Node(name)
				got := map[wire.GUID]int{}
				for l, p := range n.LFT {
					if p != route.NoRoute {
						got[m.Subnet().PortByLID(wire.LID(l)).GUID] = int(p)
					}
				}
				w := want[n.Info.NodeGUID]
				if len(got) != len(w) || len(w) != entries[i] {
					t.Errorf("%s: %s has %d routes, opensm %d", engine, name, len(got), len(w))
				}
				if histogram(got) != histogram(w) {
					t.Errorf("%s: %s leads to hosts by ports %v, opensm's %v", engine, name, histogram(got), histogram(w))
				}
				for g, p := range w { // with opensm's LIDs every entry is opensm's
					if run == 2 && got[g] != p {
						t.Errorf("%s: %s sends to %v by port %d, opensm by %d", engine, name, g, got[g], p)
					}
				}
				for g, p := range w { // where there is no choice
					if n.Ports[p] != n.Ports[0] && n.Ports[p].Peer.Node.Type == mad.NodeCA && got[g] != p {
						t.Errorf("%s: %s sends to %v by port %d, not %d", engine, name, g, got[g], p)
					}
				}
			}
			switch s := f.State(); run {
			case 0:
				first = s
			case 1:
				if s != first {
					t.Errorf("%s: two runs differ", engine)
				}
			case 2:
				for g, l := range lids {
					if p := m.Subnet().PortByGUID(g); p == nil || p.LID != l {
						t.Errorf("%v has not kept LID %d", g, l)
					}
				}
			}
		}
	}
}

// TestQoS: as many SMPs as opensm sends with -Q.
func TestQoS(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	m := up(t, f, "H1", sm.Config{QoS: sm.DefaultQoS()})
	c := counts(m)
	if c[mad.AttrSLtoVL].Set != 152 || c[mad.AttrVLArbitration].Set != 48 {
		t.Errorf("%d SL2VL, %d VLArb; opensm sends 152 and 48", c[mad.AttrSLtoVL].Set, c[mad.AttrVLArbitration].Set)
	}
	v := f.Node("L1").SL2VL[5<<8|1]
	if v.VL != [16]uint8{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7} {
		t.Errorf("SL2VL %v", v.VL)
	}
	if e := f.Node("S1").Ports[1].VLArb[mad.VLArbLowFirst].Entry; e[3] != (mad.VLArbEntry{VL: 3, Weight: 4}) || e[8] != (mad.VLArbEntry{}) {
		t.Errorf("low table %v", e)
	}
	m.Heavy()
	f.Run(sim.Second)
	if d := counts(m); d[mad.AttrSLtoVL].Set != 152 || d[mad.AttrVLArbitration].Set != 48 {
		t.Error("tables are sent again without need")
	}
	f.Node("S1").Reboot()
	f.Run(sim.Second)
	if f.Node("S1").SL2VL[1<<8|2] != v {
		t.Error("a switch that began anew has no SL2VL")
	}
}

// TestAgain: how much less a second sweep sends.
func TestAgain(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	m := up(t, f, "H1", sm.Config{})
	a := counts(m)
	m.Heavy()
	f.Run(sim.Second)
	for attr, c := range counts(m) {
		if c.Set != a[attr].Set {
			t.Errorf("%s: %d more Sets, nothing has changed", c.Name, c.Set-a[attr].Set)
		}
		want := a[attr].Get
		if attr == mad.AttrPortInfo {
			want -= 16 // no PortStateChange was cleared
		}
		if c.Get != a[attr].Get+want {
			t.Errorf("%s: %d more Gets, want %d", c.Name, c.Get-a[attr].Get, want)
		}
	}
}
