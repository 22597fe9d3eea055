package sm_test

import (
	"fmt"
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/sm"
	"cnuas/sm/smtest"
)

// TestPartitionRules: what rules mean, by the tables that ports get. Members of
// the default partition are full there unless a case says otherwise.
func TestPartitionRules(t *testing.T) {
	const all = "Default=0x7fff: ALL=full;\n"
	for _, x := range []struct {
		name, text string
		want       map[string]string // the used entries of tables
	}{
		{"without a rule for it the default partition is limited, full for the manager", "", map[string]string{"H1": "ffff", "H2": "7fff", "S1": "7fff"}},
		{"a rule for the default partition adds to that", "Default=0x7fff: 0x100003=full;", map[string]string{"H1": "ffff", "H2": "ffff", "H3": "7fff"}},
		{"names of ports", all + "a=1: ALL_CAS; b=2: ALL_SWITCHES=full; c=3: SELF; d=4: ALL_ROUTERS; e=5: NONE;",
			map[string]string{"H1": "ffff 1 3", "H2": "ffff 1", "S1": "ffff 8002"}},
		{"what is said last counts", all + "a=1: ALL=full, 0x100003=limited; a=1: 0x100005=limited, 0x100005=full; b=2: 0x100003=full, ALL;",
			map[string]string{"H1": "ffff 8001 2", "H2": "ffff 1 2", "H3": "ffff 8001 2"}},
		{"defmember", all + "a=1, defmember=full: 0x100003, 0x100005=limited; a=1, defmember=limited: 0x100007; b=2, defmember=both: 0x100003, 0x100005=limited;",
			map[string]string{"H2": "ffff 8001 8002 2", "H3": "ffff 1 2", "H4": "ffff 1"}},
		{"both is two entries, and one again", all + "a=1: 0x100003=both, 0x100005=both; a=1: 0x100005=full;", map[string]string{"H2": "ffff 8001 1", "H3": "ffff 8001"}},
		{"memberships may be abbreviated", all + "a=1: 0x100003=f, 0x100005=limi, 0x100007=bot;", map[string]string{"H2": "ffff 8001", "H3": "ffff 1", "H4": "ffff 8001 1"}},
		{"P_Key 0 and no P_Key are derived", all + "a: 0x100003; b=0: 0x100005; c=1: 0x100007; a: 0x100009;",
			map[string]string{"H2": "ffff 2", "H3": "ffff 3", "H4": "ffff 1", "H5": "ffff 2"}},
		{"a name that begins with a digit is a P_Key", all + "0x8020: 0x100003=full; 33: 0x100003;", map[string]string{"H2": "ffff 8020 21"}},
		{"P_Keys have no bit of membership", all + "a=0x8005: 0x100003; b=5: 0x100005=full;", map[string]string{"H2": "ffff 5", "H3": "ffff 8005"}},
		{"decimal and hexadecimal, comments, lines", all + "a=16 , # of all\n ipoib :\n\t0x100003 = full ,# one\n 1048581;b=0x11:0x100003;#c=3: ALL;\n",
			map[string]string{"H2": "ffff 8010 11", "H3": "ffff 10", "H4": "ffff"}},
		{"entry 0", all + "a=0x10, indx0: 0x100003=full, 0x100005; b=0x20: 0x100003;", map[string]string{"H2": "8010 ffff 20", "H3": "10 ffff", "H4": "ffff"}},
		{"entry 0 is the last that says so", all + "a=0x10, indx0: ALL=full; b=0x20, indx0: 0x100003=full; a=0x10: 0x100005=full;",
			map[string]string{"H2": "8020 ffff 8010", "H3": "ffff 8010", "H4": "8010 ffff"}},
	} {
		f, err := sm.ParsePartitions(x.text)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		net := smtest.FT2x2x8(sim.NewEngine(1))
		up(t, net, "H1", sm.Config{Partitions: f})
		for node, want := range x.want {
			n := net.Node(node)
			p := n.Ports[0]
			if p == nil {
				p = n.Ports[1]
			}
			var got []string
			for _, k := range p.PKeys {
				if k != 0 {
					got = append(got, fmt.Sprintf("%x", k))
				}
			}
			if s := strings.Join(got, " "); s != want {
				t.Errorf("%s: %s has %s, want %s", x.name, node, s, want)
			}
		}
	}
}

