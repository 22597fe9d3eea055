package route

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// golden reads the subnet that opensm saw.
func golden(t *testing.T) *Subnet {
	t.Helper()
	s := &Subnet{}
	var guid uint64
	var lid, last uint16
	index := map[uint64]int{}
	for line := range strings.Lines(goldenFile(t, "guid2lid")) {
		if _, err := fmt.Sscanf(line, "0x%x 0x%x 0x%x", &guid, &lid, &last); err != nil {
			continue
		}
		if guid >= 0x200000 {
			index[guid] = s.AddSwitch(guid, lid, 0, 8)
		} else {
			index[guid] = s.AddEnd(guid, lid, 0)
		}
	}
	var a, b uint64
	var ap, bp int
	for line := range strings.Lines(goldenFile(t, "neighbors")) {
		if _, err := fmt.Sscanf(line, "0x%x:%d 0x%x:%d", &a, &ap, &b, &bp); err != nil || a < 0x200000 || b >= 0x200000 && a > b {
			continue
		}
		ok := false
		if b >= 0x200000 {
			ok = s.JoinSwitches(index[a], ap, index[b], bp, 8000)
		} else {
			ok = s.JoinEnd(index[b], index[a], ap, 8000)
		}
		if !ok {
			t.Fatalf("cannot join %s", line)
		}
	}
	if len(s.Switches) != 4 || len(s.Ends) != 8 {
		t.Fatalf("%d switches, %d ends", len(s.Switches), len(s.Ends))
	}
	return s
}

func goldenFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "ft2x2x8", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// fdbs reads a dump of opensm: port and hops by switch GUID and LID; port
// NoRoute for what is unreachable.
func fdbs(t *testing.T, name string) (port, hops map[uint64]map[uint16]int) {
	t.Helper()
	port, hops = map[uint64]map[uint16]int{}, map[uint64]map[uint16]int{}
	var guid uint64
	var lid uint16
	var p, h int
	for line := range strings.Lines(goldenFile(t, name+".fdbs")) {
		if n, _ := fmt.Sscanf(line, "dump_ucast_routes: Switch 0x%x", &guid); n == 1 {
			port[guid], hops[guid] = map[uint16]int{}, map[uint16]int{}
		} else if n, _ := fmt.Sscanf(line, "0x%x : %d : %d", &lid, &p, &h); n == 3 {
			port[guid][lid], hops[guid][lid] = p, h
		} else if n == 1 && strings.Contains(line, "UNREACHABLE") {
			port[guid][lid] = NoRoute
		}
	}
	return port, hops
}

// TestGolden compares with opensm: what is reachable, over how many hops, the
// number of routes per port, and then every entry.
func TestGolden(t *testing.T) {
	s := golden(t)
	for _, e := range engines {
		if e == EngineDFSSSP {
			continue // no dump: its weights are its own
		}
		t.Run(string(e), func(t *testing.T) {
			tab, err := Compute(e, s, Options{})
			if err != nil || len(tab.Warnings) > 0 || tab.VLs != 1 || tab.TopLID != 12 {
				t.Fatal(err, tab)
			}
			port, hops := fdbs(t, string(e))
			for i, w := range s.Switches {
				var got, want [9]int
				equal := 0
				for lid := range uint16(13) {
					g, p := int(tab.LFT[i][lid]), NoRoute
					if lid > 0 {
						p = port[w.GUID][lid]
					}
					if (g == NoRoute) != (p == NoRoute) {
						t.Errorf("switch %x, LID %d: port %d, opensm %d", w.GUID, lid, g, p)
					}
					if g == NoRoute || p == NoRoute {
						continue
					}
					got[g]++
					want[p]++
					if h := follow(s, tab, i, lid); h != hops[w.GUID][lid] {
						t.Errorf("switch %x, LID %d: %d hops, opensm %d", w.GUID, lid, h, hops[w.GUID][lid])
					}
					if g == p {
						equal++
					} else {
						t.Errorf("switch %x, LID %d: port %d, opensm %d", w.GUID, lid, g, p)
					}
				}
				if got != want {
					t.Errorf("switch %x: routes per port %v, opensm %v", w.GUID, got, want)
				}
				if equal == 0 {
					t.Errorf("switch %x: nothing compared", w.GUID)
				}
			}
		})
	}
}

// follow counts the hops from a switch to a LID as opensm does, the one into
// the end included; -1 if the path ends elsewhere.
func follow(s *Subnet, t *Tables, sw int, lid uint16) int {
	for hops := range len(s.Switches) + 1 {
		p := t.LFT[sw][lid]
		switch {
		case p == NoRoute:
			return -1
		case p == 0:
			if s.Switches[sw].LID != lid {
				return -1
			}
			return hops
		}
		l := s.Link(sw, int(p))
		if l.End >= 0 {
			if e := s.Ends[l.End]; lid < e.LID || lid >= e.LID+1<<e.LMC {
				return -1
			}
			return hops + 1
		}
		if l.Switch < 0 {
			return -1
		}
		sw = int(l.Switch)
	}
	return -1
}

var engines = []Engine{EngineMinHop, EngineUpDown, EngineFatTree, EngineDFSSSP}
