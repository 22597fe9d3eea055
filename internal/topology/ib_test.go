package topology

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cnuas/internal/sim"
)

// twoIB is two hosts at one InfiniBand switch, with more text in front.
func twoIB(more string) string {
	return more + `
[[node]]
name = "h1"
[[node]]
name = "h2"
[[switch]]
name = "s1"
kind = "ib"
[[link]]
a = "h1"
b = "s1"
[[link]]
a = "h2"
b = "s1"
`
}

func TestIBDefaults(t *testing.T) {
	s := mustParse(t, twoIB(""))
	if len(s.Warnings) > 0 || !s.HasIB() || s.Switches[0].Kind() != InfiniBand {
		t.Errorf("%v", s.Warnings)
	}
	if n := s.Nodes[0]; n.IBPorts[0].Name != "ib0" || n.HCAs[0].Device != "rxe0" || len(n.Interfaces) != 0 {
		t.Errorf("%+v", n)
	}
	if l := s.Links[0]; *l.IB != (IBLink{Width: 4, Speed: EDR, MTU: 4096, VLs: 4}) || l.Rate != 100e9 {
		t.Errorf("%+v", l)
	}
	if w := s.Switches[0].IB; w.NumPorts != 2 || w.LFTCap != 49152 {
		t.Errorf("%+v", w)
	}
	if m := s.SMs; len(m) != 1 || m[0] != (SM{Engine: MinHop, Priority: 8, Sweep: 10 * sim.Second}) {
		t.Errorf("%+v", m)
	}
	if m := s.Management; len(m.Ports) != 2 || m.Ports[1].Addr.String() != "192.168.255.2/24" {
		t.Errorf("%+v", m)
	}
	if eth := mustParse(t, pair("")); eth.HasIB() || eth.Management != nil || eth.SMs != nil || eth.Switches[0].Kind() != Ethernet {
		t.Error("an Ethernet fabric has InfiniBand")
	}
}

func TestDataRate(t *testing.T) {
	for _, c := range []struct {
		width int
		speed Speed
		want  int64
	}{{1, SDR, 2e9}, {4, SDR, 8e9}, {4, DDR, 16e9}, {4, QDR, 32e9}, {4, FDR10, 40e9}, {4, FDR, 54_545_454_545}, {2, EDR, 50e9}, {4, HDR, 200e9}, {12, NDR, 1200e9}} {
		if got := (&IBLink{Width: c.width, Speed: c.speed}).DataRate(); got != c.want {
			t.Errorf("%dx%s: %d", c.width, c.speed, got)
		}
	}
	if SDR.SignalRate() != 2.5e9 || Speed("XDR").SignalRate() != 0 {
		t.Error("signalling rates")
	}
}

// Devices count over both kinds in the order of the file, within a kind by
// name.
func TestDeviceNumbers(t *testing.T) {
	for links, want := range map[string]string{
		"ib0 eth0":          "ib0=rxe0 eth0=rxe1",
		"eth0 ib0":          "eth0=rxe0 ib0=rxe1",
		"eth1 eth0":         "eth0=rxe0 eth1=rxe1",
		"ib1 eth0 ib0 eth1": "ib0=rxe0 eth0=rxe1 ib1=rxe2 eth1=rxe3",
	} {
		text := "[[switch]]\nname='i'\nkind='ib'\n[[switch]]\nname='e'\n[[node]]\nname='h'\n"
		for _, p := range strings.Fields(links) {
			sw := "e"
			if p[0] == 'i' {
				sw = "i"
			}
			text += fmt.Sprintf("[[link]]\na='h:%s'\nb='%s'\n", p, sw)
		}
		// Both switches need a link.
		text += "[[node]]\nname='x'\n[[link]]\na='x:ib0'\nb='i'\n[[link]]\na='x:eth0'\nb='e'\n"
		n := mustParse(t, text).Nodes[0]
		got := map[string]string{}
		for _, f := range n.Interfaces {
			got[f.Name] = f.Device
		}
		for _, p := range n.IBPorts {
			got[p.Name] = n.HCAs[p.HCA].Device
		}
		for _, w := range strings.Fields(want) {
			if port, device, _ := strings.Cut(w, "="); got[port] != device {
				t.Errorf("%s: %v, want %s", links, got, want)
			}
		}
	}
}

