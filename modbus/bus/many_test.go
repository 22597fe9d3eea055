package bus

import (
	"fmt"
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// poller sends a request as soon as it has the reply to the one before.
type poller struct {
	m     *Master
	line  rtu.Line
	reqs  [][]byte
	next  int
	good  int
	bytes []byte
}

func (p *poller) ReceiveChars(now sim.Time, c []rtu.Char) {
	p.bytes = p.bytes[:0]
	bad := false
	for _, x := range c {
		p.bytes = append(p.bytes, x.Byte)
		bad = bad || x.Err != 0
	}
	if !bad && rtu.CheckCRC(p.bytes) {
		p.good++
	}
	p.send()
}

func (p *poller) send() {
	p.m.Send(p.line, p.reqs[p.next%len(p.reqs)])
	p.next++
}

func many(n int) (*sim.Engine, *Segment, *poller) {
	e := sim.NewEngine(1)
	g := New(e.NewProc(), Config{Turnaround: 3 * sim.Millisecond})
	p := &poller{line: at115200, bytes: make([]byte, 0, 256)}
	for i := range n {
		a := uint8(0x10 + i)
		g.AddSlave(fmt.Sprintf("s%d", a), at115200, rtu.NewSlave(a, newRegs(), rtu.Options{}))
		p.reqs = append(p.reqs, read(a, 0, 60))
	}
	p.m = g.AddMaster(MasterConfig{Name: "m"}, p)
	p.m.Listen(at115200)
	return e, g, p
}

// Ten minutes of 56 slaves as fast as the wire allows: no error, and no request
// that another slave took for its own.
func TestManySlaves(t *testing.T) {
	e, g, p := many(56)
	p.send()
	e.RunUntil(600 * sim.Second)
	c := g.Counters()
	if p.good < 30000 || c.Replies != uint64(p.good) || c.BadFrames+c.Unanswered+c.Collisions+c.Unexpected+c.Exceptions != 0 {
		t.Errorf("%d good replies, %d requests, %d replies, %d bad, %d unanswered", p.good, c.Requests, c.Replies, c.BadFrames, c.Unanswered)
	}
	for _, s := range c.Stations {
		if d := int64(s.Requests) - int64(s.Replies); d < 0 || d > 1 || s.BadHeard != 0 {
			t.Errorf("%s: %+v", s.Name, s)
		}
	}
}

// On the hot path nothing is allocated: not per character, frame or reply.
func TestNoAllocations(t *testing.T) {
	for _, c := range []struct {
		name  string
		tune  rtu.Line
		fault Fault
	}{
		{"clean", at115200, Fault{}},
		{"another rate", rtu.Line{Baud: 57600, Data: 8, Stop: 1}, Fault{}},
		{"bit errors", at115200, Fault{Kind: BitErrors, Prob: 0.0001}},
		{"noise", at115200, Fault{Kind: Noise}},
	} {
		e, g, p := many(8)
		g.AddMaster(MasterConfig{Name: "other", Slice: sim.Millisecond}, deafReceiver{}).Listen(c.tune)
		g.Observe(deafReceiver{})
		if c.fault.Kind != 0 {
			if _, err := g.Inject(c.fault); err != nil {
				t.Fatal(err)
			}
		}
		p.send()
		tick := e.NewProc()
		w := &waker{p: tick, m: p}
		tick.At(0, w, 0, 0)
		e.RunUntil(10 * sim.Second)
		end := e.Now()
		if n := testing.AllocsPerRun(20, func() { end += sim.Second; e.RunUntil(end) }); n != 0 {
			t.Errorf("%s: %v allocations per second of traffic", c.name, n)
		}
		if p.good < 500 {
			t.Errorf("%s: only %d replies", c.name, p.good)
		}
	}
}

// waker is the timeout of a poller: without a reply it asks the next.
type waker struct {
	p    *sim.Proc
	m    *poller
	last int
}

func (w *waker) HandleEvent(now sim.Time, _ uint32, _ uint64) {
	if w.m.next == w.last {
		w.m.send()
	}
	w.last = w.m.next
	w.p.At(now+100*sim.Millisecond, w, 0, 0)
}

type deafReceiver struct{}

func (deafReceiver) ReceiveChars(sim.Time, []rtu.Char) {}
func (deafReceiver) Frame(*Frame)                      {}

// The work per transaction hardly grows with the slaves that are not asked.
func BenchmarkTransaction(b *testing.B) {
	for _, n := range []int{1, 8, 56} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e, _, p := many(n)
			p.send()
			for b.Loop() {
				for last := p.good; p.good == last; {
					e.RunSome(sim.Forever-1, 1)
				}
			}
		})
	}
}

