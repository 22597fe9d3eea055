//go:build lab

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"cnuas/internal/simtest"
)

// The tests with the build tag "lab" run fabrics in the lab VM, whose kernel
// has rdma_rxe. QEMU emulates its processor where KVM cannot be used, so
// everything is many times slower there and the tests assert no rates.

// labFabric has every stack and two MTUs on one switch.
const labFabric = `
[defaults]
link = { rate = "10Gbps" }
[[node]]
name = "cvr1"
stack = "rxe"
[[node]]
name = "cvr2"
stack = "rxe"
[[node]]
name = "cvs1"
[[node]]
name = "cvr3"
stack = "rxe"
mtu = 1500
[[node]]
name = "cvs2"
mtu = 1500
[[node]]
name = "cvw1"
stack = "siw"
[[node]]
name = "cvw2"
stack = "siw"
[[node]]
name = "cvn1"
stack = "none"
[[switch]]
name = "cvs"
`

// labNodes are the nodes in the order of the file; the address is 10.0.0.N.
var labNodes = []string{"cvr1", "cvr2", "cvs1", "cvr3", "cvs2", "cvw1", "cvw2", "cvn1"}

func addrOf(node string) string {
	for i, n := range labNodes {
		if n == node {
			return fmt.Sprintf("10.0.0.%d", i+1)
		}
	}
	return ""
}

// upLab brings a fabric up in a lab VM.
func upLab(t *testing.T, name, toml string) *lab {
	t.Helper()
	simtest.Need(t, "qemu-system-x86_64")
	began := time.Now()
	// Self-contained: programs start several times faster than over 9p.
	l := up(t, name, toml, "--vm", "--self-contained", "--with", "touch")
	t.Logf("up in %.1f s", time.Since(began).Seconds())
	return l
}

// inVM runs a shell script inside the VM of the fabric.
func (l *lab) inVM(script string) (string, error) {
	return l.try("vm", "run", "--fabric", l.name, "--", "sh", "-c", script)
}

// pairScript starts a server in one node and, once it listens, the client in
// another; both outputs follow. A program that hangs is ended.
const pairScript = `
server=$1 client=$2 port=$3 addr=$4 as_client=$5; shift 5
d=$(mktemp -d)
cnuas exec $server -- timeout 60 "$@" $SERVER_ARGS >$d/server 2>&1 & pid=$!
i=0; until ip netns exec $server ss -Hltn "sport = :$port" | grep -q . || [ "$port" = 0 ]; do
	i=$((i+1)); [ $i -lt 400 ] || { echo "the server does not listen:"; cat $d/server; exit 99; }
	kill -0 $pid 2>/dev/null || { echo "the server ended:"; cat $d/server; exit 98; }
	sleep 0.02
done
[ "$port" != 0 ] || sleep 1 # rdma_cm listens where ss does not show it
cnuas exec $client -- timeout 60 "$@" $CLIENT_ARGS $addr >$d/client 2>&1; c=$?
wait $pid; s=$?
echo "client: $c"; cat $d/client; echo "server: $s"; cat $d/server
rm -r $d
[ $c = 0 ] && [ $s = 0 ]
`

// labPair runs a program between two nodes and returns what both printed. Port
// 0 stands for a server by rdma_cm.
func (l *lab) labPair(server, client string, port int, serverArgs, clientArgs string, argv ...string) string {
	l.t.Helper()
	args := []string{"vm", "run", "--fabric", l.name, "--", "env", "SERVER_ARGS=" + serverArgs, "CLIENT_ARGS=" + clientArgs,
		"sh", "-c", pairScript, "pair", server, client, fmt.Sprint(port), addrOf(server), ""}
	if port == 0 && clientArgs != "" {
		args[len(args)-2] = "" // the address is among the client's arguments
	}
	began := time.Now()
	out, err := l.try(append(args, argv...)...)
	if err != nil {
		l.t.Fatalf("%s -> %s %v: %v\n%s", client, server, argv, err, out)
	}
	l.t.Logf("%s: %.1f s", argv[0], time.Since(began).Seconds())
	return out
}

// TestLab is the one fabric that the other tests of the lab VM share: booting
// it takes most of their time.
func TestLab(t *testing.T) {
	simtest.Need(t, "rping")
	simtest.Need(t, "udaddy")
	toml := labFabric
	for i, n := range labNodes {
		toml += fmt.Sprintf("[[link]]\na = %q\nb = \"cvs:%d\"\n", n+":eth0", i+1)
	}
	l := upLab(t, "e2e-lab", toml)
	sub := func(name string, f func(t *testing.T, l *lab)) {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			f(t, &lab{t: t, name: l.name, file: l.file})
			t.Logf("%.1f s", time.Since(began).Seconds())
		})
	}
	sub("view", testLabView)
	sub("rxe", testLabRXE)
	sub("capture", testLabCapture)
	sub("soft and rxe", testLabMatrix)
	sub("soft and rxe with loss", testLabLoss)
	sub("siw", testLabSIW)
	sub("everybody", testLabPings)
	sub("commands", testLabCommands)
}

