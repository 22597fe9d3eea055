package topology

import (
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"

	"github.com/google/go-cmp/cmp"
)

// addresses prints the devices of a shelf: "psu1:200 psu2:201 pmm:32".
func addresses(s *RackShelf) string {
	var l []string
	for _, d := range s.Devices() {
		l = append(l, d.Name+":"+strconv.Itoa(int(d.Address)))
	}
	return strings.Join(l, " ")
}

// A kind is enough.
func TestShortRack(t *testing.T) {
	s := mustParse(t, `
[generate]
type = "star"
hosts = 3
[[rack.shelf]]
kind = "orv3-psu"
`)
	if len(s.Warnings) > 0 {
		t.Error(s.Warnings)
	}
	r := s.Rack
	want := []RackSegment{{Name: "bus0", Line: rtu.Line{Baud: 19200, Data: 8, Parity: rtu.Even, Stop: 1}, Turnaround: 5 * sim.Millisecond}}
	if d := cmp.Diff(want, r.Segments); d != "" {
		t.Error(d)
	}
	p := &r.Shelves[0]
	if got := addresses(p); p.Name != "shelf1" || got != "psu1:200 psu2:201 psu3:202 psu4:203 psu5:204 psu6:205" || p.PMM != nil || p.Line != r.Segments[0].Line {
		t.Errorf("%s %s %v", p.Name, got, p.Line)
	}
	if d := cmp.Diff([]int{0, 1, 2}, p.Feeds); d != "" {
		t.Error(d)
	}
	if n := s.Nodes[1].Power; n == nil || *n != (NodePower{400, 1000}) {
		t.Errorf("power %v", n)
	}
	if r.BMC != nil || s.Management != nil {
		t.Errorf("a BMC that nobody asked for: %+v %+v", r.BMC, s.Management)
	}
}

// A rack without nodes is a topology.
func TestRackAlone(t *testing.T) {
	s := mustParse(t, "[[rack.shelf]]\nkind = 'rpu'\n[rack.bmc]\n")
	if len(s.Nodes) != 0 || len(s.Warnings) > 0 || addresses(&s.Rack.Shelves[0]) != "rpu:12" || s.Rack.Shelves[0].Line.Parity != rtu.None {
		t.Errorf("%+v %v", s.Rack, s.Warnings)
	}
	b := s.Rack.BMC
	if b == nil || b.Name != "bmc" || b.Machine != "ast2600-evb" || b.Addr.String() != "192.168.255.1/24" {
		t.Fatalf("%+v", b)
	}
	if d := cmp.Diff([]int{0, -1, -1, -1}, b.Ports); d != "" {
		t.Error(d)
	}
}

// Shelves of one kind on one segment take the kind's ranges one after the other;
// what the file gives comes first, whatever the order.
func TestRackAddresses(t *testing.T) {
	s := mustParse(t, `
[[rack.shelf]]
kind = "hpr-psu"
[[rack.shelf]]
kind = "hpr-psu"
address = 144
pmm = 32
[[rack.shelf]]
kind = "hpr-psu"
slots = [2, 5]
pmm = false
baud = 57600
parity = "odd"
stop = 2
[[rack.shelf]]
kind = "hpr-psu"
address = [190, 191]
`)
	want := []string{
		"psu1:154 psu2:155 psu3:156 psu4:157 psu5:158 psu6:159 pmm:33",
		"psu1:144 psu2:145 psu3:146 psu4:147 psu5:148 psu6:149 pmm:32",
		"psu2:170 psu5:171",
		"psu1:190 psu2:191 pmm:34",
	}
	for i := range s.Rack.Shelves {
		if got := addresses(&s.Rack.Shelves[i]); got != want[i] {
			t.Errorf("shelf %d: %s, want %s", i+1, got, want[i])
		}
	}
	if l := s.Rack.Shelves[2].Line; l != (rtu.Line{Baud: 57600, Data: 8, Parity: rtu.Odd, Stop: 2}) {
		t.Error(l)
	}
}

