//go:build conformance

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cnuas/internal/simtest"
)

// tool is one run of a program in a node, and what it must print.
type tool struct {
	run    string // the command; node H1 unless there is "H5: " in front
	golden string // expectation in testdata/ft2x2x8; none: see has
	how    compare
	has    []string // what the output must contain besides
	status int      // -1: any but 0
	until  bool     // it is run again until it prints what it must: something has to happen first
}

// initTools run before a subnet manager: ports are in Init, without LIDs.
var initTools = []tool{
	{run: "ibstat", golden: "ibstat.init.txt", how: asFields, has: []string{"State: Initializing", "Physical state: LinkUp", "Base lid: 0\n", "SM lid: 0\n", "Rate: 10\n", "Link layer: InfiniBand"}},
	{run: "ibstatus", has: []string{"base lid:\t 0x0", "state:\t\t 2: INIT", "phys state:\t 5: LinkUp", "rate:\t\t 10 Gb/sec (4X SDR)", "link_layer:\t InfiniBand"}},
	{run: "ibnetdiscover", golden: "ibnetdiscover.init.txt", how: asRecords},
	{run: "iblinkinfo", golden: "iblinkinfo.init.txt", how: asRecords},
}

// smTools run with stock opensm at H1, which gives the LIDs that it gave under
// ibsim, so most of the output is the same by the letter.
var smTools = []tool{
	{run: "ibstat", golden: "ibstat.txt", how: asFields, has: []string{"State: Active", "Base lid: 1\n", "SM lid: 1\n", "Port GUID: 0x0000000000100001"}},
	{run: "H5: ibstat", has: []string{"State: Active", "Base lid: 9\n", "SM lid: 1\n"}},
	{run: "ibstat -l", has: []string{"rxe0\n"}},
	{run: "ibstat -p", golden: "ibstat_p.txt"},
	{run: "ibstat -s", has: []string{"Number of ports: 1", "Node GUID: 0x0000000000100000"}},
	{run: "ibstatus", has: []string{"base lid:\t 0x1", "state:\t\t 4: ACTIVE", "sm lid:\t\t 0x1"}},
	{run: "ibaddr", golden: "ibaddr.txt"},
	{run: "H8: ibaddr", has: []string{"GID fe80::10:f LID start 0xc end 0xc"}},
	{run: "ibv_devinfo -v", has: []string{"port_lid:\t\t1\n", "sm_lid:\t\t\t1\n", "link_layer:\t\tInfiniBand", "state:\t\t\tPORT_ACTIVE", "active_mtu:\t\t4096"}},
	{run: "sminfo", golden: "sminfo.txt"},
	{run: "sminfo -D 0", golden: "sminfo_D.txt"},
	{run: "ibnetdiscover", golden: "ibnetdiscover.txt", how: asRecords},
	{run: "ibnetdiscover -p", golden: "ibnetdiscover_p.txt", how: asRecords},
	{run: "ibnetdiscover -f", golden: "ibnetdiscover_f.txt", how: asFields},
	{run: "ibnetdiscover -S", golden: "ibnetdiscover_S.txt", how: asRecords},
	{run: "ibnetdiscover -H", golden: "ibnetdiscover_H.txt", how: asRecords},
	{run: "ibhosts", golden: "ibhosts.txt", how: asRecords},
	{run: "ibswitches", golden: "ibswitches.txt", how: asRecords},
	{run: "ibnodes", golden: "ibnodes.txt", how: asRecords},
	{run: "ibrouters", golden: "ibrouters.txt"},
	{run: "iblinkinfo", golden: "iblinkinfo.txt", how: asRecords},
	{run: "iblinkinfo --switches-only", golden: "iblinkinfo_sw.txt", how: asRecords},
	{run: "ibqueryerrors", has: []string{"12 nodes checked, 0 bad nodes found", "ports checked, 0 ports have errors beyond threshold"}},
	{run: "ibidsverify", golden: "ibidsverify.txt"},
	{run: "perfquery", golden: "perfquery.layout.txt", how: asFields},
	{run: "perfquery -x", golden: "perfquery_x.layout.txt", how: asFields},
	{run: "perfquery -a 2", golden: "perfquery_lid2_all.layout.txt", how: asFields},
	{run: "perfquery 2 1", golden: "perfquery_sw.layout.txt", how: asFields},
	{run: "perfquery -R 2 1", has: nil},
	{run: "perfquery -D 1 1", golden: "perfquery_xmtdisc.layout.txt", how: asFields},
	{run: "perfquery -E 1 1", golden: "perfquery_rcverr.layout.txt", how: asFields},
	{run: "smpquery nodedesc 1", golden: "smpquery_nd.txt"},
	{run: "smpquery nodeinfo 1", golden: "smpquery_ni.txt", how: asFields, has: []string{"NodeType:........................Channel Adapter", "PortGuid:........................0x0000000000100001"}},
	{run: "smpquery -D nodeinfo 0,1", golden: "smpquery_ni_D.txt", how: asFields, has: []string{"NodeType:........................Switch", "Guid:............................0x0000000000200000"}},
	{run: "smpquery -D nodedesc 0,1", golden: "smpquery_nd_D.txt"},
	{run: "smpquery portinfo 1 1", golden: "smpquery_pi.txt", how: asFields, has: []string{"LinkState:.......................Active", "Lid:.............................1\n", "NeighborMTU:.....................4096", "LinkSpeedActive:.................2.5 Gbps", "IsSM\n"}},
	{run: "smpquery portinfo 2 1", golden: "smpquery_pi_sw.txt", how: asFields, has: []string{"LinkState:.......................Active"}},
	{run: "smpquery portinfo 2 0", golden: "smpquery_pi_sw0.txt", how: asFields, has: []string{"Lid:.............................2\n"}},
	{run: "smpquery -D portinfo 0,1 5", golden: "smpquery_pi_D.txt", how: asFields},
	{run: "smpquery switchinfo 2", golden: "smpquery_si.txt", how: asFields, has: []string{"LinearFdbTop:....................12", "LifeTime:........................18"}},
	{run: "smpquery pkeys 1 1", has: []string{"0: 0xffff 0x0000"}},
	{run: "smpquery sl2vl 1 1", has: []string{"ports: in  0, out  0: | 0| 1|"}},
	{run: "smpquery sl2vl 2 1", has: []string{"ports: in  1, out  1:"}},
	{run: "smpquery vlarb 1 1", has: []string{"# Low priority VL Arbitration Table:", "# High priority VL Arbitration Table:"}},
	{run: "smpquery guidinfo 1", has: []string{"0: 0x0000000000100001"}},
	{run: "smpquery mepi 1 1", status: -1}, // of another vendor's devices
	{run: "smpdump 1 0x11 0", has: []string{"0101 0101", "0010 0000"}},
	{run: "smpdump -D 0,1 0x10", golden: "smpdump_D.txt"},
	{run: "ibroute 2", golden: "ibroute_sw.txt"},
	{run: "ibroute -a 2", golden: "ibroute_all.txt"},
	{run: "ibroute -M 2", has: []string{"0xc000        x x x x x"}, until: true}, // IPoIB has joined its groups
	{run: "ibtracert 1 12", golden: "ibtracert.txt"},
	{run: "ibtracert -G 0x100001 0x10000f", golden: "ibtracert_G.txt"},
	{run: "ibportstate -D 0,1 5 query", has: []string{"Switch PortInfo:", "PhysLinkState:...................LinkUp", "Peer PortInfo:", "LinkSpeedActive:.................2.5 Gbps"}},
	{run: "ibportstate 2 5 query", has: []string{"LinkState:.......................Active", "Peer PortInfo:"}},
	{run: "dump_fts", golden: "dump_fts.txt", how: asRecords},
	{run: "dump_lfts", golden: "dump_lfts.txt", how: asRecords},
	{run: "dump_mfts", has: []string{"0xc000        x x x x x", "switch DR path slid 0; dlid 0; 0,1,5,2 guid 0x0000000000200001 (L2)"}},
	{run: "saquery --src-to-dst 1:4", golden: "saquery_pr.txt", how: asFields, has: []string{"dgid....................fe80::20:2", "slid....................1\n"}},
	{run: "saquery --src-to-dst 1:12", golden: "saquery_pr_s1_d12.txt", how: asFields, has: []string{"dlid....................12"}},
	{run: "saquery --sgid-to-dgid fe80::10:1-fe80::10:f", golden: "saquery_sgid_dgid.txt", how: asFields},
	{run: "saquery SWIR", golden: "saquery_swi.txt", how: asFields},
	{run: "saquery MFTR", has: []string{"0xc000\t0x003e"}},
	{run: "saquery IIR", golden: "saquery_iir.txt"},
	{run: "saquery SR", golden: "saquery_sr.txt"},
	{run: "saquery -g", has: []string{"MGID....................ff12:401b:ffff::ffff:ffff", "Mlid....................0xC000"}},
	{run: "saquery MCMR", has: []string{"MGID....................ff12:401b:ffff::ffff:ffff"}},
	{run: "saquery -s", golden: "saquery_s.txt", how: asFields},
	{run: "saquery -c", golden: "saquery_c.txt", how: asFields},
	{run: "saquery SMIR", golden: "saquery_smir.txt"},
	{run: "saquery PKTR 1/1/0", status: 5, has: []string{"Query result returned 0x0200"}},
	{run: "saquery NR", has: []string{"NodeDescription.........H1", "NodeDescription.........S2", "NodeDescription.........H8"}},
	{run: "saquery PIR", has: []string{"EndPortLid..............12"}},
	{run: "saquery LR", has: []string{"FromLID....................12"}},
	{run: "saquery LFTR", has: []string{"LID........................2"}},
	{run: "saquery GIR", has: []string{"0x0000000000100001"}},
	{run: "saquery SL2VL", has: []string{"SL2VL"}},
	{run: "saquery VLAR", has: []string{"VLArb"}},
	{run: "saquery -x", has: []string{"FromLID"}},
	{run: "saquery -N", has: []string{"NodeRecord dump"}},
	{run: "saquery -p", has: []string{"PathRecord dump"}},
	{run: "vendstat -N 2", status: -1}, // answered by no device but a vendor's own
	{run: "ibccquery CongestionInfo 2", has: []string{"# CongestionInfo: Lid 2", "ControlTableCap:"}},
	{run: "ibccquery SwitchCongestionSetting 2", has: []string{"Threshold:", "Marking_Rate:"}},
	{run: "ibportstate 2 2 disable", has: []string{"After PortInfo set:", "PhysLinkState:...................Disabled"}},
	{run: "ibportstate 2 2 query", has: []string{"LinkState:.......................Down", "PhysLinkState:...................Disabled"}},
	{run: "iblinkinfo", has: []string{"Down/Disabled"}},
	{run: "ibportstate 2 2 enable", has: []string{"After PortInfo set:", "PhysLinkState:...................Polling"}},
	{run: "H3: ibportstate 2 2 query", has: []string{"PhysLinkState:...................LinkUp"}, until: true},
	{run: "ibportstate 2 2 speed 1", has: []string{"After PortInfo set:", "LinkSpeedEnabled:................2.5 Gbps"}},
	{run: "ibportstate 2 2 width 1", has: []string{"After PortInfo set:", "LinkWidthEnabled:................1X\n"}},
	{run: "ibportstate 2 2 reset"},
	{run: "H3: ibportstate 2 2 query", has: []string{"LinkState:.......................Active", "LinkWidthActive:.................1X"}, until: true},
	{run: "ibqueryerrors", status: 1, has: []string{"LinkDownedCounter == 2", "12 nodes checked"}},
	{run: "perfquery -R 2 2"},
}

