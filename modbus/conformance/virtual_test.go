package conformance

import (
	"fmt"
	"hash/fnv"
	"testing"

	"cnuas/internal/sim"
	"cnuas/modbus/bus"
	"cnuas/modbus/orv3"
	"cnuas/modbus/rtu"
)

// client is a bus master in virtual time. It throws away what it has before it
// asks, and takes no character that has an error (INPCK and IGNPAR).
type client struct {
	tally
	m       *bus.Master
	p       *sim.Proc
	line    rtu.Line
	timeout sim.Time // from the end of the request on
	gap     sim.Time // from one exchange to the next
	plan    []poll
	timer   sim.Timer
	req     []byte // what is asked; nil: nothing
	got     []byte
	some    bool     // something came, with errors or without
	late    sim.Time // the most that a poll was behind its time
}

func newClient(g *bus.Segment, p *sim.Proc, l rtu.Line, plan []poll) *client {
	c := &client{p: p, line: l, timeout: 300 * sim.Millisecond, gap: 2 * sim.Millisecond, plan: plan}
	c.m = g.AddMaster(bus.MasterConfig{Name: "client"}, c)
	if err := c.m.Listen(l); err != nil {
		panic(err)
	}
	c.timer.Init(p, c, 0, 0)
	c.timer.Reset(p.Now() + sim.Second)
	return c
}

// ReceiveChars implements bus.Receiver.
func (c *client) ReceiveChars(now sim.Time, chars []rtu.Char) {
	if c.req == nil {
		return
	}
	c.some = true
	for _, x := range chars {
		if x.Err == 0 {
			c.got = append(c.got, x.Byte)
		}
	}
	if c.count(c.req, c.got) {
		c.req = nil
		c.timer.Reset(now + c.gap)
	}
}

// HandleEvent implements sim.Handler: no reply in time, or time to ask.
func (c *client) HandleEvent(now sim.Time, _ uint32, _ uint64) {
	if c.req != nil {
		c.gaveUp(c.some)
		c.req = nil
	}
	q := soonest(c.plan)
	if q.due > now {
		c.timer.Reset(q.due)
		return
	}
	c.late = max(c.late, now-q.due)
	// A master that has fallen behind does not catch up by asking twice.
	q.due = max(q.due+q.every, now)
	c.got, c.some = c.got[:0], false
	c.req = q.req
	c.Polls++
	c.m.Send(c.line, c.req)
	c.timer.Reset(c.m.Drained() + c.timeout)
}

// stop ends the polling when no reply is waited for any more.
func (c *client) stop(e *sim.Engine) {
	for i := range c.plan {
		c.plan[i].due = sim.Forever / 2
	}
	e.RunUntil(e.Now() + 2*sim.Second) // beyond AnswerTime
}

// trace is a sum over every frame on the wire, with its times.
type trace struct {
	n   int
	sum uint64
}

func (t *trace) Frame(f *bus.Frame) {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %d %s %x", t.sum, f.Start, f.End, f.Station, f.Bytes)
	t.n++
	t.sum = h.Sum64()
}

// ventura2 is the first segment of the real rack, in virtual time.
func ventura2(t testing.TB, e *sim.Engine) (g *bus.Segment, pop orv3.Population, plant *orv3.Plant) {
	t.Helper()
	pop = orv3.Ventura2()
	cfg := orv3.PlantConfig{Seed: 1, Unix: 1_700_000_000}
	for _, s := range pop.Shelves {
		cfg.Shelves = append(cfg.Shelves, s.ShelfConfig)
	}
	plant, err := orv3.NewPlant(e.NewProc(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	g = bus.New(e.NewProc(), bus.Config{Name: pop.Segments[0].Name, Turnaround: pop.Segments[0].Turnaround})
	slaves := 0
	for _, s := range pop.Shelves {
		if s.Segment != 0 {
			continue
		}
		slots := s.Slots
		if s.PMM != nil {
			slots = append(slots[:len(slots):len(slots)], *s.PMM)
		}
		for _, x := range slots {
			g.AddSlave(s.Name+"/"+x.Name, s.Line, rtu.NewSlave(x.Address, plant.Device(s.Name, x.Name), rtu.Options{}))
			slaves++
		}
	}
	if slaves != 56 {
		t.Fatalf("%d slaves on %s, want 56", slaves, g.Name())
	}
	return g, pop, plant
}

// TestPollRack: a real rack at its real cadence for ten minutes, twice.
func TestPollRack(t *testing.T) {
	const minutes = 10
	run := func() (tally, trace, bus.Counters) {
		e := sim.NewEngine(1)
		g, pop, plant := ventura2(t, e)
		var w trace
		g.Observe(&w)
		c := newClient(g, e.NewProc(), pop.Segments[0].Line, planOf(pop, plant.Device, 1, 1))
		e.RunUntil(minutes * 60 * sim.Second)
		if c.late > 2*sim.Second {
			t.Errorf("a poll was %v late, of every 3 s: the segment does not bear the cadence", c.late)
		}
		c.stop(e)
		return c.tally, w, g.Counters()
	}
	got, w, n := run()
	if got.errors() > 0 || got.Exceptions > 0 || got.Replies != got.Polls {
		t.Errorf("%+v: want replies only", got)
	}
	if n.BadFrames > 0 || n.Collisions > 0 || n.Unanswered > 0 || n.Unexpected > 0 || n.Replies != got.Polls || n.Requests != got.Polls || int(n.Frames) != w.n {
		t.Errorf("segment: %+v", n)
	}
	// Eight shelves 200 times, 48 modules three or four times.
	if got.Polls < 200*8*2+3*48 {
		t.Errorf("%d polls in %d minutes", got.Polls, minutes)
	}
	for _, s := range n.Stations {
		if s.Replies < 3 || s.BadHeard > 0 || s.Missed > 0 || s.Cancelled > 0 {
			t.Errorf("%+v", s)
		}
	}
	if again, w2, _ := run(); again != got || w2 != w {
		t.Errorf("a second run differs: %+v %+v, %+v %+v", got, w, again, w2)
	}
	t.Logf("%+v, %d bytes", got, n.Bytes)
}
