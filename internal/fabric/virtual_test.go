package fabric

import (
	"fmt"
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/topology"
)

func starTOML(hosts int, rate, qos string) string {
	return fmt.Sprintf("name = \"t\"\nseed = 7\n%s\n[generate]\ntype = \"star\"\nhosts = %d\nhost_link = { rate = %q, delay = \"500ns\" }\n", qos, hosts, rate)
}

// twice runs a scenario two times and returns its table, which must be the
// same to the byte.
func twice(t *testing.T, run func() *world) (*world, string) {
	t.Helper()
	a := run()
	first, second := a.table(), run().table()
	if first != second {
		t.Errorf("two runs differ:\n%s\n%s", first, second)
	}
	return a, first
}

func total(w *world) (drops, pauses, marks uint64) {
	for _, sw := range w.f.Snapshot().Switches {
		for _, p := range sw.Ports {
			drops += p.TotalDrops()
			marks += p.ECNMarks
			for _, n := range p.PausesTx {
				pauses += n
			}
		}
	}
	return
}

func again(w *world) (n uint64) {
	for _, x := range w.f.nodes {
		n += x.ifs[0].hca.Counters().Retransmitted
	}
	return n
}

// TestIncast: several HCAs write to one through a switch, in virtual time.
func TestIncast(t *testing.T) {
	for _, senders := range []int{2, 7} {
		for _, pfc := range []bool{true, false} {
			name := fmt.Sprintf("incast-%d-pfc-%v", senders, pfc)
			t.Run(name, func(t *testing.T) {
				w, table := twice(t, func() *world {
					w := build(t, starTOML(senders+1, "10Gbps", fmt.Sprintf("[qos]\npfc = %v\nbuffer = \"2MB\"", pfc)))
					for i := range senders {
						w.add(fmt.Sprintf("h%d", i+2), "h1", 32, 65536)
					}
					w.run(20 * sim.Second)
					return w
				})
				golden(t, name, table)
				drops, pauses, _ := total(w)
				if pfc && (drops != 0 || pauses == 0 || again(w) != 0) || !pfc && (drops == 0 || pauses != 0 || again(w) == 0) {
					t.Errorf("pfc %v: %d drops, %d pauses, %d retransmitted", pfc, drops, pauses, again(w))
				}
				var slow, fast sim.Time = 0, sim.Forever
				for i, fl := range w.flows {
					if fl.done != fl.n || fl.status.Status != 0 {
						t.Errorf("flow %d: %d of %d done, status %d", i, fl.done, fl.n, fl.status.Status)
					}
					slow, fast = max(slow, fl.end), min(fast, fl.end)
				}
				if pfc && float64(fast) < 0.9*float64(slow) {
					t.Errorf("unfair: the first flow ended at %v, the last at %v", fast, slow)
				}
			})
		}
	}
}

// TestLoss: go-back-N completes every message over a wire that loses frames.
func TestLoss(t *testing.T) {
	for _, loss := range []string{"1e-3", "1e-2"} {
		t.Run(loss, func(t *testing.T) {
			w, table := twice(t, func() *world {
				toml := "name = \"t\"\nseed = 3\n[[node]]\nname = \"h1\"\n[[node]]\nname = \"h2\"\n[[switch]]\nname = \"s1\"\n" +
					"[[link]]\na = \"h1:eth0\"\nb = \"s1:1\"\nrate = \"10Gbps\"\ndelay = \"500ns\"\nloss = " + loss +
					"\n[[link]]\na = \"h2:eth0\"\nb = \"s1:2\"\nrate = \"10Gbps\"\ndelay = \"500ns\"\n"
				w := build(t, toml)
				w.add("h2", "h1", 100, 65536)
				w.run(60 * sim.Second)
				return w
			})
			golden(t, "loss-"+strings.ReplaceAll(loss, ".", "_"), table)
			fl := w.flows[0]
			if fl.done != fl.n || fl.status.Status != 0 || again(w) == 0 {
				t.Errorf("%d of %d done, status %d, %d retransmitted", fl.done, fl.n, fl.status.Status, again(w))
			}
		})
	}
}

