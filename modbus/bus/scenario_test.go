package bus

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

const ms = sim.Millisecond

// scene is a segment at 19200 8E1 with slaves 5 and 6, and 7 at 115200, one or
// two masters, and a log of all that happens.
type scene struct {
	g        *Segment
	e        *sim.Engine
	s5       *Station
	s6       *Station
	s7       *Station
	m, m2    *Master
	out      []string
	frames   []Frame
	heard    map[string][]rtu.Char
	receives int
}

type into struct {
	x    *scene
	name string
}

func (i into) ReceiveChars(now sim.Time, c []rtu.Char) {
	s := fmt.Sprintf("%d %s hears", now, i.name)
	for _, x := range c {
		s += fmt.Sprintf(" %02x", x.Byte)
		if x.Err != 0 {
			s += fmt.Sprintf("!%d", x.Err)
		}
		if x.At > now {
			panic("delivered before its end")
		}
	}
	i.x.out = append(i.x.out, s)
	i.x.heard[i.name] = append(i.x.heard[i.name], c...)
	i.x.receives++
}

func (x *scene) Frame(f *Frame) {
	c := *f
	c.Bytes, c.Errs = bytes.Clone(f.Bytes), append([]rtu.LineError(nil), f.Errs...)
	x.frames = append(x.frames, c)
	x.out = append(x.out, fmt.Sprintf("%d-%d %s %v %v % x %v %v", f.Start, f.End, f.Station, f.Kind, f.Bad, f.Bytes, f.Errs, f.Collided))
}

func newScene(c Config, mc MasterConfig) *scene {
	x := &scene{e: sim.NewEngine(42), heard: map[string][]rtu.Char{}}
	c.Name = "bus0"
	x.g = New(x.e.NewProc(), c)
	x.g.Observe(x)
	add := func(name string, l rtu.Line, a uint8) *Station {
		return x.g.AddSlave(name, l, rtu.NewSlave(a, newRegs(), rtu.AllOptions()))
	}
	x.s5, x.s6, x.s7 = add("s5", at19200, 5), add("s6", at19200, 6), add("s7", at115200, 7)
	mc.Name = "m"
	x.m = x.g.AddMaster(mc, into{x, "m"})
	x.m2 = x.g.AddMaster(MasterConfig{Name: "m2"}, into{x, "m2"})
	return x
}

func (x *scene) at(t sim.Time) { x.e.RunUntil(t) }

// kinds lists the frames in short: "m:request" and so on, "!" for bad ones.
func (x *scene) kinds() string {
	var l []string
	for _, f := range x.frames {
		s := f.Station + ":" + f.Kind.String()
		if f.Bad != rtu.Good {
			s += "!"
		}
		l = append(l, s)
	}
	return strings.Join(l, " ")
}

func (x *scene) inject(t testing.TB, f Fault) {
	t.Helper()
	if _, err := x.g.Inject(f); err != nil {
		t.Fatal(err)
	}
}