// testLabView: a program sees its own node's devices and nothing else.
func testLabView(t *testing.T, l *lab) {
	for node, dev := range map[string]string{"cvr1": "rxe0_cvr1", "cvw2": "siw0_cvw2", "cvs1": "rxe0", "cvn1": ""} {
		out := l.cnuas("exec", node, "--", "sh", "-c", "ibv_devices | tail -n +3; ls /sys/class/infiniband /dev/infiniband 2>/dev/null")
		n := 0
		for _, line := range strings.Split(out, "\n") {
			if f := strings.Fields(line); len(f) == 2 {
				n++
				if f[0] != dev {
					t.Errorf("%s sees %s", node, f[0])
				}
			}
		}
		if want := map[bool]int{true: 0, false: 1}[dev == ""]; n != want {
			t.Errorf("%s has %d devices, want %d:\n%s", node, n, want, out)
		}
		if k := strings.Count(out, "uverbs"); k != n {
			t.Errorf("%s has %d device files, want %d:\n%s", node, k, n, out)
		}
	}
}

// perftestArgs are the options of a short run: under emulation the default
// timeout of 67 ms would retransmit.
var perftestArgs = []string{"-F", "-x", "1", "-u", "19"}

// testLabRXE: the kernel's stack to itself through our switch.
func testLabRXE(t *testing.T, l *lab) {
	l.labPair("cvr1", "cvr2", 18515, "", "", "ibv_rc_pingpong", "-g", "1", "-n", "100")
	l.labPair("cvr1", "cvr2", 18515, "", "", "ib_write_bw", "-F", "-u", "19", "-n", "200") // bare: no device named
	l.labPair("cvr1", "cvr2", 18515, "", "", append([]string{"ib_read_bw", "-n", "100"}, perftestArgs...)...)
	l.labPair("cvr1", "cvr2", 18515, "", "", append([]string{"ib_atomic_bw", "-n", "100"}, perftestArgs...)...)
	l.labPair("cvr1", "cvr2", 0, "", "", "ib_send_bw", "-R", "-F", "-n", "200")
	l.labPair("cvr1", "cvr2", 0, "-s", "-c", "rping", "-a", addrOf("cvr1"), "-C", "10", "-v")
	l.labPair("cvr1", "cvr2", 0, "", "-s "+addrOf("cvr1"), "udaddy", "-C", "5")
}

// testLabCapture: tcpdump in the namespace, our capture at the switch, and the
// invariant CRC of every frame.
func testLabCapture(t *testing.T, l *lab) {
	file := t.TempDir() + "/rxe.pcapng"
	c := l.startCmd(exec.Command(cnuasBin, "capture", "cvs:1", "-w", file))
	eventually(t, 20*time.Second, "the capture has begun", func() bool { return strings.Contains(c.out.String(), "capturing") })
	out, err := l.inVM(`ip netns exec cvr1 timeout 40 tcpdump -c 20 -lnni eth0 udp port 4791 >/tmp/dump 2>&1 & d=$!
until grep -q listening /tmp/dump; do kill -0 $d || { cat /tmp/dump; exit 1; }; sleep 0.05; done
cnuas exec cvr1 -- timeout 60 ib_write_bw -F -u 19 -n 150 >/tmp/server 2>&1 & s=$!
until ip netns exec cvr1 ss -Hltn | grep -q 18515; do kill -0 $s || { cat /tmp/server; exit 1; }; sleep 0.02; done
cnuas exec cvr2 -- timeout 60 ib_write_bw -F -u 19 -n 150 ` + addrOf("cvr1") + `; c=$?
wait $s $d; cat /tmp/dump; exit $c`)
	if err != nil || strings.Count(out, ".4791: UDP") < 20 {
		t.Errorf("tcpdump in the namespace: %v\n%s", err, out)
	}
	c.cmd.Process.Signal(os.Interrupt)
	if err := c.wait(t, 20*time.Second); err != nil {
		t.Errorf("capture: %v\n%s", err, c.out.String())
	}
	checkICRC(t, file)
	if out, err := exec.Command(simtest.Need(t, "tshark"), "-r", file, "-Y", "infiniband && ip.dsfield == 0x6a").CombinedOutput(); err != nil || !strings.Contains(string(out), "RRoCE") {
		t.Errorf("no frame with DSCP 26 and ECT(0), which the NIC sets: %v\n%s", err, out)
	}
}

// labTests are the programs of the interoperability matrix.
var labTests = []string{"ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_write_lat", "ib_read_lat", "ib_send_lat", "ib_atomic_bw", "ibv_rc_pingpong"}

func testLabMatrix(t *testing.T, l *lab) { l.matrix() }

// serverScript and clientScript run a list of commands, one per line, the first
// as servers and the second as their clients: each pair after the other. They
// are one program per node for the whole list, because starting programs is
// what takes long on an emulated processor.
const serverScript = `i=0
while read -r cmd; do
	i=$((i+1))
	timeout 60 $cmd >$DIR/server.$i 2>&1 & pid=$!
	until ss -Hltn "sport = :18515" | grep -q . || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
	touch $DIR/ready.$i
	wait $pid; echo "status $?" >>$DIR/server.$i
	until [ -e $DIR/done.$i ]; do sleep 0.02; done
done <$DIR/list`