func TestGivenGUIDs(t *testing.T) {
	s := mustParse(t, `
[[node]]
name = "h1"
guid = "0x0002c90300a1b2c4"
[[node]]
name = "h2"
[[node.port]]
name = "ib0"
guid = "0002:c903:00a1:b2d0"
ip = "10.9.0.7/24"
[[switch]]
name = "s1"
kind = "ib"
guid = "0x0002c90200410998"
lft_cap = 1000
mcast_cap = 64
latency = "250ns"
cut_through = false
[[link]]
a = "h1"
b = "s1:4"
[[link]]
a = "h2"
b = "s1"
`)
	h1, h2, w := s.Nodes[0], s.Nodes[1], s.Switches[0].IB
	if h1.HCAs[0].GUID != 0x0002c90300a1b2c4 || h1.IBPorts[0].GUID != 0x0002c90300a1b2c5 || h2.IBPorts[0].GUID != 0x0002c90300a1b2d0 || h2.HCAs[0].GUID != 0x02000b0000000200 {
		t.Errorf("%+v %+v", h1, h2)
	}
	if w.GUID != 0x0002c90200410998 || w.LFTCap != 1000 || w.MCastCap != 64 || w.NumPorts != 4 || w.Latency != 250*sim.Nanosecond || !w.Store {
		t.Errorf("%+v", w)
	}
	if a := h2.IBPorts[0].Addrs; len(a) != 1 || a[0].String() != "10.9.0.7/24" || h1.IBPorts[0].Addrs[0].String() != "10.9.0.1/24" {
		t.Errorf("%v, %v", a, h1.IBPorts[0].Addrs)
	}
	for text, want := range map[string]GUID{"0x1": 1, "0000:0000:0000:0001": 1, "0": 0, "0x0": 0, "1:2:3:4": 0, "0xffffffffffffffff": 0, "0x": 0, "0x10000000000000000": 0} {
		if g, err := ParseGUID(text); g != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %v, %v", text, g, err)
		}
	}
}

func TestSMs(t *testing.T) {
	s := mustParse(t, twoIB(`
[sm]
node = "h2:ib0"
engine = "dfsssp"
priority = 0
lmc = 2
sweep = "0s"
standby = ["h1"]
partitions = "Default=0x7fff, ipoib: ALL=full;"
`))
	want := SM{Node: 1, Engine: DFSSSP, LMC: 2, QoS: true, Partitions: "Default=0x7fff, ipoib: ALL=full;"}
	if s.SMs[0] != want || !s.SMs[1].Standby || s.SMs[1].Priority != 0 || s.SMs[1].Node != 0 {
		t.Errorf("%+v", s.SMs)
	}
	for _, none := range []string{"sm = 'none'", "[sm]\nnone = true"} {
		if s := mustParse(t, twoIB(none)); len(s.SMs)+len(s.Warnings) > 0 {
			t.Errorf("%+v %v", s.SMs, s.Warnings)
		}
	}
	// Two subnets, each with its own: a file that knows what it does.
	rails := "[[link]]\na='h1:ib1'\nb='s2'\n[[link]]\na='h2:ib1'\nb='s2'\n[[switch]]\nname='s2'\nkind='ib'\n"
	if s := mustParse(t, twoIB("[[sm]]\nnode='h1'\n[[sm]]\nnode='h2:ib1'")+rails); len(s.Warnings) > 0 || len(s.SMs) != 2 || s.SMs[1].Port != 1 || len(s.Subnets) != 2 {
		t.Errorf("%+v %v", s.SMs, s.Warnings)
	}
	if s := mustParse(t, twoIB("")+rails); len(s.Warnings) != 1 || len(s.SMs) != 2 {
		t.Errorf("%+v %v", s.SMs, s.Warnings)
	}
}