var scenarios = []struct {
	name   string
	cfg    Config
	master MasterConfig
	do     func(t testing.TB, x *scene)
	kinds  string // of the frames on the wire
	check  func(t testing.TB, x *scene, c Counters)
}{
	{name: "a request in three pieces of a slow host is one frame",
		master: MasterConfig{Tolerance: 20 * ms},
		do: func(t testing.TB, x *scene) {
			b := read(5, 1, 1)
			x.m.Send(at19200, b[:2])
			x.at(9 * ms)
			x.m.Send(at19200, b[2:3])
			x.at(25 * ms)
			x.m.Send(at19200, b[3:])
		},
		kinds: "m:request s5:reply",
		check: func(t testing.TB, x *scene, c Counters) {
			if f := x.frames[0]; f.Start != 0 || f.End != 25*ms+bitAt(0, 19200, 55) {
				t.Errorf("request %v to %v", f.Start, f.End)
			}
		}},
	{name: "on a strict line a pause of more than t3.5 ends a frame",
		do: func(t testing.TB, x *scene) {
			b := read(5, 1, 1)
			x.m.Send(at19200, b[:3])
			x.at(9 * ms)
			x.m.Send(at19200, b[3:])
		},
		kinds: "m:noise! m:noise!"},
	{name: "pieces without a pause are one frame on a strict line",
		do: func(t testing.TB, x *scene) {
			b := read(5, 1, 1)
			x.m.Send(at19200, b[:3])
			x.at(1 * ms)
			x.m.Send(at19200, b[3:])
		},
		kinds: "m:request s5:reply",
		check: func(t testing.TB, x *scene, c Counters) {
			if f := x.frames[0]; f.End != bitAt(0, 19200, 88) {
				t.Errorf("the characters did not follow one another: end %v", f.End)
			}
		}},
	{name: "two requests 70 ms apart, the first to nobody, are two",
		master: MasterConfig{Tolerance: 50 * ms},
		do: func(t testing.TB, x *scene) {
			x.m.Send(at19200, read(9, 1, 1))
			x.at(70 * ms)
			x.m.Send(at19200, read(5, 1, 1))
		},
		kinds: "m:request m:request s5:reply",
		check: func(t testing.TB, x *scene, c Counters) {
			if c.Unanswered != 1 || c.Masters[0].Unanswered != 1 {
				t.Errorf("%d unanswered", c.Unanswered)
			}
		}},
	{name: "half a request and, 70 ms later, a whole one are not merged",
		master: MasterConfig{Tolerance: 50 * ms},
		do: func(t testing.TB, x *scene) {
			x.m.Send(at19200, read(5, 1, 1)[:5])
			x.at(70 * ms)
			x.m.Send(at19200, read(5, 1, 1))
		},
		kinds: "m:noise! m:request s5:reply"},
	{name: "two requests without a pause: only the last is followed by silence",
		do: func(t testing.TB, x *scene) {
			x.m.Send(at19200, append(read(5, 1, 1), read(6, 1, 1)...))
		},
		kinds: "m:request m:request s6:reply",
		check: func(t testing.TB, x *scene, c Counters) {
			if c.Stations[0].Cancelled != 1 || c.Stations[0].Requests != 1 {
				t.Errorf("s5 %+v", c.Stations[0])
			}
		}},
	{name: "a character within t3.5 after a request takes it back",
		do: func(t testing.TB, x *scene) {
			x.m.Send(at19200, read(5, 1, 1))
			x.at(bitAt(0, 19200, 88) + 1*ms)
			x.m.Send(at19200, []byte{0})
		},
		kinds: "m:request m:noise!",
		check: func(t testing.TB, x *scene, c Counters) {
			if c.Stations[0].Cancelled != 1 {
				t.Errorf("s5 %+v", c.Stations[0])
			}
		}},
	{name: "broadcast executes and nobody answers",
		do: func(t testing.TB, x *scene) {
			x.m.Send(at19200, rtu.AppendCRC([]byte{0, 6, 0, 3, 0x12, 0x34}))
			x.at(100 * ms)
			x.m.Send(at19200, read(6, 3, 1))
		},
		kinds: "m:request m:request s6:reply",
		check: func(t testing.TB, x *scene, c Counters) {
			if b := x.frames[2].Bytes; b[3] != 0x12 || b[4] != 0x34 {
				t.Errorf("reply % x", b)
			}
			if c.Broadcasts != 1 || c.Unanswered != 0 {
				t.Errorf("%+v", c)
			}
		}},
	{name: "a slave at another baud rate hears noise, and so does the master",
		do: func(t testing.TB, x *scene) {
			x.m.Send(at19200, read(7, 1, 1))
			x.at(100 * ms)
			x.m.Send(at115200, read(7, 1, 1)) // the master still listens at 19200
		},
		kinds: "m:request m:request s7:reply",
		check: func(t testing.TB, x *scene, c Counters) {
			if s := c.Stations[2]; s.Requests != 1 || s.Heard.Framing == 0 || s.BadHeard == 0 {
				t.Errorf("s7 %+v", s)
			}
			if m := c.Masters[0]; m.Replies != 0 || m.BadReplies != 1 || m.Heard.Chars == 0 || m.Heard.Framing == 0 {
				t.Errorf("m %+v", m)
			}
			if s := c.Stations[0]; s.Heard.Framing == 0 {
				t.Errorf("s5 heard 115200 baud well: %+v", s)
			}
		}},
	{name: "an exception is answered at once",
		do:    func(t testing.TB, x *scene) { x.m.Send(at19200, read(5, 9999, 1)) },
		kinds: "m:request s5:reply",
		check: func(t testing.TB, x *scene, c Counters) {
			if c.Exceptions != 1 || c.Replies != 0 || c.Masters[0].Exceptions != 1 || c.Stations[0].Exceptions != 1 {
				t.Errorf("%+v", c)
			}
		}},
	{name: "an unknown function code has no length: silence tells its end",
		master: MasterConfig{Tolerance: 30 * ms},
		do:     func(t testing.TB, x *scene) { x.m.Send(at19200, rtu.AppendCRC([]byte{5, 0x41, 1, 2, 3})) },
		kinds:  "m:request s5:reply",
		check: func(t testing.TB, x *scene, c Counters) {
			if f := x.frames[1]; f.Start < x.frames[0].End+at19200.T35() || f.Bytes[1] != 0xc1 || f.Bytes[2] != 1 {
				t.Errorf("%+v", f)
			}
		}},
	{name: "two masters at once: garbage for all others, and a slave that says nothing",
		do: func(t testing.TB, x *scene) {
			x.m.Send(at19200, read(5, 1, 1))
			x.at(2 * ms)
			x.m2.Send(at19200, read(6, 1, 1))
		},
		kinds: "m:noise! m2:noise!",
		check: func(t testing.TB, x *scene, c Counters) {
			if c.Collisions != 1 || c.Masters[0].Collisions != 1 || c.Masters[1].Collisions != 1 {
				t.Errorf("%+v", c)
			}
			for i, f := range x.frames {
				good := 0
				for k, e := range f.Errs {
					if e == 0 {
						good++
						if i == 0 && k >= 3 || i == 1 && k < len(f.Errs)-4 {
							t.Errorf("frame %d: character %d is heard well", i, k)
						}
					}
				}
				if !f.Collided || good == 0 || good == len(f.Errs) {
					t.Errorf("frame %d: %+v", i, f)
				}
			}
			if s := c.Stations[0]; s.Requests != 0 || s.Heard.Framing == 0 {
				t.Errorf("s5 %+v", s)
			}
		}},
	{name: "a master that talks into a reply",
		do: func(t testing.TB, x *scene) {
			x.m.Send(at19200, read(5, 1, 10))
			x.at(bitAt(0, 19200, 88) + 5*ms)
			x.m2.Send(at19200, read(6, 1, 1))
		},
		kinds: "m:request m2:noise! s5:reply!",
		check: func(t testing.TB, x *scene, c Counters) {
			if c.Masters[0].BadReplies != 1 || c.Masters[0].Replies != 0 || c.Masters[1].BadRequests != 1 {
				t.Errorf("%+v", c.Masters)
			}
		}},
	{name: "two slaves with one address talk at once",
		do: func(t testing.TB, x *scene) {
			x.g.AddSlave("twin", at19200, rtu.NewSlave(5, newRegs(), rtu.Options{}))
			x.m.Send(at19200, read(5, 1, 2))
		},
		kinds: "m:request s5:reply! twin:reply!",
		check: func(t testing.TB, x *scene, c Counters) {
			if c.Collisions != 1 || c.Masters[0].Replies != 0 || c.Masters[0].BadReplies != 1 {
				t.Errorf("%+v", c)
			}
			for _, h := range x.heard["m"] {
				if h.Err&rtu.FramingError == 0 {
					t.Errorf("heard %+v", h)
				}
			}
			if n := len(x.heard["m"]); n != 9 {
				t.Errorf("%d characters of garbage, want 9", n)
			}
		}},
	{name: "echo: the master hears itself",
		cfg:   Config{Echo: true},
		do:    func(t testing.TB, x *scene) { x.m.Send(at19200, read(5, 1, 1)) },
		kinds: "m:request s5:reply",
		check: func(t testing.TB, x *scene, c Counters) {
			if n := len(x.heard["m"]); n != 8+7 {
				t.Errorf("heard %d characters", n)
			}
		}},
	{name: "turnaround longer than t3.5",
		cfg:   Config{Turnaround: 20 * ms},
		do:    func(t testing.TB, x *scene) { x.m.Send(at19200, read(5, 1, 1)) },
		kinds: "m:request s5:reply",
		check: func(t testing.TB, x *scene, c Counters) {
			if d := x.frames[1].Start - x.frames[0].End; d != 20*ms {
				t.Errorf("reply after %v", d)
			}
		}},
	{name: "unplugged in the middle of its reply, and plugged in again",
		do: func(t testing.TB, x *scene) {
			x.m.Send(at19200, read(5, 1, 10))
			x.at(bitAt(0, 19200, 88) + at19200.T35() + bitAt(0, 19200, 35))
			x.s5.Unplug()
			x.at(200 * ms)
			x.m.Send(at19200, read(5, 1, 1))
			x.at(400 * ms)
			x.s5.Plug()
			x.m.Send(at19200, read(5, 1, 1))
		},
		kinds: "m:request s5:noise! m:request m:request s5:reply",
		check: func(t testing.TB, x *scene, c Counters) {
			if n := len(x.frames[1].Bytes); n != 4 {
				t.Errorf("%d characters of the broken reply, want 4", n)
			}
			if c.Unanswered != 2 || c.Stations[0].Unanswered != 2 {
				t.Errorf("unanswered %d", c.Unanswered)
			}
		}},
	{name: "unplugged while the reply waits for its turnaround",
		cfg: Config{Turnaround: 50 * ms},
		do: func(t testing.TB, x *scene) {
			x.m.Send(at19200, read(5, 1, 1))
			x.at(30 * ms)
			x.s5.Unplug()
		},
		kinds: "m:request"},
	{name: "a slave moves to another baud rate",
		do: func(t testing.TB, x *scene) {
			x.s5.SetLine(at115200)
			x.m.Send(at19200, read(5, 1, 1))
			x.at(100 * ms)
			x.m.Listen(at115200)
			x.m.Send(at115200, read(5, 1, 1))
		},
		kinds: "m:request m:request s5:reply",
		check: func(t testing.TB, x *scene, c Counters) {
			if c.Masters[0].Replies != 1 {
				t.Errorf("%+v", c.Masters[0])
			}
		}},
	{name: "a purge takes back what has not gone out",
		do: func(t testing.TB, x *scene) {
			x.m.Send(at19200, read(5, 1, 1))
			x.at(bitAt(0, 19200, 30))
			x.m.Purge()
			x.at(100 * ms)
			x.m.Send(at19200, read(6, 1, 1))
		},
		kinds: "m:noise! m:request s6:reply",
		check: func(t testing.TB, x *scene, c Counters) {
			if len(x.frames[0].Bytes) != 3 || c.Masters[0].Purged != 5 {
				t.Errorf("%d characters went out, %d purged", len(x.frames[0].Bytes), c.Masters[0].Purged)
			}
		}},
	{name: "a purge takes back what was heard",
		master: MasterConfig{Slice: 500 * ms},
		do: func(t testing.TB, x *scene) {
			x.m.Send(at19200, read(5, 1, 20))
			x.at(20 * ms)
			x.m.Purge()
		},
		kinds: "m:request s5:reply",
		check: func(t testing.TB, x *scene, c Counters) {
			if n := len(x.heard["m"]); n == 0 || n >= 45 {
				t.Errorf("%d characters heard", n)
			}
		}},
	{name: "slices: no character waits longer",
		master: MasterConfig{Slice: 2 * ms},
		do:     func(t testing.TB, x *scene) { x.m.Send(at19200, read(5, 1, 20)) },
		kinds:  "m:request s5:reply",
		check: func(t testing.TB, x *scene, c Counters) {
			if n := len(x.heard["m"]); n != 45 {
				t.Errorf("%d characters heard", n)
			}
			if x.receives < 9 {
				t.Errorf("%d slices in %v", x.receives, x.frames[1].End-x.frames[1].Start)
			}
		}},
	{name: "wrong CRC, and only of one station",
		do: func(t testing.TB, x *scene) {
			x.inject(t, Fault{Kind: WrongCRC, Station: "s5", Until: 300 * ms})
			for i, a := range []uint8{5, 6, 5} {
				x.at(sim.Time(i) * 200 * ms)
				x.m.Send(at19200, read(a, 1, 1))
			}
		},
		kinds: "m:request s5:reply! m:request s6:reply m:request s5:reply",
		check: func(t testing.TB, x *scene, c Counters) {
			if c.CRCErrors != 1 || c.Stations[0].CRCErrors != 1 || c.Masters[0].BadReplies != 1 || c.Masters[0].Replies != 2 {
				t.Errorf("%+v", c)
			}
		}},
	{name: "silent",
		do: func(t testing.TB, x *scene) {
			x.inject(t, Fault{Kind: Silent, From: 100 * ms, Until: 250 * ms})
			for i := range 4 {
				x.at(sim.Time(i) * 100 * ms)
				x.m.Send(at19200, read(5, 1, 1))
			}
		},
		kinds: "m:request s5:reply m:request m:request m:request s5:reply",
		check: func(t testing.TB, x *scene, c Counters) {
			if c.Unanswered != 2 || c.Masters[0].Replies != 2 {
				t.Errorf("%+v", c)
			}
		}},
	{name: "late: the reply meets the next request",
		do: func(t testing.TB, x *scene) {
			x.inject(t, Fault{Kind: Late, Delay: 70 * ms, Until: 50 * ms})
			x.m.Send(at19200, read(5, 1, 4))
			x.at(80 * ms)
			x.m.Send(at19200, read(6, 1, 1))
		},
		kinds: "m:request s5:reply! m:noise!",
		check: func(t testing.TB, x *scene, c Counters) {
			if m0 := c.Masters[0]; c.Collisions != 1 || m0.BadReplies != 1 || m0.BadRequests != 1 || c.Unanswered != 0 {
				t.Errorf("%+v", c)
			}
		}},
	{name: "late: a stale reply before the next request",
		do: func(t testing.TB, x *scene) {
			x.inject(t, Fault{Kind: Late, Delay: 70 * ms})
			x.m.Send(at19200, read(5, 1, 1))
			x.at(20 * ms)
			x.m.Send(at19200, read(5, 2, 1)) // not heard: the slave is busy
			x.at(200 * ms)
			x.m.Send(at19200, read(6, 1, 1))
		},
		kinds: "m:request m:request s5:reply m:request s6:reply",
		check: func(t testing.TB, x *scene, c Counters) {
			if c.Stations[0].Missed != 1 || x.frames[2].Bytes[4] != 1 {
				t.Errorf("%+v", c.Stations[0])
			}
		}},
	{name: "strays before and after",
		do: func(t testing.TB, x *scene) {
			x.inject(t, Fault{Kind: Stray, Lead: 2, Trail: 1, Station: "s6"})
			x.m.Send(at19200, read(6, 1, 1))
			x.at(100 * ms)
			x.m.Send(at19200, read(5, 1, 1))
		},
		kinds: "m:request s6:noise! s6:reply s6:noise! m:request s5:reply",
		check: func(t testing.TB, x *scene, c Counters) {
			if f := x.frames[1]; len(f.Bytes) != 2 || f.Start != x.frames[0].End+at19200.T35() || x.frames[2].Start != f.End {
				t.Errorf("%+v", f)
			}
			if n := len(x.heard["m"]); n != 3+7+7 {
				t.Errorf("heard %d", n)
			}
			if c.Masters[0].Replies != 2 {
				t.Errorf("%+v", c.Masters[0])
			}
		}},
	{name: "every character dropped but the gaps stay",
		do: func(t testing.TB, x *scene) {
			x.inject(t, Fault{Kind: Drop, Prob: 0.3, Station: "s5"})
			x.m.Send(at19200, read(5, 1, 10))
		},
		kinds: "m:request s5:reply!",
		check: func(t testing.TB, x *scene, c Counters) {
			h := x.heard["m"]
			overruns := 0
			for _, q := range h {
				if q.Err&rtu.Overrun != 0 {
					overruns++
				}
			}
			if len(h)+int(c.Lost) != 25 || c.Lost == 0 || overruns == 0 || x.frames[1].Bad != rtu.BadOver {
				t.Errorf("heard %d, lost %d, %d overruns, %v", len(h), c.Lost, overruns, x.frames[1].Bad)
			}
		}},
	{name: "bit errors on all that is sent",
		do: func(t testing.TB, x *scene) {
			x.inject(t, Fault{Kind: BitErrors, Prob: 0.01})
			for i := range 50 {
				x.at(sim.Time(i) * 100 * ms)
				x.m.Send(at19200, read(5, 1, 4))
			}
		},
		check: func(t testing.TB, x *scene, c Counters) {
			m := c.Masters[0]
			if m.Requests+m.BadRequests != 50 || m.Replies+m.Exceptions+m.BadReplies+m.Unanswered != m.Requests {
				t.Errorf("%+v", m)
			}
			if m.BadRequests == 0 || m.BadReplies == 0 || m.Replies == 0 || c.ParityErrors == 0 {
				t.Errorf("%+v", c)
			}
		}},
	{name: "noise in bursts and for ever",
		do: func(t testing.TB, x *scene) {
			x.inject(t, Fault{Kind: Noise, Until: sim.Second})
			x.at(2 * sim.Second)
			if n := len(x.g.Faults()); n != 0 {
				t.Errorf("%d faults are left", n)
			}
			x.m.Send(at19200, read(5, 1, 1))
			x.at(3 * sim.Second)
			x.inject(t, Fault{Kind: Noise, Burst: ms, Every: ms})
			x.at(3*sim.Second + 100*ms)
			x.m.Send(at19200, read(5, 1, 1))
			x.at(3*sim.Second + 200*ms)
			x.g.ClearFaults()
			x.at(3*sim.Second + 300*ms)
			x.m.Send(at19200, read(5, 1, 1))
		},
		check: func(t testing.TB, x *scene, c Counters) {
			m := c.Masters[0]
			if m.Requests != 2 || m.Replies != 2 || m.BadRequests != 1 {
				t.Errorf("%+v\n%s", m, x.kinds())
			}
			if c.NoiseBursts < 15 || m.Heard.Framing < 40 {
				t.Errorf("%d bursts, heard %+v", c.NoiseBursts, m.Heard)
			}
		}},
	{name: "a flood is refused, not stored",
		do: func(t testing.TB, x *scene) {
			n := x.m.Send(at19200, make([]byte, 1<<20))
			if n != DefaultQueue || x.m.Room() != 0 || x.m.Send(at19200, []byte{1}) != 0 {
				t.Errorf("%d taken, room %d", n, x.m.Room())
			}
			x.at(sim.Second)
			if r := x.m.Room(); r != 1745 { // 19200 bits/s at 11 a character, less the one under way
				t.Errorf("room after 1 s: %d", r)
			}
			x.at(3 * sim.Second)
			x.m.Send(at19200, read(5, 1, 1))
		},
		check: func(t testing.TB, x *scene, c Counters) {
			if m := c.Masters[0]; m.Refused != 1<<20-DefaultQueue+1 || m.Replies != 1 || m.Bytes != DefaultQueue+8 {
				t.Errorf("%+v", m)
			}
			for _, f := range x.frames[:len(x.frames)-2] {
				if len(f.Bytes) > held {
					t.Errorf("a frame of %d bytes", len(f.Bytes))
				}
			}
		}},
	{name: "a closed master is gone",
		do: func(t testing.TB, x *scene) {
			x.m.Send(at19200, read(5, 1, 1))
			x.at(ms)
			x.m.Close()
			x.m.Close()
			if x.m.Send(at19200, []byte{1}) != 0 {
				t.Error("a closed master sends")
			}
			x.at(200 * ms)
			x.m2.Send(at19200, read(5, 1, 1))
		},
		kinds: "m:noise! m2:request s5:reply",
		check: func(t testing.TB, x *scene, c Counters) {
			if len(x.heard["m"]) != 0 || len(c.Masters) != 1 || len(x.g.senders) != 4 {
				t.Errorf("%d masters, %d senders", len(c.Masters), len(x.g.senders))
			}
		}},
	{name: "a setting that no UART has",
		do: func(t testing.TB, x *scene) {
			for _, l := range []rtu.Line{{}, {Baud: 0, Data: 8, Stop: 1}, {Baud: 9600, Data: 5, Stop: 1}, {Baud: 1 << 40, Data: 8, Stop: 1}, {Baud: 9600, Data: 8, Stop: 3}, {Baud: 9600, Data: 8, Stop: 1, Parity: 9}} {
				if n := x.m.Send(l, []byte{1, 2, 3}); n != 0 {
					t.Errorf("%v: %d sent", l, n)
				}
				if err := x.m.Listen(l); err == nil {
					t.Errorf("%v: listens", l)
				}
			}
		},
		check: func(t testing.TB, x *scene, c Counters) {
			if c.Masters[0].Refused != 18 {
				t.Errorf("%+v", c.Masters[0])
			}
		}},
	{name: "baud changes in the middle of a frame",
		do: func(t testing.TB, x *scene) {
			b := read(5, 1, 1)
			x.m.Send(at19200, b[:4])
			x.m.Send(at115200, b[4:])
			x.at(100 * ms)
			x.m.Send(at19200, read(5, 1, 1))
		},
		kinds: "m:noise! m:noise! m:request s5:reply"},
}