func TestFaultErrors(t *testing.T) {
	_, g, _ := many(1)
	for _, c := range []struct {
		f    Fault
		want string
	}{
		{Fault{}, "no such kind"},
		{Fault{Kind: Silent + 1}, "no such kind"},
		{Fault{Kind: BitErrors}, "probability above 0"},
		{Fault{Kind: Drop, Prob: 1.5}, "from 0 to 1"},
		{Fault{Kind: Late}, "delay"},
		{Fault{Kind: Late, Delay: 1, From: 5, Until: 4}, "before it begins"},
		{Fault{Kind: Stray, Lead: 9}, "stray characters"},
		{Fault{Kind: Noise, Burst: 5, Every: 4}, "the period not shorter"},
		{Fault{Kind: Silent, Station: "nobody"}, `"nobody"`},
		{Fault{Kind: Silent, Station: "m"}, `"m"`},
	} {
		if _, err := g.Inject(c.f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q in it", c.f, err, c.want)
		}
	}
	if len(g.Faults()) != 0 {
		t.Error("a refused fault is on")
	}
	for _, n := range FaultKinds() {
		if k, ok := FaultKindOf(n); !ok || k.String() != n {
			t.Errorf("%q is kind %v", n, k)
		}
	}
	id, err := g.Inject(Fault{Kind: BitErrors, Prob: 0.5, Station: "m"})
	if err != nil || len(g.Faults()) != 1 {
		t.Fatal(err)
	}
	if g.Clear(id); len(g.Faults()) != 0 {
		t.Error("a cleared fault is on")
	}
}

// FuzzSegment plays bytes as what two clients do: whatever they do, nothing
// breaks, and afterwards the segment works.
func FuzzSegment(f *testing.F) {
	f.Add([]byte{0, 8, 5, 3, 0, 1, 0, 1, 0xd4, 0x4e, 10, 1, 1, 2, 3, 4})
	f.Add([]byte{2, 200, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	f.Fuzz(func(t *testing.T, b []byte) {
		x := newScene(Config{Echo: len(b)%2 == 1}, MasterConfig{Tolerance: 20 * ms, Slice: sim.Time(len(b)%3) * ms})
		lines := []rtu.Line{at19200, at115200, {Baud: 300, Data: 7, Parity: rtu.Odd, Stop: 2}, {Baud: 4000000, Data: 8, Stop: 1}}
		m := []*Master{x.m, x.m2}
		for len(b) >= 3 && x.e.Now() < 60*sim.Second {
			op, arg := b[0], b[1]
			b = b[2:]
			who := m[op>>7]
			switch op & 15 {
			case 0, 1, 2, 3, 4, 5:
				n := min(int(arg), len(b))
				who.Send(lines[op>>5&3], b[:n])
				b = b[n:]
			case 6:
				who.Listen(lines[arg&3])
			case 7:
				who.Purge()
			case 8:
				who.Close()
				m[op>>7] = x.g.AddMaster(MasterConfig{Name: "new"}, into{x, "new"})
			case 9:
				x.s5.Unplug()
			case 10:
				x.s5.Plug()
			case 11:
				x.s6.SetLine(lines[arg&3])
			case 12:
				x.g.Inject(Fault{Kind: FaultKind(arg & 7), Until: x.e.Now() + sim.Time(arg)*ms + 1, Prob: float64(arg) / 256, Delay: sim.Time(arg) * ms, Lead: int(arg & 3)})
			case 13:
				x.g.ClearFaults()
			case 14:
				x.g.Counters()
			}
			x.at(x.e.Now() + sim.Time(arg)*sim.Time(op)*10*sim.Microsecond)
		}
		x.g.ClearFaults()
		x.s5.Plug()
		x.s5.SetLine(at19200)
		x.at(x.e.Now() + 500*sim.Second) // a full queue at 300 baud takes 164 s
		last := x.g.AddMaster(MasterConfig{Name: "last"}, into{x, "last"})
		last.Send(at19200, read(5, 1, 1))
		x.at(x.e.Now() + sim.Second)
		if len(x.heard["last"]) < 7 {
			t.Fatalf("after it: %v", x.heard["last"])
		}
		if n := x.e.Pending(); n > 20 {
			t.Fatalf("%d events pending", n)
		}
	})
}