// Who feeds whom, and who backs whom.
func TestRackFeedsAndBacks(t *testing.T) {
	s := mustParse(t, `
[defaults]
node = { idle_power = "0.25kW" }
[generate]
type = "star"
hosts = 5
[[node]]
name = "h4"
peak_power = "300W"
[[node]]
name = "h5"
idle_power = "1500W"
[[rack.shelf]]
kind = "orv3-psu"
feeds = ["h2"]
[[rack.shelf]]
kind = "orv3-psu"
[[rack.shelf]]
kind = "hpr-psu"
[[rack.shelf]]
kind = "hpr-psu"
feeds = []
[[rack.shelf]]
kind = "orv3-bbu"
[[rack.shelf]]
kind = "hpr-bbu"
backs = "shelf1"
[[rack.shelf]]
kind = "hpr-bbu"
backs = ""
`)
	for i, want := range []struct {
		feeds []int
		backs int
	}{{[]int{1}, -1}, {[]int{0, 3}, -1}, {[]int{2, 4}, -1}, {nil, -1}, {nil, 1}, {nil, 0}, {nil, -1}} {
		p := s.Rack.Shelves[i]
		if d := cmp.Diff(want.feeds, p.Feeds); d != "" || p.Backs != want.backs {
			t.Errorf("%s backs %d, %s", p.Name, p.Backs, d)
		}
	}
	for i, want := range []NodePower{{250, 1000}, {250, 1000}, {250, 1000}, {250, 300}, {1500, 1500}} {
		if p := s.Nodes[i].Power; p == nil || *p != want {
			t.Errorf("%s: power %v, want %v", s.Nodes[i].Name, p, want)
		}
	}
}

// What devices serve beyond what real ones do.
func TestRackFunctions(t *testing.T) {
	s := mustParse(t, "[[rack.shelf]]\nkind = 'rpu'\nfunctions = [0x16, 0x0C]\n[[rack.shelf]]\nkind = 'orv3-psu'\nfunctions = 'all'\n[[rack.shelf]]\nkind = 'orv3-bbu'\n")
	for i, want := range []rtu.Options{{MaskWrite: true, Events: true}, {MaskWrite: true, ReadWrite: true, Diagnostics: true, Events: true, ServerID: true, DeviceID: true}, {}} {
		if o := s.Rack.Shelves[i].Functions; o != want {
			t.Errorf("shelf %d serves %+v", i+1, o)
		}
	}
	if _, ps := Parse("x.toml", []byte("[[rack.shelf]]\nkind = 'rpu'\nfunctions = 'every'\n")); len(ps) != 1 || ps[0].Line != 3 {
		t.Error(ps)
	}
}

// A BMC and the nodes share the management network.
func TestRackManagement(t *testing.T) {
	s := mustParse(t, `
[generate]
type = "star"
hosts = 2
[[rack.segment]]
[[rack.segment]]
[[rack.shelf]]
kind = "orv3-psu"
[[rack.shelf]]
kind = "rpu"
segment = "bus1"
[rack.bmc]
name = "obmc"
ports = ["", "bus1", "", "", "bus0"]
`)
	b, m := s.Rack.BMC, s.Management
	if m == nil || len(m.Ports) != 2 || b.Addr != netip.MustParsePrefix("192.168.255.3/24") || b.Name != "obmc" {
		t.Fatalf("%+v %+v", b, m)
	}
	if d := cmp.Diff([]int{-1, 1, -1, -1, 0, -1, -1, -1}, b.Ports); d != "" {
		t.Error(d)
	}
}

