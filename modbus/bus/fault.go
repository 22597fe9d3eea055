package bus

import (
	"fmt"
	"math"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// FaultKind is what goes wrong.
type FaultKind uint8

// Kinds of faults.
const (
	Noise     FaultKind = iota + 1 // bursts of characters that nobody sends; what others send meanwhile is garbage
	BitErrors                      // bits of what is sent flip, each with a probability
	Drop                           // characters get lost, each with a probability: receivers report an overrun
	Stray                          // characters without meaning directly before or after a reply
	Late                           // replies come later
	WrongCRC                       // replies with a wrong CRC, as some bootloaders send
	Silent                         // requests are executed and not answered
)

var faultNames = [...]string{Noise: "noise", BitErrors: "bit-errors", Drop: "drop", Stray: "stray", Late: "late", WrongCRC: "wrong-crc", Silent: "silent"}

// FaultKinds are the names of all kinds, as the command line has them.
func FaultKinds() []string { return append([]string(nil), faultNames[1:]...) }

// FaultKindOf returns the kind of a name.
func FaultKindOf(name string) (FaultKind, bool) {
	for k, n := range faultNames {
		if n == name && k > 0 {
			return FaultKind(k), true
		}
	}
	return 0, false
}

// String names the kind.
func (k FaultKind) String() string {
	if int(k) < len(faultNames) && k > 0 {
		return faultNames[k]
	}
	return fmt.Sprintf("fault %d", uint8(k))
}

// Fault is something wrong with a segment for some time.
type Fault struct {
	Kind  FaultKind
	From  sim.Time // in the past, or zero: from now on
	Until sim.Time // zero: until cleared
	// Station is the one whose transmissions are affected, a slave or a master;
	// "": all. Noise has none.
	Station string
	// Prob is the probability per bit (BitErrors), per character (Drop) or per
	// reply (all others but Noise, for which zero means 1), up to 1.
	Prob float64
	// Delay of Late: added to the turnaround.
	Delay sim.Time
	// Lead and Trail of Stray: characters before and after the reply, up to 8;
	// both zero: one after.
	Lead, Trail int
	// Burst and Every of Noise: length of a burst, zero for 2 ms, and the mean
	// time from one to the next, zero for 50 ms. Not below Burst; equal: noise
	// without an end.
	Burst, Every sim.Time
}

const maxStray = 8

type fault struct {
	Fault
	id   uint64
	rand *sim.Rand
	skip int64 // of BitErrors: good bits before the next bad one
}

// Inject starts a fault now or later. Several may be on at once. It returns a
// number for Clear, or an error that says what the fault lacks.
func (g *Segment) Inject(f Fault) (id uint64, err error) {
	now := g.p.Now()
	if err := g.checkFault(&f, now); err != nil {
		return 0, fmt.Errorf("segment %s: fault %v: %w", g.cfg.Name, f.Kind, err)
	}
	g.advance(now)
	g.seq++
	x := &fault{Fault: f, id: g.seq, rand: g.p.NewRand(1 + g.seq)}
	x.From = max(f.From, now)
	if x.Until == 0 {
		x.Until = sim.Forever
	}
	g.expire(now)
	g.faults = append(g.faults, x)
	switch f.Kind {
	case BitErrors:
		x.next()
	case Noise:
		g.startNoise(x)
	}
	return x.id, nil
}

func (g *Segment) checkFault(f *Fault, now sim.Time) error {
	if f.Kind < Noise || f.Kind > Silent {
		return fmt.Errorf("no such kind")
	}
	if f.Until != 0 && f.Until <= max(now, f.From) {
		return fmt.Errorf("it ends at %v, before it begins", f.Until)
	}
	if !(f.Prob >= 0 && f.Prob <= 1) {
		return fmt.Errorf("probability %v: must be from 0 to 1", f.Prob)
	}
	switch f.Kind {
	case BitErrors, Drop:
		if f.Prob == 0 {
			return fmt.Errorf("give a probability above 0, such as 0.001")
		}
	case Late:
		if f.Delay <= 0 || f.Delay > 60*sim.Second {
			return fmt.Errorf("delay %v: must be above 0 and up to 60 s", f.Delay)
		}
	case Stray:
		if f.Lead < 0 || f.Trail < 0 || f.Lead > maxStray || f.Trail > maxStray {
			return fmt.Errorf("%d and %d stray characters: must be from 0 to %d", f.Lead, f.Trail, maxStray)
		}
		if f.Lead+f.Trail == 0 {
			f.Trail = 1
		}
	case Noise:
		if f.Burst == 0 {
			f.Burst = 2 * sim.Millisecond
		}
		if f.Every == 0 {
			f.Every = max(50*sim.Millisecond, f.Burst)
		}
		if f.Burst < 0 || f.Every < f.Burst || f.Every > 3600*sim.Second {
			return fmt.Errorf("bursts of %v every %v: must be above 0, and the period not shorter, up to an hour", f.Burst, f.Every)
		}
	}
	if f.Prob == 0 {
		f.Prob = 1
	}
	if f.Station == "" || f.Kind == Noise {
		return nil
	}
	for _, s := range g.senders {
		if s.name == f.Station && (s.station != nil || f.Kind == BitErrors || f.Kind == Drop) {
			return nil
		}
	}
	return fmt.Errorf("no station %q that it could happen to", f.Station)
}

// Faults returns those that are on or to come.
func (g *Segment) Faults() []Fault {
	g.expire(g.p.Now())
	var l []Fault
	for _, f := range g.faults {
		l = append(l, f.Fault)
	}
	return l
}

// Clear ends one fault; one that has ended already is no error.
func (g *Segment) Clear(id uint64) {
	g.clear(func(f *fault) bool { return f.id == id })
}

// ClearFaults ends all faults.
func (g *Segment) ClearFaults() { g.clear(func(*fault) bool { return true }) }

func (g *Segment) clear(which func(*fault) bool) {
	now := g.p.Now()
	g.advance(now)
	for _, f := range g.faults {
		if which(f) {
			f.Until = now
		}
	}
	for _, n := range g.noises {
		if which(n.f) {
			n.stop(now)
		}
	}
	g.expire(now)
	g.rearm(now)
}

// expire forgets what has ended.
func (g *Segment) expire(now sim.Time) {
	n := 0
	for _, f := range g.faults {
		if f.Until > now {
			g.faults[n] = f
			n++
		}
	}
	clear(g.faults[n:])
	g.faults = g.faults[:n]
}

func (f *fault) on(at sim.Time, s *sender) bool {
	return at >= f.From && at < f.Until && (f.Station == "" || f.Station == s.name)
}

// next draws how many bits are good: a geometric distribution, so that rare
// errors cost nothing in between.
func (f *fault) next() {
	if f.Prob >= 1 {
		f.skip = 0
		return
	}
	f.skip = int64(min(math.Log(1-f.rand.Float64())/math.Log1p(-f.Prob), 1e15))
}

// spoil does to a character on the wire what faults do.
func (g *Segment) spoil(w *wireChar) {
	for _, f := range g.faults {
		if f.Kind > Drop || f.Kind == Noise || !f.on(w.start, w.from) {
			continue
		}
		if f.Kind == Drop {
			w.lost = w.lost || f.rand.Chance(f.Prob)
			continue
		}
		n := int64(w.line.Bits())
		for f.skip < n {
			w.bits ^= 1 << f.skip
			w.clean = false
			at := f.skip
			f.next()
			f.skip += at + 1
		}
		f.skip -= n
	}
}

// spoilReply does to a reply what faults do: it returns how much later it is to
// begin, and whether it is not to be sent.
func (g *Segment) spoilReply(t *Station) (late sim.Time, silent bool) {
	t.exception = t.reply[1]&rtu.ExceptionBit != 0
	if t.spoil {
		t.reply[len(t.reply)-1] ^= 0x5a
		g.c.RepliesSpoiled++
	}
	for _, f := range g.faults {
		if f.Kind <= Drop || !f.on(t.since, t.sender) || !f.rand.Chance(f.Prob) {
			continue
		}
		g.c.RepliesSpoiled++
		switch f.Kind {
		case Late:
			late += f.Delay
		case Silent:
			silent = true
		case WrongCRC:
			t.reply[t.part[0]+t.part[1]-1] ^= 0x5a
		case Stray:
			t.stray(f)
		}
	}
	return late, silent
}

// stray puts characters around the reply.
func (t *Station) stray(f *fault) {
	for range f.Lead {
		if t.part[0] == maxStray {
			break
		}
		t.reply = append(t.reply, 0)
		copy(t.reply[1:], t.reply)
		t.reply[0] = byte(f.rand.Uint32())
		t.part[0]++
	}
	for range f.Trail {
		if t.part[2] == maxStray {
			break
		}
		t.reply = append(t.reply, byte(f.rand.Uint32()))
		t.part[2]++
	}
}
