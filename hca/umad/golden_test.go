package umad_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cnuas/internal/fabric"
	"cnuas/internal/sim"
	"cnuas/internal/simtest"
	"cnuas/internal/topology"
	"cnuas/internal/wire/mad"
)

// Outputs in testdata are of the same tools, version 44 of rdma-core, on ibsim
// 0.10 managed by OpenSM 3.3.23: two leaf and two spine switches, eight hosts.

var differs = []struct {
	find *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`(?m)^(#|/usr/sbin/dump_|dump_).*\n`), ""},         // dates; a warning
	{regexp.MustCompile(`(?m)[ \t]+$`), ""},                                //
	{regexp.MustCompile(`DR path slid \d+; dlid \d+; [\d,]*`), "DR path"},  // order of discovery
	{regexp.MustCompile(`activity count (\d+|<N>)`), "activity count N"},   //
	{regexp.MustCompile(`(capability_mask|mtu|rate|pkt_life)\.+.*`), "$1"}, // ibsim's values
	{regexp.MustCompile(`CapMask: \S+( CapMask2: \S+)?\)`), "CapMask)"},    //
	{regexp.MustCompile(`(Revision|PartCap):\.*.*`), "$1"},                 //
	{regexp.MustCompile(`(?m)^([A-Z]\w+:\.+)(<N>|\d+)$`), "${1}N"},         // counters
}

// canonical is a tool's output without what may differ: blocks between blank
// lines, and the lines of blocks that have no order, are sorted.
func canonical(s string) string {
	for _, d := range differs {
		s = d.find.ReplaceAllString(s, d.with)
	}
	blocks := strings.Split(strings.TrimSpace(s), "\n\n")
	slices.Sort(blocks)
	return strings.Join(blocks, "\n\n")
}

func lines(s string) string {
	l := strings.Split(s, "\n")
	slices.Sort(l)
	return strings.Join(l, "\n")
}

func golden(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestGolden: OpenSM brings up the fabric, and the diagnostics print what they
// print on ibsim, LIDs and forwarding tables included.
func TestGolden(t *testing.T) {
	simtest.Need(t, "opensm", "ibnetdiscover", "saquery")
	w := newWorld(t, "ft2x2x8.ibnet", golden(t, "ibnetdiscover"), false)
	tmp := t.TempDir()
	sm := w.start("H1", []string{"OSM_CACHE_DIR=" + tmp, "OSM_TMP_DIR=" + tmp}, "opensm", "-f", "stdout")
	sm.expect(t, "SUBNET UP")
	for _, c := range []struct {
		file, line string
		sort       bool
	}{
		{"ibnetdiscover", "ibnetdiscover", false},
		{"ibhosts", "ibhosts", true},
		{"ibswitches", "ibswitches", true},
		{"ibnodes", "ibnodes", true},
		{"ibaddr", "ibaddr", false},
		{"sminfo", "sminfo", false},
		{"ibtracert", "ibtracert 1 12", false},
		{"ibroute_sw", "ibroute 2", false},
		{"dump_lfts", "dump_lfts", true},
		{"saquery_s", "saquery -s", false},
		{"saquery_pr_s1_d12", "saquery --src-to-dst 1:12", false},
		{"saquery_sgid_dgid", "saquery --sgid-to-dgid fe80::10:1-fe80::10:f", false},
		{"smpquery_nd", "smpquery nodedesc 1", false},
		{"smpquery_ni_D", "smpquery -D nodeinfo 0,1", false},
		{"perfquery.layout", "perfquery", false},
		{"perfquery_x.layout", "perfquery -x", false},
	} {
		got, want := canonical(w.run("H1", c.line)), canonical(golden(t, c.file))
		if c.sort {
			got, want = lines(got), lines(want)
		}
		if got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.line, got, want)
		}
	}
	sm.kill()
	w.await("the killed OpenSM is not announced any more", func() bool { return !w.isSM("H1") && w.agents("H1") == 0 })
}

// opensm starts OpenSM on a node with a priority; it polls a master often.
func (w *world) opensm(node string, priority int) *program {
	w.t.Helper()
	dir := w.t.TempDir()
	conf := dir + "/conf"
	if err := os.WriteFile(conf, []byte("sminfo_polling_timeout 200\npolling_retry_number 2\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return w.start(node, []string{"OSM_CACHE_DIR=" + dir, "OSM_TMP_DIR=" + dir}, "opensm", "-F", conf, "-p", fmt.Sprint(priority), "-f", "stdout")
}

// TestOpenSM: one run, and then managers at two hosts: OpenSM is the master,
// another the standby, which takes over when the master is killed, and finally
// hands over to ours, whose priority is higher.
func TestOpenSM(t *testing.T) {
	simtest.Need(t, "opensm", "sminfo")
	w := newWorld(t, "two.toml", twoHosts, false)
	tmp := t.TempDir()
	out := w.start("h1", []string{"OSM_CACHE_DIR=" + tmp, "OSM_TMP_DIR=" + tmp}, "opensm", "-o", "-f", "stdout").wait(t, 30*time.Second, 0)
	if !strings.Contains(out, "SUBNET UP") {
		t.Fatalf("opensm -o: %s", out)
	}
	if w.isSM("h1") {
		t.Error("IsSM is set after the end of opensm -o")
	}
	if out := w.run("h2", "ibstat"); !strings.Contains(out, "State: Active") || !strings.Contains(out, "SM lid: 1") {
		t.Errorf("after opensm -o: %s", out)
	}
	master := w.opensm("h1", 5)
	master.expect(t, "SUBNET UP")
	standby := w.opensm("h2", 4)
	standby.expect(t, "Entering STANDBY")
	if out := w.run("h2", "sminfo"); !strings.Contains(out, "SMINFO_MASTER") || !strings.Contains(out, "priority 5") {
		t.Errorf("master: %s", out)
	}
	if out := w.run("h1", "saquery -s"); strings.Count(out, "PortInfoRecord") != 2 {
		t.Errorf("managers: %s", out)
	}
	master.kill()
	standby.expect(t, "Entering MASTER")
	w.untilIn("h1", "sminfo", "priority 4 state 3 SMINFO_MASTER")
	// Ours, with the highest priority, gets the subnet from it.
	var ours *fabric.SubnetManager
	w.loop.Do(func() {
		var err error
		if ours, err = w.fab.StartSM("h1", fabric.SMOptions{SM: topology.SM{Priority: 15}, Poll: 200 * sim.Millisecond}); err != nil {
			t.Error(err)
		}
	})
	if t.Failed() {
		return
	}
	w.await("our manager is the master", func() bool { return ours.Manager().State() == mad.SMMaster })
	w.untilIn("h2", "sminfo", "priority 15 state 3 SMINFO_MASTER")
}