const clientScript = `i=0
while read -r cmd; do
	i=$((i+1))
	until [ -e $DIR/ready.$i ]; do sleep 0.02; done
	timeout 60 $cmd $ADDR >$DIR/client.$i 2>&1; echo "status $?" >>$DIR/client.$i
	touch $DIR/done.$i
done <$DIR/list`

const seriesScript = `set -e
export DIR=$(mktemp -d) ADDR=$3
cat >$DIR/list
cnuas exec $1 -- sh -c "$SERVER" </dev/null & pid=$!
cnuas exec $2 -- sh -c "$CLIENT" </dev/null
wait $pid
i=0; while read -r cmd; do i=$((i+1)); echo "=== $cmd"; cat $DIR/client.$i; echo "--- server"; cat $DIR/server.$i; done <$DIR/list
rm -r $DIR`

// series runs pairs of programs, one pair after the other, and returns what
// each printed.
func (l *lab) series(server, client string, cmds []string) []string {
	l.t.Helper()
	var out, errs bytes.Buffer
	c := exec.Command(cnuasBin, "vm", "run", "--fabric", l.name, "--", "env", "SERVER="+serverScript, "CLIENT="+clientScript,
		"sh", "-c", seriesScript, "series", server, client, addrOf(server))
	c.Stdin = strings.NewReader(strings.Join(cmds, "\n") + "\n")
	c.Stdout, c.Stderr = &out, &errs
	if err := runFor(c, 4*time.Minute); err != nil {
		l.t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
	}
	parts := strings.Split(out.String(), "=== ")
	if len(parts) != len(cmds)+1 {
		l.t.Fatalf("%d results of %d programs:\n%s", len(parts)-1, len(cmds), out.String())
	}
	return parts[1:]
}

// matrix runs every program between our HCA and the kernel's, in both
// directions and with both MTUs.
func (l *lab) matrix() {
	for _, p := range []struct{ soft, rxe, mtu string }{{"cvs1", "cvr1", "4096"}, {"cvs2", "cvr3", "1024"}} {
		var cmds []string
		for _, prog := range labTests {
			argv := append([]string{prog, "-n", "40"}, perftestArgs...)
			if prog == "ibv_rc_pingpong" {
				argv = []string{prog, "-n", "40", "-g", "1", "-m", p.mtu}
			}
			cmds = append(cmds, strings.Join(argv, " "))
		}
		for _, dir := range [][2]string{{p.soft, p.rxe}, {p.rxe, p.soft}} {
			began := time.Now()
			for i, out := range l.series(dir[0], dir[1], cmds) {
				l.t.Run(fmt.Sprintf("%s to %s, %s", dir[1], dir[0], labTests[i]), func(t *testing.T) {
					if strings.Count(out, "status 0\n") != 2 {
						t.Errorf("failed:\n%s", out)
					}
					if strings.HasPrefix(labTests[i], "ib_") && !strings.Contains(out, "Mtu             : "+p.mtu) {
						t.Errorf("the path MTU is not %s:\n%s", p.mtu, out)
					}
				})
			}
			l.t.Logf("%s to %s: %.1f s", dir[1], dir[0], time.Since(began).Seconds())
		}
	}
}

// testLabLoss is the matrix with one frame in a thousand lost each way.
func testLabLoss(t *testing.T, l *lab) {
	for _, n := range []string{"cvs1", "cvr1", "cvs2", "cvr3"} {
		l.cnuas("fault", "loss", n+":eth0", "1e-3", "--fabric", l.name)
	}
	before := lost(l)
	l.matrix()
	l.cnuas("fault", "clear", "--fabric", l.name)
	if n := lost(l) - before; n == 0 {
		t.Error("no frame was lost: the loss was not injected")
	} else {
		t.Logf("%d frames were lost", n)
	}
}

func lost(l *lab) (n uint64) {
	s := l.status()
	for i := range s.Nodes {
		for j := range s.Nodes[i].Interfaces {
			n += s.Nodes[i].Interfaces[j].Drops["injected_loss"]
		}
	}
	return n
}

// testLabSIW: iWARP of the kernel over our switch.
func testLabSIW(t *testing.T, l *lab) {
	l.labPair("cvw1", "cvw2", 0, "-s", "-c", "rping", "-a", addrOf("cvw1"), "-C", "10", "-v")
	l.labPair("cvw1", "cvw2", 0, "", "", "ib_write_bw", "-R", "-F", "-n", "100")
}

// testLabPings: nodes of all stacks reach each other's kernels.
func testLabPings(t *testing.T, l *lab) {
	var all []string
	for _, n := range labNodes {
		all = append(all, addrOf(n))
	}
	out, err := l.inVM("for n in " + strings.Join(labNodes, " ") + "; do for a in " + strings.Join(all, " ") +
		"; do ip netns exec $n ping -nqc1 -W5 $a >/dev/null || echo $n does not reach $a; done; done")
	if err != nil || out != "" {
		t.Errorf("%v\n%s", err, out)
	}
}