// Each broken invariant of a rack is found, and named.
func TestValidateRack(t *testing.T) {
	for _, c := range []struct {
		want  string
		spoil func(s *Spec)
	}{
		{"h1: power", func(s *Spec) { s.Nodes[0].Power = nil }},
		{"h1: power", func(s *Spec) { s.Nodes[0].Power.Peak = 1 }},
		{"the rack has no segment", func(s *Spec) { s.Rack.Segments = nil }},
		{`segment "bus1": bad or double name`, func(s *Spec) { s.Rack.Segments[0].Name = "bus1" }},
		{"segment bus0: line", func(s *Spec) { s.Rack.Segments[0].Line.Baud = 0 }},
		{"turnaround", func(s *Spec) { s.Rack.Segments[0].Turnaround = -1 }},
		{`kind "ups"`, func(s *Spec) { s.Rack.Shelves[0].Kind = "ups" }},
		{"bad or double name", func(s *Spec) { s.Rack.Shelves[0].Name = "bbu1" }},
		{"segment 2", func(s *Spec) { s.Rack.Shelves[0].Segment = 2 }},
		{"backs 7", func(s *Spec) { s.Rack.Shelves[1].Backs = 7 }},
		{"feeds node 4", func(s *Spec) { s.Rack.Shelves[0].Feeds[0] = 4 }},
		{"has no address or that of", func(s *Spec) { s.Rack.Shelves[0].Slots[0].Address = 145 }},
		{"has no address or that of", func(s *Spec) { s.Rack.Shelves[0].PMM.Address = 0 }},
		{"slots do not ascend", func(s *Spec) { s.Rack.Shelves[0].Slots[1].Number = 1 }},
		{"the name h1 is used twice", func(s *Spec) { s.Rack.BMC.Name = "h1" }},
		{"BMC bmc", func(s *Spec) { s.Rack.BMC.Ports = []int{0} }},
		{"BMC bmc", func(s *Spec) { s.Rack.BMC.Ports[0] = 2 }},
	} {
		s, err := Load("rack")
		if err != nil {
			t.Fatal(err)
		}
		c.spoil(s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

// A real rack: 56 slaves on the first segment, and none of them has a warning.
func TestVentura2(t *testing.T) {
	s := mustParse(t, "rack = \"ventura2\"\n[generate]\ntype = 'star'\nhosts = 6\n")
	if len(s.Warnings) > 0 {
		t.Error(s.Warnings)
	}
	r := s.Rack
	on := map[string]int{}
	seen := map[uint8]bool{}
	for i := range r.Shelves {
		p := &r.Shelves[i]
		for _, d := range p.Devices() {
			on[r.Segments[p.Segment].Name]++
			if p.Segment == 0 {
				if p.Line != (rtu.Line{Baud: 115200, Data: 8, Parity: rtu.Even, Stop: 1}) || d.Profile == "" || seen[d.Address] {
					t.Errorf("%s/%s: %v, profile %q, address %d", p.Name, d.Name, p.Line, d.Profile, d.Address)
				}
				seen[d.Address] = true
			}
		}
	}
	if n := on[r.Segments[0].Name]; n != 56 || len(seen) != 56 || r.Segments[0].Name != "rs485-1" || len(r.Segments) != 7 {
		t.Errorf("%d slaves on %s, %d segments: %v", n, r.Segments[0].Name, len(r.Segments), on)
	}
	if p := r.Shelves[0]; p.Name != "psu1" || addresses(&p) != "psu1:144 psu2:145 psu3:146 psu4:147 psu5:148 psu6:149 pmm:32" || cmp.Diff([]int{0, 4}, p.Feeds) != "" {
		t.Errorf("%s: %s, feeds %v", p.Name, addresses(&p), p.Feeds)
	}
	backed := 0
	for _, p := range r.Shelves {
		if p.Kind == "hpr-bbu" && p.Backs >= 0 && r.Shelves[p.Backs].Name == "psu"+p.Name[3:] {
			backed++
		}
	}
	if backed != 4 {
		t.Errorf("%d BBU shelves back the PSU shelf of their number", backed)
	}
}

// A preset can have more of the file's, which keeps its own names.
func TestPresetAndMore(t *testing.T) {
	s := mustParse(t, `
[rack]
preset = "ventura2"
[[rack.segment]]
name = "pumps"
[[rack.shelf]]
name = "pump"
kind = "rpu"
segment = "pumps"
[rack.bmc]
ports = ["rs485-1", "rs485-2", "rs485-3", "pumps"]
`)
	r := s.Rack
	if n := len(r.Segments); r.Segments[n-1].Name != "pumps" || r.Shelves[len(r.Shelves)-1].Segment != n-1 || r.BMC.Ports[3] != n-1 {
		t.Errorf("%+v %+v", r.Segments, r.BMC)
	}
	if _, ps := Parse("x.toml", []byte("[rack]\npreset = \"ventura2\"\n[[rack.shelf]]\nname = \"psu1\"\nkind = \"rpu\"\n")); len(ps.Errors()) != 1 || !strings.Contains(ps.Error(), `x.toml:3: rack.shelf[0]: the shelf "psu1" is there twice`) {
		t.Errorf("%v", ps)
	}
}

// A register map of the file brings its line and its addresses.
func TestRackMap(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("own.json", `{"name": "OWN", "address_range": [[17, 18]], "probe_register": 3, "baudrate": 9600, "parity": "NONE",
		"registers": [{"begin": 3, "length": 2, "name": "Serial", "format": "STRING"}]}`)
	write("bad.json", `{"name": "BAD", "address_range": [[0, 18]], "probe_register": 3, "baudrate": 9600, "registers": []}`)
	s, err := Load(write("a.toml", "[[rack.shelf]]\nkind = \"rpu\"\nmap = \"own.json\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Rack.Shelves[0]; len(s.Warnings) > 0 || p.Slots[0].Map != filepath.Join(dir, "own.json") || p.Slots[0].Address != 17 || p.Line != (rtu.Line{Baud: 9600, Data: 8, Stop: 1}) {
		t.Errorf("%+v, %v", p, s.Warnings)
	}
	for text, want := range map[string]string{
		"[[rack.shelf]]\nkind = \"rpu\"\nmap = \"none.json\"\n": "no such file",
		"[[rack.shelf]]\nkind = \"rpu\"\nmap = \"bad.json\"\n":  "address_range",
	} {
		_, err := Load(write("b.toml", text))
		if err == nil || !strings.Contains(err.Error(), "b.toml:3: rack.shelf[0].map: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
