package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cnuas/internal/host"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// cmd runs the command line in a world without fabrics.
func cmd(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	host.RunDir = t.TempDir()
	var o, e bytes.Buffer
	status = Main(args, os.Stdin, &o, &e)
	return status, o.String(), e.String()
}

func TestHelpIsGolden(t *testing.T) {
	status, out, _ := cmd(t, "help")
	path := filepath.Join("testdata", "help.golden")
	if *update {
		if err := os.WriteFile(path, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if out != string(want) || status != exitOK {
		t.Errorf("status %d\n%s\nwant\n%s", status, out, want)
	}
}

func TestBadArguments(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.toml")
	if err := os.WriteFile(bad, []byte("name = \"x\"\n[[node]]\nnam = \"h1\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	parts := filepath.Join(t.TempDir(), "parts.toml")
	if err := os.WriteFile(parts, []byte(badPartitions), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"", exitUsage, "cnuas up FILE|NAME"},
		{"dance", exitUsage, `no command "dance"`},
		{"up", exitUsage, "name one topology file"},
		{"up a b", exitUsage, "name one topology file"},
		{"up no-such-topology", exitFailed, "no-such-topology"},
		{"up " + bad, exitFailed, "bad.toml:3"},
		{"up --scale", exitUsage, "scale"},
		{"down", exitFailed, "no fabric is up"},
		{"down x", exitFailed, "fabric x is not up"},
		{"down x --all", exitUsage, "one name, or --all"},
		{"status x", exitFailed, "fabric x is not up"},
		{"status ../x", exitFailed, "cannot be the name"},
		{"status a b", exitUsage, "one fabric at a time"},
		{"exec", exitExecErr, "name a node and a program"},
		{"exec h1", exitExecErr, "name a node and a program"},
		{"exec h1 --", exitExecErr, "name a node and a program"},
		{"exec h1 -- true", exitExecErr, `no fabric that is up has a node "h1"`},
		{"capture", exitUsage, "name at least one port"},
		{"capture s1:1", exitUsage, "-w FILE"},
		{"capture s1:1 -w -", exitFailed, "no fabric is up"},
		{"fault", exitUsage, "cnuas fault link PORT down|up"},
		{"fault link s1:1 sideways", exitUsage, "is not understood"},
		{"fault loss s1:1 2", exitUsage, "not a share between 0 and 1"},
		{"fault loss s1:1 120%", exitUsage, "not a share between 0 and 1"},
		{"fault storm h1:eth0 --priority 8", exitUsage, "not a priority from 0 to 7"},
		{"fault storm h1:eth0 --duty x", exitUsage, "not a share"},
		{"fault storm h1:eth0 --for -1s", exitUsage, "such as"},
		{"fault storm h1:eth0 --for 5", exitUsage, "such as"},
		{"fault link h1:eth0 down --for 1s", exitUsage, "a storm can last"},
		{"fault mute h1:ib0 loud", exitUsage, "is not understood"},
		{"fault clear", exitFailed, "no fabric is up"},
		{"up two-hosts --sm none", exitUsage, "has no InfiniBand port"},
		{"up rack --vm", exitFailed, "would be inside of the lab VM"},
		{"export", exitUsage, "name one topology file"},
		{"export two-hosts", exitFailed, "has no InfiniBand part"},
		{"show", exitUsage, "name at least one port"},
		{"show s1:1", exitFailed, "no fabric is up"},
		{"sm", exitUsage, "cnuas sm start NODE"},
		{"sm start", exitUsage, "is not understood"},
		{"sm stop h1 h2", exitUsage, "is not understood"},
		{"sm start h1 --priority 16", exitUsage, "use 0 to 15"},
		{"sm start h1 --lmc -1", exitUsage, "use 0 to 7"},
		{"sm start h1 --max-smps 257", exitUsage, "use 0 to 256"},
		{"sm start h1 --sweep 1us", exitUsage, "use 1ms or more"},
		{"sm start h1 --partitions /no/such", exitFailed, "no such file"},
		{"sm stop h1 --engine updn", exitUsage, "--engine does not go with sm stop"},
		{"sm start h1 --json", exitUsage, "--json does not go with sm start"},
		{"sm status", exitFailed, "no fabric is up"},
		{"bmc", exitUsage, "cnuas bmc up"},
		{"bmc dance", exitUsage, "is not understood"},
		{"bmc up now", exitUsage, "is not understood"},
		{"bmc down --image x", exitUsage, "--image does not go with bmc down"},
		{"bmc fetch --fabric x", exitUsage, "--fabric does not go with bmc fetch"},
		{"bmc exec", exitUsage, "name a command"},
		{"bmc up -- ls", exitUsage, "is not understood"},
		{"bmc exec -- ls --image", exitExecErr, "no fabric is up"},
		{"bmc unplug one", exitUsage, "write 1, 2 or 3"},
		{"bmc replug 0", exitUsage, "write 1, 2 or 3"},
		{"bmc status", exitFailed, "cnuas up rack"},
		{"bmc up -h", exitOK, "usage: cnuas bmc up [--image FILE] [--machine NAME]\n  -fabric"},
		{"rack clear -h", exitOK, "usage: cnuas rack clear SEGMENT\n  -fabric"},
		{"rack -h", exitOK, "  cnuas rack clear SEGMENT\n"},
		{"help rack unplug", exitOK, "usage: cnuas rack unplug SHELF/SLOT | plug SHELF/SLOT\n"},
		{"help dance", exitUsage, `no command "dance"`},
		{"bmc up --image /no/image", exitFailed, "no fabric is up"},
		{"bmc console", exitFailed, "no fabric is up"},
		{"rack", exitUsage, "cnuas rack tty"},
		{"rack dance", exitUsage, "is not understood"},
		{"rack status x", exitUsage, "is not understood"},
		{"rack status", exitFailed, "no fabric is up"},
		{"rack tty bus0", exitFailed, "no fabric is up"},
		{"rack tty --json", exitUsage, "--json does not go with rack tty"},
		{"rack show shelf1", exitFailed, "cnuas up rack"},
		{"rack show shelf1/", exitUsage, "write SHELF/SLOT"},
		{"rack show /psu1", exitUsage, "write SHELF/SLOT"},
		{"rack show", exitUsage, "write cnuas rack show SHELF/SLOT [--json]\n"},
		{"rack set shelf1/psu1", exitUsage, "is not understood"},
		{"rack set shelf1/psu1 fan_fault", exitUsage, "write NAME=VALUE"},
		{"rack set shelf1/psu1 =1", exitUsage, "write NAME=VALUE"},
		{"rack ac-loss shelf1 --phase 4", exitUsage, "use 1 to 3"},
		{"rack unplug shelf1/psu1 --phase 1", exitUsage, "--phase does not go with rack unplug"},
		{"rack load h1 much", exitUsage, "write it as 600W"},
		{"rack load h1", exitUsage, "is not understood"},
		{"rack fault bus0", exitUsage, "is not understood"},
		{"rack fault bus0 mud", exitUsage, "use one of noise"},
		{"rack fault bus0 drop --share 0", exitUsage, "a share above 0"},
		{"rack fault bus0 late --delay -1s", exitUsage, "are times above 0"},
		{"rack fault bus0 noise --burst 1s --every 10ms", exitUsage, "are times above 0"},
		{"rack fault bus0 wrong-crc --burst 1s", exitUsage, "--burst does not go with the fault wrong-crc, which takes --share, --slave, --for"},
		{"rack fault bus0 noise --share 1%", exitUsage, "--share does not go with the fault noise"},
		{"rack fault bus0 noise --slave shelf1/psu1", exitUsage, "--slave does not go with the fault noise"},
		{"rack fault bus0 drop --share 200%", exitUsage, "above 0 and up to 1"},
		{"rack fault bus0 silent --slave psu1", exitUsage, "write SHELF/SLOT"},
		{"rack clear", exitUsage, "is not understood"},
		{"rack capture bus0", exitUsage, "-w FILE"},
		{"rack capture bus0 -w - --duration -1s", exitUsage, "a time above 0"},
		{"capture s1:1 -w - --duration -1s", exitUsage, "a time above 0"},
		{"rack capture bus0 -w -", exitFailed, "no fabric is up"},
		{"rack probe", exitUsage, "is not understood"},
		{"rack probe /no/such/tty", exitFailed, "no such file"},
		{"rack probe /dev/null --baud fast", exitUsage, "use rates"},
		{"rack probe /dev/null --baud 9600 --parity mark", exitUsage, "use even, odd or none"},
		{"rack probe /dev/null --parity none", exitUsage, "goes with --baud only"},
		{"rack probe /dev/null --stop 2", exitUsage, "goes with --baud only"},
		{"rack probe /dev/null --count 3", exitUsage, "goes with --register only"},
		{"rack probe /dev/null --address 0", exitUsage, "numbers of 1 to 255"},
		{"rack probe /dev/null --address 5-4", exitUsage, "numbers of 1 to 255"},
		{"rack probe /dev/null --address 256", exitUsage, "numbers of 1 to 255"},
		{"rack probe /dev/null --register 5 --count 126", exitUsage, "use 1 to 125"},
		{"rack probe /dev/null --register 65535 --count 8", exitUsage, "use 0 to 65528"},
		{"rack probe /dev/null --register 5", exitUsage, "of which slave"},
		{"rack probe /dev/null --all --address 5", exitUsage, "use one of them"},
		{"rack probe /dev/null --baud 9600 --stop 3", exitUsage, "use 1 or 2"},
		{"rack probe /dev/null --timeout 0s", exitUsage, "a time above 0"},
		{"rack probe /dev/null --fabric x", exitUsage, "--fabric does not go with rack probe"},
		{"lint", exitUsage, "name a topology file"},
		{"lint " + bad, exitFailed, "1 of 1 files cannot be used"},
		{"lint " + parts, exitFailed, "1 of 1 files cannot be used"},
		{"topologies nowhere", exitFailed, "cnuas topologies lists them"},
		{"version x", exitUsage, "takes no arguments"},
		{"daemon", exitUsage, "started by cnuas up"},
	} {
		status, _, errs := cmd(t, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(errs, c.want) {
			t.Errorf("cnuas %s: status %d, said %q; want %d and %q", c.args, status, errs, c.status, c.want)
		}
	}
}

// badPartitions is a topology whose only mistake is in the partitions' text.
const badPartitions = `
[[node]]
name = "h1"
[[node]]
name = "h2"
[[link]]
a = "h1:ib0"
b = "h2:ib0"
[sm]
node = "h2"
partitions = "Default=0x7fff: ALL=foo; A=0x10000: ALL;"
`

// TestLintPartitions: what up would refuse, lint does too, and says where.
func TestLintPartitions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "parts.toml")
	if err := os.WriteFile(file, []byte(badPartitions), 0o644); err != nil {
		t.Fatal(err)
	}
	_, out, _ := cmd(t, "lint", file)
	for _, want := range []string{file + ": sm.partitions of h2:ib0: line 1: ", `not "foo"`, "P_Key=0x10000"} {
		if !strings.Contains(out, want) || strings.Contains(out, "ok:") {
			t.Errorf("lint said %q, want %q", out, want)
		}
	}
}

func TestGoodArguments(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"lint two-hosts", "fabric two-hosts with 2 nodes, 1 switch, 2 links"},
		{"lint leaf-spine-16 incast-8", "fabric incast-8 with 8 nodes"},
		{"topologies", "two-hosts\n"},
		{"export ib-fat-tree", "\"S-02000b0100000100\"[5]\t\t# \"leaf1\" lid 0 4xSDR"},
		{"topologies two-hosts", "name = \"two-hosts\""},
		{"status", "no fabric is up"},
		{"status --json", "[]"},
		{"down --all", "nothing is up"},
		{"version", "cnuas "},
	} {
		status, out, errs := cmd(t, strings.Fields(c.args)...)
		if status != exitOK || !strings.Contains(out, c.want) {
			t.Errorf("cnuas %s: status %d, %q %q; want %q", c.args, status, out, errs, c.want)
		}
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	for name, want := range map[string]string{"fault": "cnuas fault mute PORT on|off", "sm": "cnuas sm sweep [NODE[:PORT]]"} {
		if _, _, errs := cmd(t, name, "-h"); !strings.Contains(errs, want) {
			t.Errorf("cnuas %s -h does not say %q", name, want)
		}
	}
	for _, c := range commands() {
		if status, _, errs := cmd(t, c.name, "-h"); status != exitOK || !strings.Contains(errs, "usage: cnuas "+c.name) {
			t.Errorf("cnuas %s -h: status %d, %q", c.name, status, errs)
		}
	}
}

func TestFraction(t *testing.T) {
	for in, want := range map[string]float64{"0": 0, "1": 1, "1e-3": .001, "0.1%": .001, "100%": 1, "30%": .3} {
		if got, err := fraction(in); err != nil || got != want {
			t.Errorf("fraction(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "%", "-1", "1.5", "101%", "nan", "inf", "1 2", "0x", "1e-3x"} {
		if got, err := fraction(in); err == nil {
			t.Errorf("fraction(%q) = %v", in, got)
		}
	}
}

func TestSplitPorts(t *testing.T) {
	for in, want := range map[string]string{
		"s1:1":                             "[s1:1]",
		"s1:1 h2:eth0 udp port 4791":       "[s1:1 h2:eth0]udp port 4791",
		"s1:1 ether proto 0x8808":          "[s1:1]ether proto 0x8808",
		"udp port 4791":                    "[]udp port 4791",
		"s1:1 host fe80::1 and udp":        "[s1:1]host fe80::1 and udp",
		"h1:eth0 s1:2 (udp or tcp) and ip": "[h1:eth0 s1:2](udp or tcp) and ip",
	} {
		ports, filter := splitPorts(strings.Fields(in))
		if got := "[" + strings.Join(ports, " ") + "]" + filter; got != want {
			t.Errorf("splitPorts(%q) = %s, want %s", in, got, want)
		}
	}
}

// A fabric that is coming up has a daemon, but no socket yet: in a lab VM that
// takes long enough for users to ask.
func TestComingUp(t *testing.T) {
	host.RunDir = t.TempDir()
	j, err := host.OpenJournal("slow")
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var o, e bytes.Buffer
	if s := Main([]string{"status", "slow"}, os.Stdin, &o, &e); s != exitFailed || !strings.Contains(e.String(), "coming up") {
		t.Errorf("status %d, %q", s, e.String())
	}
}

// TestStatusOfPrograms: one that happens to be that of wrong usage says nothing
// of our usage.
func TestStatusOfPrograms(t *testing.T) {
	for _, c := range commands() {
		var errs bytes.Buffer
		a := &app{err: &errs}
		if st := a.finish(c, programError(exitUsage, nil)); st != exitUsage || errs.Len() > 0 {
			t.Errorf("%s: %d, %q", c.name, st, errs.String())
		}
	}
}
