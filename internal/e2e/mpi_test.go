//go:build conformance

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"cnuas/internal/simtest"
)

// requests is how many requests each node's devices have sent over reliable
// connections, and datagrams over UD.
func requests(l *lab) (requests, datagrams []uint64) {
	l.t.Helper()
	for _, n := range l.status().Nodes {
		var r, d uint64
		for _, i := range n.Interfaces {
			if i.RDMA != nil {
				r += i.RDMA.Counters["tx_requests"]
				d += i.RDMA.Counters["tx_datagrams"]
			}
		}
		for _, i := range n.IBPorts {
			r += i.RDMA.Counters["tx_requests"]
			d += i.RDMA.Counters["tx_datagrams"]
		}
		requests, datagrams = append(requests, r), append(datagrams, d)
	}
	return requests, datagrams
}

// TestUCX runs ucx_perftest over UCX's verbs transports.
func TestUCX(t *testing.T) {
	simtest.Need(t, "ucx_perftest", "ucx_info")
	l := up(t, "e2e-ucx", star("cu", 2, "10Gbps", ""))
	if out := l.cnuas("exec", "cu1", "--", "ucx_info", "-d"); !strings.Contains(out, "rc_verbs") || !strings.Contains(out, "ud_verbs") {
		t.Fatalf("UCX finds no verbs transports:\n%s", out)
	}
	for _, c := range []struct{ tls, args string }{
		{"ud_v", "-t tag_lat -n 300"},
		{"ud_v", "-t tag_bw -s 100000 -n 100"},
		{"rc_v,ud_v", "-t tag_lat -n 300"},
		{"rc_v,ud_v", "-t tag_bw -s 1000000 -n 50"},
		{"rc_v,ud_v", "-t stream_bw -s 4096 -n 500"},
		{"rc_v,ud_v", "-t ucp_put_bw -s 65536 -n 500"},
		{"rc_v,ud_v", "-t ucp_get -s 4096 -n 200"},
		{"rc_v,ud_v", "-t ucp_fadd -n 100"},
		{"rc_v,ud_v", "-t ucp_cswap -n 100"},
	} {
		t.Run(c.tls+" "+c.args, func(t *testing.T) {
			l := &lab{t: t, name: l.name}
			env := []string{"env", "UCX_TLS=" + c.tls, "UCX_NET_DEVICES=rxe0:1", "UCX_WARN_UNUSED_ENV_VARS=n", "ucx_perftest"}
			r0, d0 := requests(l)
			s := l.start("cu2", env...)
			l.listening("cu2", "13337")
			j := l.start("cu1", append(append(env, strings.Fields(c.args)...), "10.0.0.2")...)
			if err := j.wait(t, time.Minute); err != nil || !strings.Contains(j.out.String(), "Final:") {
				t.Fatalf("client: %v\n%s\nserver:\n%s", err, j.out.String(), s.out.String())
			}
			s.wait(t, 10*time.Second)
			r1, d1 := requests(l)
			if strings.HasPrefix(c.tls, "rc") && r1[0] == r0[0] {
				t.Error("nothing went over a reliable connection")
			}
			if d1[0] == d0[0] || d1[1] == d0[1] {
				t.Error("UCX's endpoints were not wired up over datagrams")
			}
		})
	}
	for _, n := range l.status().Nodes {
		c := n.Interfaces[0].RDMA.Counters
		for _, k := range []string{"memory_failures", "dropped_malformed", "dropped_q_key", "tx_seq_naks"} {
			if c[k] != 0 {
				t.Errorf("%s: %s = %d", n.Name, k, c[k])
			}
		}
	}
}

// TestUCXInfiniBand: the same transports by LIDs.
func TestUCXInfiniBand(t *testing.T) {
	simtest.Need(t, "ucx_perftest")
	l := up(t, "e2e-ucxib", ibStar("cu", 2, "width = 4\nspeed = \"SDR\""))
	l.ipoib(2)
	for _, c := range []struct{ tls, args string }{
		{"ud_v", "-t tag_lat -n 300"},
		{"rc_v,ud_v", "-t tag_lat -n 300"},
		{"rc_v,ud_v", "-t tag_bw -s 1000000 -n 50"},
		{"rc_v,ud_v", "-t ucp_put_bw -s 65536 -n 300"},
		{"rc_v,ud_v", "-t ucp_get -s 4096 -n 200"},
	} {
		t.Run(c.tls+" "+c.args, func(t *testing.T) {
			l := &lab{t: t, name: l.name}
			env := []string{"env", "UCX_TLS=" + c.tls, "UCX_NET_DEVICES=rxe0:1", "UCX_WARN_UNUSED_ENV_VARS=n", "ucx_perftest"}
			s := l.start("cu2", env...)
			l.listening("cu2", "13337")
			j := l.start("cu1", append(append(env, strings.Fields(c.args)...), l.address("cu2", "mgmt0"))...)
			if err := j.wait(t, time.Minute); err != nil || !strings.Contains(j.out.String(), "Final:") {
				t.Fatalf("client: %v\n%s\nserver:\n%s", err, j.out.String(), s.out.String())
			}
			s.wait(t, 10*time.Second)
		})
	}
}

// TestMPI runs Open MPI over UCX with the ranks in different nodes, over RoCE.
func TestMPI(t *testing.T) { testMPI(t, up(t, "e2e-mpi", star("cr", 4, "10Gbps", ""))) }

// TestMPIInfiniBand is the same over InfiniBand.
func TestMPIInfiniBand(t *testing.T) {
	l := up(t, "e2e-mpiib", ibStar("cr", 4, "width = 4\nspeed = \"SDR\""))
	l.ipoib(4)
	testMPI(t, l)
}

func testMPI(t *testing.T, l *lab) {
	simtest.Need(t, "mpirun", "mpicc", "unshare")
	bench := example(t, "mpi", "mpibench")
	for _, c := range []struct {
		nodes, args string
		ranks       []string // their nodes
	}{
		{"cr1,cr2", "", []string{"cr1", "cr2"}},
		{"cr1,cr2", "-np 4 --oversubscribe --map-by node", []string{"cr1", "cr2", "cr1", "cr2"}},
		{"cr1,cr2,cr3,cr4", "", []string{"cr1", "cr2", "cr3", "cr4"}},
	} {
		t.Run(fmt.Sprintf("%d ranks on %s", len(c.ranks), c.nodes), func(t *testing.T) {
			l := &lab{t: t, name: l.name}
			before, _ := requests(l)
			argv := append(append([]string{c.nodes}, strings.Fields(c.args)...), bench, "20", "262144")
			cmd := exec.Command("../../examples/mpi/run", argv...)
			cmd.Env = append(os.Environ(), "CNUAS="+cnuasBin)
			j := l.startCmd(cmd)
			if err := j.wait(t, 2*time.Minute); err != nil {
				t.Fatalf("%v\n%s", err, j.out.String())
			}
			for i, n := range c.ranks {
				if want := fmt.Sprintf("rank %d of %d on %s\n", i, len(c.ranks), n); !strings.Contains(j.out.String(), want) {
					t.Errorf("no %q in\n%s", want, j.out.String())
				}
			}
			if !strings.Contains(j.out.String(), "all data was right") {
				t.Errorf("the program did not end well:\n%s", j.out.String())
			}
			after, _ := requests(l)
			for i := range strings.Split(c.nodes, ",") {
				if d := after[i] - before[i]; d < 200 {
					t.Errorf("node %d sent %d requests", i+1, d)
				}
			}
		})
	}
}
