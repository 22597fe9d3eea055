package topology

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// importFile imports a file of testdata/ibnet without an error.
func importFile(t *testing.T, name string) *Spec {
	t.Helper()
	s, err := Load(filepath.Join("testdata", "ibnet", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

// again exports a Spec and imports the text.
func again(t *testing.T, s *Spec) *Spec {
	t.Helper()
	back, ps := Parse(s.Name+IBNetExt, ExportIBNet(s))
	if back == nil {
		t.Fatalf("%v\n%s", ps, ExportIBNet(s))
	}
	return back
}

// sameFabric compares all but where the Spec came from.
func sameFabric(t *testing.T, want, got *Spec) {
	t.Helper()
	x, y := *want, *got
	x.File, y.File, x.Warnings, y.Warnings = "", "", nil, nil
	if d := cmp.Diff(x, y, compareNetip); d != "" {
		t.Errorf("exported and imported again it differs (-want +got):\n%s", d)
	}
}

// The dump of a fabric before a subnet manager has given LIDs comes out of the
// export as it went in.
func TestIBNetIsWhatTheToolPrints(t *testing.T) {
	s := importFile(t, "ibnetdiscover.init.txt")
	want, err := os.ReadFile("testdata/ibnet/ibnetdiscover.init.txt")
	if err != nil {
		t.Fatal(err)
	}
	comment := regexp.MustCompile(`(?m)^#.*\n`)
	strip := func(b []byte) string { return strings.TrimSpace(string(comment.ReplaceAll(b, nil))) }
	if d := cmp.Diff(strip(want), strip(ExportIBNet(s))); d != "" {
		t.Error(d)
	}
}

func TestIBNetRoundTrip(t *testing.T) {
	files, err := filepath.Glob("testdata/ibnet/*")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			s := importFile(t, filepath.Base(f))
			sameFabric(t, s, again(t, s))
		})
	}
	// Fabrics of TOML have their links in an order of their own, so compare
	// what the text says.
	for _, toml := range []string{
		"[generate]\ntype='ib-fat-tree'\nk=4",
		"[generate]\ntype='ib-fat-tree'\nspines=2\nleaves=3\nhosts_per_leaf=2\nlinks_per_pair=2",
		"[[node]]\nname='a'\n[[node]]\nname='b'\n[[link]]\na='a:ib0'\nb='b:ib0'\n[[link]]\na='a:ib1'\nb='b:ib1'\nwidth=1\nspeed='FDR10'",
	} {
		s := mustParse(t, toml)
		back := again(t, s)
		if !bytes.Equal(ExportIBNet(s), ExportIBNet(back)) {
			t.Errorf("%s:\n%s", toml, cmp.Diff(string(ExportIBNet(s)), string(ExportIBNet(back))))
		}
		for i := range s.Nodes {
			if d := cmp.Diff(s.Nodes[i].HCAs, back.Nodes[i].HCAs); d != "" || s.Nodes[i].Name != back.Nodes[i].Name {
				t.Error(d)
			}
		}
	}
}

// The golden fabric of the reference: by dump, and by ibsim's input, which has
// no GUIDs.
func TestIBNetGoldenFabric(t *testing.T) {
	dump, topo, own := importFile(t, "ibnetdiscover.txt"), importFile(t, "ft2x2x8.topo"), mustLoad(t, "ib-fat-tree")
	shape := func(s *Spec) map[string]string {
		m := map[string]string{}
		short := strings.NewReplacer("leaf", "L", "spine", "S", "h", "H")
		for _, l := range s.Links {
			a, b := short.Replace(l.A.Name), short.Replace(l.B.Name)
			m[a], m[b] = b, a
		}
		for _, w := range s.Switches {
			if w.IB.NumPorts != 8 || w.IB.EnhancedPort0 {
				t.Errorf("%+v", w.IB)
			}
		}
		return m
	}
	for _, s := range []*Spec{topo, own} {
		if d := cmp.Diff(shape(dump), shape(s)); d != "" {
			t.Error(d)
		}
	}
	if n := topo.Nodes[0]; n.Name != "H1" || n.HCAs[0].GUID != 0x02000b0200000100 || n.IBPorts[0].GUID != 0x02000b0200000101 {
		t.Errorf("%+v", n)
	}
	if n := dump.Nodes[7]; n.Name != "H1" || n.HCAs[0].GUID != 0x100000 || n.IBPorts[0].GUID != 0x100001 || n.HCAs[0].Desc != "H1" {
		t.Errorf("%+v", n)
	}
	for i := range own.Links {
		if *dump.Links[0].IB != (IBLink{Width: 4, Speed: SDR, MTU: 4096, VLs: 4}) || *own.Links[i].IB != (IBLink{Width: 4, Speed: SDR, MTU: 2048, VLs: 4}) {
			t.Errorf("%+v %+v", dump.Links[0].IB, own.Links[i].IB)
		}
	}
}

func mustLoad(t *testing.T, name string) *Spec {
	t.Helper()
	s, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A dump in the style of a real machine room: names with spaces, hosts with
// two HCAs and two ports, an enhanced port 0, a router, mixed speeds.
func TestIBNetRealistic(t *testing.T) {
	s := importFile(t, "room.ibnet")
	golden(t, "ibnet-room.json", encode(t, s))
	names := []string{}
	for _, w := range s.Switches {
		names = append(names, w.Name)
	}
	for _, n := range s.Nodes {
		names = append(names, n.Name)
	}
	if d := cmp.Diff([]string{"MF0-sw1-IS5030-U1", "MF0-sw1-IS5030-U1-2", "node1", "node2", "Voltaire-HCA400-of-storage-rack", "node2-2", "rt0"}, names); d != "" {
		t.Error(d)
	}
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0].String(), "room.ibnet:61: warning: the router") {
		t.Errorf("%v", s.Warnings)
	}
}

// FuzzIBNet: any text gives problems or a Spec that is valid and that survives
// export and import.
func FuzzIBNet(f *testing.F) {
	files, _ := filepath.Glob("testdata/ibnet/*")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("Hca 2 \"a\"\n[1] \"b\"[1]\nHca 1 \"b\"\n[1] \"a\"[1]\nRt 1 \"c\""))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, ps := Parse("fuzz.ibnet", data)
		if (s == nil) != (len(ps.Errors()) > 0) {
			t.Fatalf("a Spec with errors, or none without: %v", ps)
		}
		if s == nil {
			return
		}
		if err := s.Validate(); err != nil {
			t.Fatalf("not valid: %v", err)
		}
		sameFabric(t, s, again(t, s))
	})
}
