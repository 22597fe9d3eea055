//go:build lab

package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"cnuas/internal/status"
)

// labPFC has two pairs on a switch that pauses early: a NIC that obeys, and one
// that does not.
const labPFC = `
[defaults]
link = { rate = "10Gbps" }
node = { stack = "rxe" }
[qos]
xoff = "64KiB"
xon = "32KiB"
[[node]]
name = "cvp1"
[[node]]
name = "cvp2"
[[node]]
name = "cvp3"
ignore_pfc = true
[[node]]
name = "cvp4"
[[switch]]
name = "cvs"
[[link]]
a = "cvp1:eth0"
b = "cvs:1"
[[link]]
a = "cvp2:eth0"
b = "cvs:2"
[[link]]
a = "cvp3:eth0"
b = "cvs:3"
[[link]]
a = "cvp4:eth0"
b = "cvs:4"
`

// TestLabPFC pauses a kernel sender with 8 queue pairs for 100 ms and for 1 s:
// no frame may be lost anywhere, at its ring neither, and the transfer ends
// well. With a NIC that ignores pauses the switch drops, and counts.
func TestLabPFC(t *testing.T) {
	l := upLab(t, "e2e-labpfc", labPFC)
	addr := map[string]string{"cvp2": "10.0.0.2", "cvp4": "10.0.0.4"}
	for _, c := range []struct{ client, server string }{{"cvp1", "cvp2"}, {"cvp3", "cvp4"}} {
		argv := []string{"timeout", "100", "ib_write_bw", "-F", "-x", "1", "-u", "19", "-q", "8", "-n", "150"}
		s := l.start(c.server, argv...)
		eventually(t, 30*time.Second, "the server listens", func() bool {
			out, _ := l.inVM("ip netns exec " + c.server + " ss -Hltn sport = :18515")
			return out != ""
		})
		j := l.start(c.client, append(argv, addr[c.server])...)
		for _, d := range []string{"100ms", "1s"} {
			before := l.frames(c.server)
			eventually(t, 60*time.Second, "data arrives at "+c.server, func() bool { return l.frames(c.server) > before+100 })
			// The receiver's NIC stops the switch, which fills and stops the sender's.
			l.cnuas("fault", "storm", c.server+":eth0", "--priority", "3", "--duty", "100%", "--for", d, "--fabric", l.name)
			eventually(t, 60*time.Second, "the storm of "+d+" has ended", func() bool { return len(l.status().Faults) == 0 })
		}
		if c.client == "cvp3" {
			// Go-back-N without end: what counts is what the switch says.
			j.cmd.Process.Signal(syscall.SIGTERM)
			s.cmd.Process.Signal(syscall.SIGTERM)
			continue
		}
		if err := j.wait(t, 100*time.Second); err != nil {
			t.Fatalf("client: %v\n%s", err, j.out.String())
		}
		if err := s.wait(t, 20*time.Second); err != nil {
			t.Fatalf("server: %v\n%s", err, s.out.String())
		}
		st := l.status()
		noLoss(t, st)
		if p := port(t, st, "cvp1:eth0"); p.PausesRx[3] == 0 || p.PausedSecs[3] < 1 {
			t.Errorf("cvp1 was paused %d times for %.2f s: the pauses did not reach the sender", p.PausesRx[3], p.PausedSecs[3])
		}
	}
	st := l.status()
	drops := port(t, st, "cvs:4").TotalDrops() + port(t, st, "cvs:3").TotalDrops()
	if p := port(t, st, "cvp3:eth0"); drops == 0 || p.PausesRx[3] == 0 {
		t.Errorf("with a NIC that ignores %d pauses the switch dropped %d frames, want some", p.PausesRx[3], drops)
	}
}

func (l *lab) frames(node string) uint64 { return port(l.t, l.status(), node+":eth0").RxFrames }

// noLoss checks every counter of lost frames and the conservation that the
// verdict is about. Slip is no loss: the VM is slow.
func noLoss(t *testing.T, s *status.Fabric) {
	t.Helper()
	for _, n := range s.Nodes {
		for _, i := range n.Interfaces {
			if i.TotalDrops() != 0 || i.Ring.TxDropped+i.Ring.RxDropped != 0 {
				t.Errorf("%s lost frames: %v, ring %+v", i.Name, i.Drops, i.Ring)
			}
		}
	}
	for _, w := range s.Switches {
		for _, p := range w.Ports {
			if p.TotalDrops() != 0 {
				t.Errorf("%s dropped frames: %v", p.Name, p.Drops)
			}
		}
	}
	for _, r := range s.Verdict.Reasons {
		if !strings.Contains(r, "slipped") && !strings.Contains(r, "late") {
			t.Errorf("verdict: %s", r)
		}
	}
}
