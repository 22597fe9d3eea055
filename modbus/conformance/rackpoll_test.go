//go:build conformance

package conformance

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"cnuas/internal/rack"
	"cnuas/internal/sim"
	"cnuas/internal/topology"
	"cnuas/modbus/bus"
	"cnuas/modbus/orv3"
)

var rackpoll = flag.Duration("rackpoll", 0, "how long TestPollRackLive polls at the real cadence; 0: 40 s at a faster one")

const ventura2File = "rack = \"ventura2\"\n[generate]\ntype = \"star\"\nhosts = 6\n"

// TestPollRackLive: the real rack as a rack that runs, polled over the terminal
// of its first segment, without one error. scripts/bench/rackpoll runs it for
// ten minutes at the real cadence.
func TestPollRackLive(t *testing.T) {
	t.Parallel()
	d, shelves, others := *rackpoll, 1, 1
	if d == 0 {
		d, shelves, others = 40*time.Second, 3, 9
	}
	s, problems := topology.Parse("ventura2.toml", []byte(ventura2File))
	if e := problems.Errors(); len(e) > 0 {
		t.Fatal(e)
	}
	r, err := rack.New(s.Rack, rack.Options{Dir: t.TempDir(), Seed: 1, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	g := &rig{Rack: r, t: t, bus: r.Segment(s.Rack.Segments[0].Name)}
	g.run()
	pop := orv3.Ventura2()
	var plan []poll
	g.Do(func() { plan = planOf(pop, r.Plant().Device, shelves, others) })
	c := openSerial(t, r.TTY(s.Rack.Segments[0].Name))
	c.run(plan, d)
	n := g.segment()
	if c.errors() > 0 || c.Exceptions > 0 || c.Replies != c.Polls {
		t.Errorf("%+v: want replies only", c.tally)
	}
	if n.BadFrames > 0 || n.Collisions > 0 || n.Unanswered > 0 || n.Unexpected > 0 || n.Replies != c.Polls {
		t.Errorf("segment: %+v", n)
	}
	answered := 0
	for _, x := range n.Stations {
		if x.Replies > 0 {
			answered++
		}
	}
	if answered != 56 {
		t.Errorf("%d slaves of 56 have answered", answered)
	}
	t.Logf("rackpoll: %d polls of %d slaves in %v, %d errors, %d exceptions; most behind %v; the machine stood still %d times",
		c.Polls, answered, d, c.errors(), c.Exceptions, c.late.Round(time.Millisecond), c.stalls)
	t.Logf("rackpoll: from request to reply, time on the wire included: median %v, 90%% %v, 99%% %v, 99.9%% %v, most %v",
		c.percentile(50), c.percentile(90), c.percentile(99), c.percentile(99.9), c.percentile(100))
}

// live is a segment with the slaves of the noise tests.
func live(t *testing.T) (g *rig, plan []poll) {
	g = emptyRig(t, topology.RackSegment{Name: "bus0", Line: fast})
	g.Do(func() { plan = slaves(g.bus, fast) })
	g.run()
	return g, plan
}

// journal keeps what was on a segment, to be shown where counts differ.
type journal struct {
	at   []sim.Time
	line []string
}

// Frame implements bus.Observer.
func (j *journal) Frame(f *bus.Frame) {
	j.at = append(j.at, f.Start)
	j.line = append(j.line, fmt.Sprintf("%v to %v: %v of %s, %v: % x", f.Start, f.End, f.Kind, f.Station, f.Bad, f.Bytes))
}

// show logs what was there from one time to another.
func (j *journal) show(t *testing.T, from, to sim.Time) {
	for i, at := range j.at {
		if at >= from && at <= to {
			t.Log("    " + j.line[i])
		}
	}
}

// lost is an exchange in which the client got no reply, in the rack's time.
type lost struct{ from, to sim.Time }

// TestNoiseLive: what a program counts on a terminal is what the segment
// counts.
func TestNoiseLive(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name  string
		fault bus.Fault
	}{
		{"bit errors", bus.Fault{Kind: bus.BitErrors, Prob: 0.00005}},
		{"bursts", bus.Fault{Kind: bus.Noise, Every: 250 * sim.Millisecond}},
		{"lost characters", bus.Fault{Kind: bus.Drop, Prob: 0.0007}},
		{"wrong CRC", bus.Fault{Kind: bus.WrongCRC, Prob: 0.05}},
		{"silence", bus.Fault{Kind: bus.Silent, Prob: 0.05}},
		{"strays", bus.Fault{Kind: bus.Stray, Prob: 0.3, Lead: 2, Trail: 1}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			g, plan := live(t)
			j := &journal{}
			g.Do(func() { g.bus.Observe(j) })
			g.inject(x.fault)
			c := openSerial(t, g.TTY("bus0"))
			c.timeout = 600 * time.Millisecond // far above what the machine adds
			var without []lost
			for i, end := 0, time.Now().Add(14*time.Second); time.Now().Before(end); i++ {
				errors, from := c.errors(), g.now()
				c.exchange(plan[i%len(plan)].req)
				if c.errors() > errors {
					without = append(without, lost{from, g.now()})
				}
				time.Sleep(c.gap)
			}
			g.clear()
			time.Sleep(time.Duration(bus.AnswerTime.Nanoseconds()) + 100*time.Millisecond)
			n := g.segment()
			agree(t, c.tally, n, false)
			if c.errors() < 5 && n.RepliesSpoiled < 20 || c.Exceptions == 0 {
				t.Errorf("%+v: the fault does too little", c.tally)
			}
			if t.Failed() {
				for _, l := range without {
					t.Logf("no reply from %v to %v:", l.from, l.to)
					j.show(t, l.from, l.to)
				}
			}
			t.Logf("%+v", c.tally)
		})
	}
}