// TestMarksAgainstDepth: the deeper the queue is allowed to be before marking
// begins, the fewer frames are marked; none when it never gets there.
func TestMarksAgainstDepth(t *testing.T) {
	var b strings.Builder
	last := ^uint64(0)
	for _, kmin := range []int{20, 60, 120, 200, 10000} {
		var marks uint64
		_, table := twice(t, func() *world {
			qos := fmt.Sprintf("[qos]\nbuffer = \"16MB\"\n[qos.ecn]\npriorities = [3]\nkmin = \"%dKB\"\nkmax = \"%dKB\"\npmax = 0.2", kmin, 4*kmin)
			w := build(t, starTOML(4, "10Gbps", qos))
			for i := range 3 {
				w.add(fmt.Sprintf("h%d", i+2), "h1", 32, 65536)
			}
			w.run(sim.Second)
			_, _, marks = total(w)
			return w
		})
		if table == "" {
			t.Fatal("no table")
		}
		fmt.Fprintf(&b, "kmin %dKB kmax %dKB: %d marks\n", kmin, 4*kmin, marks)
		if marks > last {
			t.Errorf("kmin %dKB: %d marks, more than %d at a lower threshold", kmin, marks, last)
		}
		last = marks
	}
	if last != 0 {
		t.Errorf("%d marks with a threshold that the queue cannot reach", last)
	}
	golden(t, "marks", b.String())
}

// TestLeafSpine sends across a routed fabric, every host to the one opposite.
func TestLeafSpine(t *testing.T) {
	w, table := twice(t, func() *world {
		w := build(t, "name = \"t\"\nseed = 5\n[generate]\ntype = \"leaf-spine\"\nspines = 2\nleaves = 4\nhosts_per_leaf = 2\nhost_link = { rate = \"10Gbps\", delay = \"500ns\" }\nfabric_link = { rate = \"25Gbps\", delay = \"500ns\" }\n")
		for i := range 8 {
			w.add(fmt.Sprintf("h%d", i+1), fmt.Sprintf("h%d", (i+4)%8+1), 16, 65536)
		}
		w.run(sim.Second)
		return w
	})
	golden(t, "leaf-spine", table)
	if d, _, _ := total(w); d != 0 {
		t.Errorf("%d drops", d)
	}
	for i, fl := range w.flows {
		if fl.done != fl.n || fl.status.Status != 0 {
			t.Errorf("flow %d: %d of %d, status %d", i, fl.done, fl.n, fl.status.Status)
		}
	}
}

// TestStorm: a sick NIC blocks its switch port; the sender stops and goes on
// when the storm ends. Nothing is lost.
func TestStorm(t *testing.T) {
	w := build(t, starTOML(2, "10Gbps", ""))
	fl := w.add("h2", "h1", 300, 65536)
	fl.qp.Doorbell()
	if err := w.f.Storm("h1:eth0", 1<<3, 1, 0); err != nil {
		t.Fatal(err)
	}
	w.f.Engine.RunUntil(20 * sim.Millisecond)
	stuck := fl.done
	w.f.Engine.RunUntil(40 * sim.Millisecond)
	if fl.done != stuck {
		t.Errorf("%d messages passed a storm of 100%%", fl.done-stuck)
	}
	if p := w.f.Snapshot().Switches[0].Ports[0]; len(p.Paused) != 1 || p.Paused[0] != 3 {
		t.Errorf("paused now: %v", p.Paused)
	}
	if err := w.f.Storm("s1:1", 1<<3, 1, 0); err == nil {
		t.Error("a storm at a switch port was accepted")
	}
	w.f.ClearFaults()
	w.run(2 * sim.Second)
	if fl.done != fl.n {
		t.Errorf("%d of %d messages after the storm", fl.done, fl.n)
	}
	if d, _, _ := total(w); d != 0 {
		t.Errorf("%d drops", d)
	}
}