func TestPartitionGroups(t *testing.T) {
	f, err := sm.ParsePartitions("a=0x10, ipoib, rate=7, mtu=5, sl=3, scope=2, scope=0xe, Q_Key=9, TClass=4, FlowLabel=5:\n mgid=ff12:401b::16\n mgid=ff12:601b:8010::1, sl=2\n" +
		" mgid=ff12:401b:ffff::ffff:ffff mgid=ff13::7, rate=3, mtu=4, Q_Key=0xdeadbeef\n ALL=full;\nb: ALL;")
	if err != nil {
		t.Fatal(err)
	}
	p := f.Partitions[0]
	flags := sm.GroupFlags{MTU: 5, Rate: 7, SL: 3, Scopes: 1<<2 | 1<<14, QKey: 9, TClass: 4, FlowLabel: 5}
	if !p.IPoIB || p.Group != flags || len(p.Groups) != 4 || len(p.Members) != 1 || f.SL(0x8010) != 3 || f.SL(f.Partitions[1].PKey) != 0 {
		t.Errorf("%+v", p)
	}
	other, random := flags, flags
	other.SL = 2
	random.Rate, random.MTU, random.QKey = 3, 4, 0xdeadbeef
	for i, want := range []struct {
		gid   string
		flags sm.GroupFlags
	}{{"ff12:401b:8010::16", flags}, {"ff12:601b:8010::1", other}, {"ff12:401b:8010::ffff:ffff", flags}, {"ff13::7", random}} {
		if g := p.Groups[i]; g.MGID.String() != want.gid || g.GroupFlags != want.flags {
			t.Errorf("group %d is %v %+v, want %v %+v", i, g.MGID, g.GroupFlags, want.gid, want.flags)
		}
	}
	if f.Partitions[1].IPoIB || f.Partitions[1].PKey != 1 {
		t.Errorf("%+v", f.Partitions[1])
	}
}

// TestPartitionLines: errors name the line of the word that is wrong, and there
// is one for each.
func TestPartitionLines(t *testing.T) {
	_, err := sm.ParsePartitions(`# 1
a=0x10, ipoib,
  mtu=7,
  sl=,
  scope=0:
  0x100003=half,
  17x,
  mgid=1.2.3.4
  mgid=ff12:401b:8011::1;
b=0x1ffff: ALL;
c, defmember=none: =full;
d, ipoib, rate=5: mgid=ff12:401b::1, rate=6;
e: ALL`)
	want := []string{
		"line 3: mtu=7 is not 1 to 5", "line 4: sl= is no number up to 0xf", "line 5: scope=0 is not 1 to 15",
		`line 6: a membership is full, limited or both, not "half"`, `line 7: "17x" is no port GUID, ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS or SELF`,
		"line 8: mgid=1.2.3.4 is no multicast GID", "line 10: P_Key=0x1ffff is no number up to 0xffff",
		`line 11: defmember is full, limited or both, not "none"`, "line 11: '=' without a name or value",
		`line 2: partition "a": mgid=ff12:401b:8011::1 has P_Key 0x8011, and the partition 0x8010`,
		`line 12: partition "d": mgid=ff12:401b::1 has another mtu or rate than the broadcast group`,
		"line 13: the rule has no ';' at its end",
	}
	if err == nil {
		t.Fatal("no error")
	}
	got := strings.Split(err.Error(), "\n")
	for _, w := range want {
		found := false
		for _, g := range got {
			found = found || g == w
		}
		if !found {
			t.Errorf("no %q", w)
		}
	}
	if t.Failed() {
		t.Logf("got\n%v", err)
	}
}

func FuzzPartitions(f *testing.F) {
	for _, s := range []string{"Default=0x7fff, ipoib: ALL=full;", "a=0x10, indx0, sl=3: SELF=both, 0x5 mgid=ff12:401b::1, rate=3;\n#x\nb: ALL_CAS", "=:=,;::;", "0x1::1:2,;mgid=:mgid=mgid=;"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		file, err := sm.ParsePartitions(s)
		if file == nil {
			t.Fatal("no file")
		}
		for i := range file.Partitions {
			p := &file.Partitions[i]
			if p.PKey == 0 || p.PKey&0x8000 != 0 || p.Line < 1 || p.Line > strings.Count(s, "\n")+1 || p.Group.SL > 15 {
				t.Errorf("%+v", p)
			}
			for k := range p.Groups {
				if !p.Groups[k].MGID.Multicast() {
					t.Errorf("%+v", p.Groups[k])
				}
			}
		}
		if err != nil {
			for _, line := range strings.Split(err.Error(), "\n") {
				if !strings.HasPrefix(line, "line ") {
					t.Errorf("error without a line: %q", line)
				}
			}
		}
	})
}
