package sm_test

import (
	"fmt"
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
	"cnuas/sm/smtest"
)

func TestParsePartitions(t *testing.T) {
	f, err := sm.ParsePartitions(`
# comment
Default=0x7fff, ipoib : ALL=limited, SELF=full, ALL_SWITCHES=full ;
YetAnother = 0x0300, indx0, defmember=both : SELF=full, 0x100005,
    0x100007=limited ;
NewPart=0x8006, ipoib, mtu=5, rate=7, sl=3 : 0x123456=full, 0x3456789034=limi
`)
	// The last rule has two mistakes: a membership and no ';'.
	if err == nil || strings.Count(err.Error(), "\n") != 0 || !strings.HasPrefix(err.Error(), "line 6: ") {
		t.Errorf("error %v", err)
	}
	if len(f.Partitions) != 2 {
		t.Fatalf("%d partitions", len(f.Partitions))
	}
	p := f.Partitions[0]
	if p.PKey != 0x7fff || !p.IPoIB || len(p.Members) != 3 || p.Members[1] != (sm.Member{Who: sm.MemberSelf, As: sm.Full}) || p.Members[0].As != sm.Limited {
		t.Errorf("%+v", p)
	}
	if p = f.Partitions[1]; p.PKey != 0x300 || !p.Index0 || p.Members[1] != (sm.Member{GUID: 0x100005, As: sm.Both}) || p.Members[2].As != sm.Limited || p.Line != 4 {
		t.Errorf("%+v", p)
	}
}

func TestPartitionErrors(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"a=0x1 ALL;", `line 1: partition "a": ':' is missing behind the definition`},
		{"\n\na=0x1: everybody;", `line 3: "everybody" is no port GUID`},
		{"a=0x1: ALL=most;", `line 1: a membership is full, limited or both, not "most"`},
		{"a=0x1, colour: ALL;", `line 1: unknown flag "colour"`},
		{"a=0x1, ipoib, mtu=9: ALL;", "line 1: mtu=9 is not 1 to 5"},
		{"a=0x1, ipoib, sl=16: ALL;", "line 1: sl=16 is no number up to 0xf"},
		{"a=0x10000: ALL;", "line 1: P_Key=0x10000 is no number up to 0xffff"},
		{"a=0x8000: ALL;", "P_Key 0x8000 is not usable"},
		{"a=0x1: mgid=fe80::1;", "line 1: mgid=fe80::1 is no multicast GID"},
		{"a=0x1: ALL\nb=0x2: ALL;", "line 2: unexpected ':'; is a ';' missing?"},
		{"a=: ALL;", ""},
	} {
		_, err := sm.ParsePartitions(x.text)
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%q: %v, want %q", x.text, err, x.want)
		}
	}
	many := strings.Repeat("x:y:z=;", 1000)
	if _, err := sm.ParsePartitions(many); err == nil || strings.Count(err.Error(), "\n") > 20 {
		t.Error("too many errors, or none")
	}
}

// TestPartitions is scenario I6: without a file everybody is a full member of
// the default partition; a file without it makes all limited and the subnet
// manager full.
func TestPartitions(t *testing.T) {
	f := smtest.FT2x2x8(sim.NewEngine(1))
	m := up(t, f, "H1", sm.Config{})
	for _, n := range f.Nodes {
		if n.Ports[1].PKeys[0] != 0xffff {
			t.Errorf("no file: %s has %#x", n.Name, n.Ports[1].PKeys[0])
		}
	}
	share := func(a, b string, key uint16) bool {
		s := m.Subnet()
		return sm.Share(s.PortByGUID(f.Node(a).Ports[1].GUID), s.PortByGUID(f.Node(b).Ports[1].GUID), key)
	}
	if !share("H2", "H3", 0xffff) {
		t.Error("no file: H2 and H3 cannot talk")
	}

	file, err := sm.ParsePartitions("red=0x0010: 0x100003=full, 0x100005, 0x100007;\nblue=0x20, defmember=full: 0x100009, 0x10000b, 0x100003=both;")
	if err != nil {
		t.Fatal(err)
	}
	f = smtest.FT2x2x8(sim.NewEngine(1))
	m = up(t, f, "H1", sm.Config{Partitions: file})
	for host, want := range map[string]string{
		"H1": "[ffff]", "H2": "[7fff 8010 8020 20]", "H3": "[7fff 10]", "H4": "[7fff 10]", "H5": "[7fff 8020]", "H6": "[7fff 8020]", "H7": "[7fff]",
	} {
		k := f.Node(host).Ports[1].PKeys
		n := len(k)
		for n > 0 && k[n-1] == 0 {
			n--
		}
		if got := fmt.Sprintf("%x", k[:n]); got != want {
			t.Errorf("%s has %s, want %s", host, got, want)
		}
	}
	for _, x := range []struct {
		a, b string
		key  uint16
		want bool
	}{
		{"H2", "H3", 0x10, true}, {"H3", "H4", 0x10, false}, {"H2", "H5", 0x20, true}, {"H3", "H5", 0x20, false},
		{"H3", "H4", 0x7fff, false}, {"H1", "H4", 0x7fff, true},
	} {
		if got := share(x.a, x.b, x.key); got != x.want {
			t.Errorf("%s and %s share %#x: %v", x.a, x.b, x.key, got)
		}
	}
	n := counts(m)[mad.AttrPKeyTable].Set
	m.Heavy()
	f.Run(sim.Second)
	if d := counts(m)[mad.AttrPKeyTable].Set; d != n {
		t.Errorf("%d P_Key blocks are sent again without need", d-n)
	}
}

// TestKeepsIndexes: a key that is in a table stays at its index.
func TestKeepsIndexes(t *testing.T) {
	file, err := sm.ParsePartitions("Default=0x7fff: ALL=full;\na=0x10: ALL=full; b=0x20: ALL=full; c=0x30: ALL=full;")
	if err != nil {
		t.Fatal(err)
	}
	f := smtest.FT2x2x8(sim.NewEngine(1))
	p := f.Node("H4").Ports[1]
	p.PKeys[5], p.PKeys[40], p.PKeys[1] = 0x8020, 0x8030, 0x8077
	up(t, f, "H1", sm.Config{Partitions: file})
	if p.PKeys[0] != 0xffff || p.PKeys[5] != 0x8020 || p.PKeys[40] != 0x8030 || p.PKeys[1] != 0x8010 {
		t.Errorf("table %x", p.PKeys)
	}
}

// TestEnforcement: a switch that can holds the keys of the host behind each
// port.
func TestEnforcement(t *testing.T) {
	file, err := sm.ParsePartitions("Default=0x7fff: ALL=limited, SELF=full;\na=0x10: ALL_CAS=full;")
	if err != nil {
		t.Fatal(err)
	}
	f := smtest.FatTree(sim.NewEngine(1), 4, smtest.EDR())
	up(t, f, "h1", sm.Config{Partitions: file})
	p := f.Node("h5").Ports[1].Peer
	if !p.Info.PartitionEnforcementInbound || !p.Info.PartitionEnforcementOutbound || p.PKeys[0] != 0x7fff || p.PKeys[1] != 0x8010 {
		t.Errorf("enforcement %v %v, table %x", p.Info.PartitionEnforcementInbound, p.Info.PartitionEnforcementOutbound, p.PKeys[:4])
	}
	if q := f.Node("agg1").Ports[1]; q.Info.PartitionEnforcementInbound || q.PKeys[1] != 0 {
		t.Error("a link between switches enforces partitions")
	}
	reach(t, f)
}