// TestStormFor: a pause of a given length stops a sender for that long and no
// longer, and is told as long as it lasts.
func TestStormFor(t *testing.T) {
	for _, d := range []sim.Time{100 * sim.Millisecond, sim.Second} {
		w := build(t, starTOML(2, "10Gbps", ""))
		w.f.Engine.RunUntil(10 * sim.Millisecond)
		if err := w.f.Storm("h1:eth0", 1<<3, 1, d); err != nil {
			t.Fatal(err)
		}
		fl := w.add("h2", "h1", 100, 65536)
		fl.qp.Doorbell()
		begin := w.f.Engine.Now()
		w.f.Engine.RunUntil(begin + d/2)
		if l := w.f.Snapshot().Faults; len(l) != 1 || !strings.HasSuffix(l[0], fmt.Sprintf("stopped for 100%% of the time, until %g s, in %g ms (simulated time)", 0.01+d.Seconds(), 500*d.Seconds())) {
			t.Errorf("faults %q", l)
		}
		if fl.done != 0 {
			t.Errorf("%d messages arrived during the pause", fl.done)
		}
		w.f.Engine.RunUntil(begin + d + 10*sim.Microsecond)
		if s := w.f.Snapshot(); len(s.Faults) != 0 || s.Switches[0].Ports[0].PausedSecs[3] != d.Seconds() {
			t.Errorf("after %v: faults %q, stopped for %v s", d, s.Faults, s.Switches[0].Ports[0].PausedSecs[3])
		}
		w.run(10 * sim.Second)
		if drops, _, _ := total(w); fl.done != fl.n || drops != 0 {
			t.Errorf("%d of %d messages, %d drops", fl.done, fl.n, drops)
		}
	}
	w := build(t, starTOML(2, "10Gbps", ""))
	if err := w.f.Storm("h1:eth0", 1<<3, 1, -1); err == nil {
		t.Error("a storm of negative length was accepted")
	}
}

// TestHopAllocatesNothing: in the steady state of a whole fabric, from HCA to
// HCA over a switch, no frame costs an allocation.
func TestHopAllocatesNothing(t *testing.T) {
	w := build(t, starTOML(2, "100Gbps", ""))
	fl := w.add("h2", "h1", 2000, 65536)
	fl.qp.Doorbell()
	w.f.Engine.RunUntil(sim.Millisecond)
	before := w.f.Snapshot().Switches[0].Ports[0].TxFrames
	n := testing.AllocsPerRun(5, func() { w.f.Engine.RunUntil(w.f.Engine.Now() + sim.Millisecond) })
	frames := (w.f.Snapshot().Switches[0].Ports[0].TxFrames - before) / 6
	if frames < 2000 {
		t.Fatalf("only %d frames a millisecond", frames)
	}
	if n != 0 {
		t.Errorf("%v allocations for %d frames", n, frames)
	}
}

// TestBuildRefuses: a Spec that no file could give is an error, not a panic.
func TestBuildRefuses(t *testing.T) {
	for want, spoil := range map[string]func(*topology.Spec){
		"h1: no interface":            func(s *topology.Spec) { s.Nodes[0].Interfaces = nil },
		"end h1:eth0 leads nowhere":   func(s *topology.Spec) { s.Links[0].A.Node = 77 },
		"h1:eth0: link 9 does not":    func(s *topology.Spec) { s.Nodes[0].Interfaces[0].Link = 9 },
		"h1:eth0: subnet -1":          func(s *topology.Spec) { s.Nodes[0].Interfaces[0].Subnet = -1 },
		"the name h1 is used twice":   func(s *topology.Spec) { s.Nodes[1].Name = "h1" },
		"s1:1: port numbers do not a": func(s *topology.Spec) { s.Switches[0].Ports[1].Number = 1 },
	} {
		s, problems := topology.Parse("test.toml", []byte(starTOML(2, "10Gbps", "")))
		if problems != nil {
			t.Fatal(problems)
		}
		spoil(s)
		if _, err := Build(s, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