// play plays one scenario to its end; disturb looks at the segment in between.
func play(t testing.TB, i int, disturb bool) (*scene, Counters) {
	s := scenarios[i]
	x := newScene(s.cfg, s.master)
	if disturb {
		d := &disturber{g: x.g, p: x.e.NewProc()}
		d.p.At(12345678, d, 0, 0)
	}
	s.do(t, x)
	x.at(x.e.Now() + 2*sim.Second)
	return x, x.g.Counters()
}

// disturber reads the counters again and again.
type disturber struct {
	g *Segment
	p *sim.Proc
}

func (d *disturber) HandleEvent(now sim.Time, _ uint32, _ uint64) {
	d.g.Counters()
	d.p.At(now+333*sim.Microsecond+77, d, 0, 0)
}

func TestScenarios(t *testing.T) {
	for i, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			x, c := play(t, i, false)
			if s.kinds != "" && x.kinds() != s.kinds {
				t.Errorf("on the wire: %s\nwant         %s\n%s", x.kinds(), s.kinds, strings.Join(x.out, "\n"))
				return
			}
			if s.check != nil {
				s.check(t, x, c)
			}
			// No reply begins before t3.5 after the last character of a request.
			for k, f := range x.frames {
				if k > 0 && f.Kind == rtu.Reply && f.Bad == rtu.Good && x.frames[k-1].Kind == rtu.Request && f.Start < x.frames[k-1].End+f.Line.T35() {
					t.Errorf("frame %d begins at %v, the request ended at %v", k, f.Start, x.frames[k-1].End)
				}
			}
			if x.e.Pending() > 6 {
				t.Errorf("%d events are left on a quiet wire", x.e.Pending())
			}
			y, d := play(t, i, false)
			if !reflect.DeepEqual(x.out, y.out) || !reflect.DeepEqual(c, d) {
				t.Error("a second run differs")
			}
			z, e := play(t, i, true)
			if !reflect.DeepEqual(x.out, z.out) || !reflect.DeepEqual(c, e) {
				t.Errorf("a run in which somebody looks differs: %s\n%+v\n%+v", firstDiff(x.out, z.out), c, e)
			}
		})
	}
}

// firstDiff is the first line in which two logs differ.
func firstDiff(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\n%.300s\n%.300s", i, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(a), len(b))
}