// TestIBTools runs the programs of infiniband-diags, unmodified, on the fabric
// of two leaves, two spines and eight hosts, and compares what they print with
// what they print elsewhere.
func TestIBTools(t *testing.T) {
	l := upGolden(t, "e2e-ibtools", "--sm", "none")
	for _, x := range initTools {
		x.check(l)
	}
	l.opensm("H1", "minhop")
	for _, x := range smTools {
		x.check(l)
	}
}

// upGolden brings up what ibnetdiscover printed of the fabric.
func upGolden(t *testing.T, name string, args ...string) *lab {
	t.Helper()
	simtest.Root(t)
	simtest.Need(t, "opensm")
	simtest.Need(t, "ibnetdiscover")
	l := &lab{t: t, name: name, file: filepath.Join(t.TempDir(), name+".ibnet")}
	if err := os.WriteFile(l.file, []byte(golden(t, "ibnetdiscover.txt")), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := exec.Command(cnuasBin, "down", name).CombinedOutput(); err != nil && !strings.Contains(string(out), "not up") {
			t.Errorf("down: %v\n%s", err, out)
		}
	})
	l.cnuas(append([]string{"up", l.file}, args...)...)
	return l
}

// opensm starts stock opensm in a node and waits until it has brought the
// subnet up.
func (l *lab) opensm(node, engine string) *job {
	l.t.Helper()
	dir := l.t.TempDir()
	c := exec.Command(cnuasBin, "exec", node, "--", "opensm", "-R", engine+",no_fallback", "-D", "0x43", "-f", filepath.Join(dir, "log"), "-Q")
	if engine == "minhop" || engine == "updn" || engine == "ftree" {
		c.Args = c.Args[:len(c.Args)-1] // without QoS, as in the expectations
	}
	c.Env = append(os.Environ(), "OSM_CACHE_DIR="+dir, "OSM_TMP_DIR="+dir)
	j := l.startCmd(c)
	// Its log is written in blocks; what the ports say is more to the point.
	l.awaitActive("H1", "H2", "H3", "H4", "H5", "H6", "H7", "H8")
	return j
}