// What comes up, but not as its author thought, is told.
func TestSMWarnings(t *testing.T) {
	for text, want := range map[string]string{
		"[sm]\nengine = 'ftree'\nlmc = 1":                               "falls back to minhop",
		"[sm]\nengine = 'ftree'\nlmc = 0":                               "",
		"[defaults.link]\nmtu = 1024":                                   "cannot join the broadcast group",
		"[defaults.link]\nmtu = 2048":                                   "",
		"[defaults.link]\nmtu = 256\n[sm]\npartitions = 'a=1: ALL;\\n'": "",
	} {
		ps := mustParse(t, twoIB(text)).Warnings
		if (want == "") != (len(ps) == 0) || want != "" && !strings.Contains(ps.Error(), want) {
			t.Errorf("%s: %v", text, ps)
		}
	}
}

func TestPartitionsFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.toml")
	os.WriteFile(file, []byte(twoIB("[sm]\npartitions = 'p.conf'")), 0o644)
	if _, err := Load(file); err == nil || !strings.Contains(err.Error(), "p.conf: no such file") {
		t.Errorf("%v", err)
	}
	os.WriteFile(filepath.Join(dir, "p.conf"), []byte("a=1: ALL;\n"), 0o644)
	if s, err := Load(file); err != nil || s.SMs[0].Partitions != "a=1: ALL;\n" {
		t.Errorf("%v, %v", s, err)
	}
	if s, ps := Parse("x.toml", []byte(twoIB("[sm]\npartitions = 'p.conf'"))); s != nil || !strings.Contains(ps.Error(), "cannot be read here") {
		t.Errorf("%v", ps)
	}
}

func TestManagement(t *testing.T) {
	s := mustParse(t, pair("[defaults.node]\nmanagement = true\n[management]\nsubnet = '172.16.0.0/24'\nmtu = 9000"))
	if m := s.Management; m.MTU != 9000 || len(m.Ports) != 2 || m.Ports[0].Addr.String() != "172.16.0.1/24" || m.Ports[1].MAC != (MAC{2, 2, 0, 0, 0, 2}) {
		t.Errorf("%+v", m)
	}
	// The automatic subnet makes way.
	s = mustParse(t, strings.Replace(twoIB(""), `name = "h1"`, "name = 'h1'\nip = '192.168.255.9/24'", 1))
	if s.Management.Prefix.String() != "192.168.254.0/24" || s.Nodes[1].IBPorts[0].Addrs[0].String() != "192.168.255.1/24" {
		t.Errorf("%+v", s.Management)
	}
	if ps := mustParse(t, pair("[management]\nmtu = 9000")).Warnings; len(ps) != 1 {
		t.Errorf("%v", ps)
	}
	s = mustParse(t, "[generate]\ntype='ib-fat-tree'\nk=16")
	if m := s.Management; m.Prefix.String() != "192.168.248.0/21" || m.Ports[1023].Addr.String() != "192.168.252.0/21" {
		t.Errorf("%+v", m.Prefix)
	}
}

// Trees have the devices, ports and links that they should, and the large ones
// load in seconds: k = 34 (9826 hosts) takes 0.5 s on this project's two cores.
func TestIBTrees(t *testing.T) {
	s := mustParse(t, "[generate]\ntype='ib-fat-tree'\nspines=2\nleaves=3\nhosts_per_leaf=2\nlinks_per_pair=2\nfabric_link={width=8}\nhost_link={speed='HDR'}")
	if len(s.Nodes) != 6 || len(s.Switches) != 5 || len(s.Links) != 6+12 {
		t.Errorf("%d %d %d", len(s.Nodes), len(s.Switches), len(s.Links))
	}
	if l := s.Links[17]; l.A.Name != "leaf3:6" || l.B.Name != "spine2:6" || l.Rate != 200e9 {
		t.Errorf("%+v", l)
	}
	start := time.Now()
	s = mustParse(t, "[generate]\ntype='ib-fat-tree'\nk=34\n[defaults.switch]\nports=36")
	if len(s.Nodes) != 9826 || len(s.Switches) != 1445 || len(s.Links) != 3*9826 || len(s.Warnings) > 0 {
		t.Errorf("%d %d %d %v", len(s.Nodes), len(s.Switches), len(s.Links), s.Warnings)
	}
	t.Logf("k = 34 loads in %v", time.Since(start))
	for _, w := range s.Switches {
		if len(w.Ports) != 34 || w.IB.NumPorts != 36 {
			t.Fatalf("%+v", w)
		}
	}
}
