package umad_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"cnuas/internal/simtest"
)

// addresses gives h1 and h2 an Ethernet between them, by which programs tell
// each other their LIDs and queue pairs.
func (w *world) addresses() {
	w.t.Helper()
	for _, n := range []string{"h1", "h2"} { // makes the namespaces
		w.run(n, "true")
	}
	a, b := w.node["h1"].netns, w.node["h2"].netns
	for _, line := range []string{
		"ip link add eth0 netns " + a + " type veth peer name eth0 netns " + b,
		"ip -n " + a + " addr add 10.214.7.1/24 dev eth0", "ip -n " + b + " addr add 10.214.7.2/24 dev eth0",
		"ip -n " + a + " link set eth0 up", "ip -n " + b + " link set eth0 up",
	} {
		if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
			w.t.Fatalf("%s: %v %s", line, err, out)
		}
	}
}

// TestVerbs: stock verbs programs on InfiniBand, by LID and by GID. perftest
// joins its multicast group through umad.
func TestVerbs(t *testing.T) {
	simtest.Need(t, "ibv_rc_pingpong", "ib_send_bw", "ss")
	w := newWorld(t, "two.toml", twoHosts, true)
	w.addresses()
	for _, line := range []string{
		"ibv_rc_pingpong -d rxe0 -n 200",
		"ibv_rc_pingpong -d rxe0 -n 200 -g 0 -e",
		"ibv_uc_pingpong -d rxe0 -n 200",
		"ibv_ud_pingpong -d rxe0 -n 100",
		"ibv_ud_pingpong -d rxe0 -n 100 -g 0",
		"ibv_srq_pingpong -d rxe0 -n 100 -q 2",
		"ib_write_bw -d rxe0 -F -n 300",
		"ib_send_bw -d rxe0 -F -c UD -n 300",
		"ib_send_bw -d rxe0 -F -c UD -n 300 -g",
	} {
		t.Run(line, func(t *testing.T) {
			argv := strings.Fields(line)
			s := w.start("h1", nil, argv...)
			w.listening(s)
			out := w.start("h2", nil, append(argv, "10.214.7.1")...).wait(t, 30*time.Second, 0)
			s.wait(t, 30*time.Second, 0)
			if !strings.Contains(out, "LID") {
				t.Error(out)
			}
		})
	}
	// The groups that were joined are left.
	if out := w.run("h1", "saquery -g"); strings.Count(out, "MGID") != 1 {
		t.Errorf("groups: %s", out)
	}
}

// listening waits until a server on h1 accepts connections.
func (w *world) listening(s *program) {
	w.t.Helper()
	for range 1000 {
		out, _ := exec.Command("ip", "netns", "exec", w.node["h1"].netns, "ss", "-Hltn").Output()
		if len(strings.TrimSpace(string(out))) > 0 {
			return
		}
		select {
		case <-s.done:
			w.t.Fatalf("the server ended: %s", s.text())
		case <-time.After(5 * time.Millisecond):
		}
	}
	w.t.Fatalf("the server does not listen: %s", s.text())
}