func (x *tool) check(l *lab) {
	l.t.Run(strings.ReplaceAll(x.run, " ", "_"), func(t *testing.T) {
		got, wrong := x.try(l)
		for end := time.Now().Add(20 * time.Second); wrong != "" && x.until && time.Now().Before(end); {
			got, wrong = x.try(l)
		}
		if wrong != "" {
			t.Errorf("%s: %s; it printed\n%s", x.run, wrong, got)
		}
	})
}

// try runs the program once and says what is wrong with its output.
func (x *tool) try(l *lab) (got, wrong string) {
	node, run, ok := strings.Cut(x.run, ": ")
	if !ok {
		node, run = "H1", x.run
	}
	c := exec.Command(cnuasBin, append([]string{"exec", node, "--"}, strings.Fields(run)...)...)
	var both lockedBuffer
	c.Stdout, c.Stderr = &both, &both
	err := runFor(c, time.Minute)
	got = both.String()
	if status := c.ProcessState.ExitCode(); x.status >= 0 && status != x.status || x.status < 0 && status == 0 {
		return got, fmt.Sprintf("status %d (%v)", status, err)
	}
	if x.golden != "" {
		if want := golden(l.t, x.golden); !matches(x.how, got, want) {
			return normalise(got), "expected\n" + normalise(want) + "\n"
		}
	}
	for _, s := range x.has {
		if !strings.Contains(got, s) {
			return got, fmt.Sprintf("lacks %q", s)
		}
	}
	return got, ""
}

// TestIBOpensmEngines: stock opensm with each of its engines brings the fabric
// up, and where it made the same tables elsewhere they are equal.
func TestIBOpensmEngines(t *testing.T) {
	for _, engine := range []string{"minhop", "updn", "ftree", "lash", "dfsssp"} {
		t.Run(engine, func(t *testing.T) {
			l := upGolden(t, "e2e-ibengine", "--sm", "none", "--no-ipoib")
			l.opensm("H1", engine)
			got := l.cnuas("exec", "H1", "--", "dump_lfts")
			if engine == "lash" || engine == "dfsssp" {
				if n := strings.Count(got, "valid lids dumped"); n != 4 {
					t.Errorf("tables of %d switches:\n%s", n, got)
				}
				return
			}
			if want := golden(t, "routing_"+engine+"/dump_lfts.txt"); !matches(asRecords, got, want) {
				t.Errorf("tables\n%s\nexpected\n%s", got, want)
			}
		})
	}
}
