package conformance

import (
	"fmt"
	"testing"

	"cnuas/internal/sim"
	"cnuas/modbus/bus"
	"cnuas/modbus/rtu"
)

// noisy are faults under which a client's counts are compared with the
// segment's.
var noisy = []struct {
	name  string
	fault bus.Fault
	// split: timeouts and damaged replies are apart, too; noise while nobody
	// answers makes of one the other.
	split bool
}{
	{"bit errors", bus.Fault{Kind: bus.BitErrors, Prob: 0.0001}, true},
	{"many bit errors", bus.Fault{Kind: bus.BitErrors, Prob: 0.001}, true},
	{"bit errors of one slave", bus.Fault{Kind: bus.BitErrors, Prob: 0.001, Station: "slave2"}, true},
	{"bursts", bus.Fault{Kind: bus.Noise}, false},
	{"long bursts", bus.Fault{Kind: bus.Noise, Burst: 20 * sim.Millisecond, Every: 200 * sim.Millisecond}, false},
	{"lost characters", bus.Fault{Kind: bus.Drop, Prob: 0.003}, true},
	{"wrong CRC", bus.Fault{Kind: bus.WrongCRC, Prob: 0.1}, true},
	{"silence", bus.Fault{Kind: bus.Silent, Prob: 0.1}, true},
	{"strays", bus.Fault{Kind: bus.Stray, Prob: 0.3, Lead: 2, Trail: 1}, true},
	{"late", bus.Fault{Kind: bus.Late, Prob: 0.3, Delay: 30 * sim.Millisecond}, true},
	{"too late", bus.Fault{Kind: bus.Late, Prob: 0.2, Delay: 103 * sim.Millisecond}, false},
}

// slaves are eight test devices, and a plan that asks each in turn, as fast as
// it can; one request in ten is for a register that is absent.
func slaves(g *bus.Segment, l rtu.Line) (plan []poll) {
	const n = 8
	for a := range uint8(n) {
		g.AddSlave(fmt.Sprintf("slave%d", a+1), l, rtu.NewSlave(a+1, newDevice(), rtu.AllOptions()))
	}
	for i := range 80 {
		reg := uint16(i)
		if i%10 == 9 {
			reg = 900
		}
		plan = append(plan, poll{req: rtu.AppendRead(nil, uint8(i%n)+1, rtu.ReadHoldingRegisters, reg, uint16(1+i%40))})
	}
	return plan
}

// agree compares a client's counts with those of its master and of all slaves.
func agree(t *testing.T, got tally, n bus.Counters, split bool) {
	t.Helper()
	m := n.Masters[0]
	if got.Polls != got.Replies+got.Exceptions+got.errors() {
		t.Errorf("client: %+v do not add up", got)
	}
	if m.Requests+m.BadRequests != got.Polls {
		t.Errorf("client: %d polls, segment: %d and %d damaged", got.Polls, m.Requests, m.BadRequests)
	}
	if m.Replies != got.Replies || m.Exceptions != got.Exceptions || m.BadRequests+m.Unanswered+m.BadReplies != got.errors() {
		t.Errorf("client: %+v\nmaster: %+v", got, m)
	}
	if split && (m.BadReplies != got.Bad || m.BadRequests+m.Unanswered != got.Timeouts) {
		t.Errorf("client: %+v\nmaster: %d bad replies, %d damaged and %d unanswered requests", got, m.BadReplies, m.BadRequests, m.Unanswered)
	}
	var s bus.StationCounters
	for _, x := range n.Stations {
		s.Replies += x.Replies
		s.Exceptions += x.Exceptions
		s.BadReplies += x.BadReplies
		s.Unanswered += x.Unanswered
	}
	if s.BadReplies != m.BadReplies || s.Unanswered != m.Unanswered || s.Replies+s.Exceptions != m.Replies+m.Exceptions+m.BadReplies+n.Unexpected {
		t.Errorf("slaves: %d replies, %d exceptions, %d bad, %d unanswered; %d unexpected; master: %+v", s.Replies, s.Exceptions, s.BadReplies, s.Unanswered, n.Unexpected, m)
	}
	// Whole replies that nobody waited for any more are the segment's alone.
	whole := n.Replies + n.Exceptions - m.Replies - m.Exceptions
	if n.Unanswered != m.Unanswered || n.BadReplies != m.BadReplies || whole > n.Unexpected {
		t.Errorf("segment: %+v", n)
	}
}

// TestNoise: what a client counts is what the segment counts, fault by fault,
// over a minute and more, twice.
func TestNoise(t *testing.T) {
	for i, x := range noisy {
		t.Run(x.name, func(t *testing.T) {
			run := func() (tally, bus.Counters, trace) {
				e := sim.NewEngine(uint64(i) + 1)
				g := bus.New(e.NewProc(), bus.Config{Name: "bus0", Turnaround: 2 * sim.Millisecond})
				plan := slaves(g, at115200)
				var w trace
				g.Observe(&w)
				if _, err := g.Inject(x.fault); err != nil {
					t.Fatal(err)
				}
				c := newClient(g, e.NewProc(), at115200, plan)
				c.timeout = 100 * sim.Millisecond
				e.RunUntil(99 * sim.Second)
				// A reply that is too late is one only if the client asks again.
				g.ClearFaults()
				e.RunUntil(100 * sim.Second)
				c.stop(e)
				return c.tally, g.Counters(), w
			}
			got, n, w := run()
			agree(t, got, n, x.split)
			spoilt := got.errors() > 20 || n.RepliesSpoiled > 20
			if !spoilt || got.Exceptions == 0 || got.Replies < 300 {
				t.Errorf("%+v: the fault does too little or too much", got)
			}
			if again, _, w2 := run(); again != got || w2 != w {
				t.Errorf("a second run differs: %+v, %+v", got, again)
			}
			t.Logf("%+v", got)
		})
	}
}

var at115200 = rtu.Line{Baud: 115200, Data: 8, Parity: rtu.Even, Stop: 1}
