package bus

import (
	"fmt"
	"testing"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

var (
	at19200  = rtu.Line{Baud: 19200, Data: 8, Parity: rtu.Even, Stop: 1}
	at115200 = rtu.Line{Baud: 115200, Data: 8, Parity: rtu.Even, Stop: 1}
)

// regs is a device of 100 registers that hold their own address.
type regs [100]uint16

func newRegs() *regs {
	r := new(regs)
	for i := range r {
		r[i] = uint16(i)
	}
	return r
}

func (r *regs) ReadRegisters(_ sim.Time, addr uint16, dst []uint16) rtu.Exception {
	if int(addr)+len(dst) > len(r) {
		return rtu.IllegalDataAddress
	}
	copy(dst, r[addr:])
	return rtu.OK
}

func (r *regs) WriteRegisters(_ sim.Time, addr uint16, src []uint16) rtu.Exception {
	if int(addr)+len(src) > len(r) {
		return rtu.IllegalDataAddress
	}
	copy(r[addr:], src)
	return rtu.OK
}

// ears keeps what a master hears, and the whole frames that its observers see.
type ears struct {
	bursts []string // "now: bytes", errors behind the byte
	last   []rtu.Char
	at     sim.Time
}

func (e *ears) ReceiveChars(now sim.Time, c []rtu.Char) {
	s := fmt.Sprintf("%v:", now)
	for _, x := range c {
		s += fmt.Sprintf(" %02x", x.Byte)
		if x.Err != 0 {
			s += fmt.Sprintf("!%d", x.Err)
		}
	}
	e.bursts = append(e.bursts, s)
	e.last = append(e.last[:0], c...)
	e.at = now
}

type log struct{ l []string }

func (l *log) Frame(f *Frame) {
	l.l = append(l.l, fmt.Sprintf("%d-%d %s %v %v % x %v", f.Start, f.End, f.Station, f.Kind, f.Bad, f.Bytes, f.Line))
}

func read(addr uint8, reg, n uint16) []byte {
	return rtu.AppendCRC([]byte{addr, 3, byte(reg >> 8), byte(reg), byte(n >> 8), byte(n)})
}

type rig struct {
	*Segment
	e *sim.Engine
	m *Master
	ears
	log
}

func newRig(c Config, l rtu.Line, addrs ...uint8) *rig {
	e := sim.NewEngine(7)
	r := &rig{Segment: New(e.NewProc(), c), e: e}
	for _, a := range addrs {
		r.AddSlave(fmt.Sprint("s", a), l, rtu.NewSlave(a, newRegs(), rtu.Options{}))
	}
	r.m = r.AddMaster(MasterConfig{Name: "m"}, &r.ears)
	r.Observe(&r.log)
	return r
}

func TestExchange(t *testing.T) {
	for _, l := range []rtu.Line{at19200, at115200, {Baud: 9600, Data: 8, Stop: 2}, {Baud: 300, Data: 8, Parity: rtu.Odd, Stop: 1}, {Baud: 4000000, Data: 8, Stop: 1}} {
		for _, turn := range []sim.Time{0, 3 * sim.Millisecond, 500 * sim.Millisecond} {
			r := newRig(Config{Name: "bus0", Turnaround: turn}, l, 5, 6, 7)
			r.m.Listen(l)
			r.e.RunUntil(sim.Millisecond)
			r.m.Send(l, read(6, 3, 2))
			r.e.RunUntil(5 * sim.Second)
			want := []byte{6, 3, 4, 0, 3, 0, 4}
			want = rtu.AppendCRC(want)
			q := sim.Millisecond + bitAt(0, l.Baud, 8*l.Bits())
			a := q + max(turn, l.T35())
			end := a + bitAt(0, l.Baud, 9*l.Bits())
			if r.at != end || len(r.ears.bursts) != 1 {
				t.Fatalf("%v: heard %v, want one burst at %v", l, r.ears.bursts, end)
			}
			wl := []string{
				fmt.Sprintf("%d-%d m request good % x %v", sim.Millisecond, q, read(6, 3, 2), l),
				fmt.Sprintf("%d-%d s6 reply good % x %v", a, end, want, l),
			}
			if fmt.Sprint(r.log.l) != fmt.Sprint(wl) {
				t.Fatalf("got  %v\nwant %v", r.log.l, wl)
			}
			for i, c := range r.ears.last {
				if c.Byte != want[i] || c.Err != 0 || c.At != bitAt(a, l.Baud, (i+1)*l.Bits()) {
					t.Fatalf("char %d: %+v", i, c)
				}
			}
			c := r.Counters()
			if c.Requests != 1 || c.Replies != 1 || c.Frames != 2 || c.Bytes != 17 || c.BadFrames != 0 || c.Masters[0].Replies != 1 || c.Stations[1].Replies != 1 || c.Unanswered != 0 {
				t.Errorf("%+v", c)
			}
		}
	}
}

// A slave's counters are of what it heard: not of its own replies.
func TestSlaveDoesNotHearItself(t *testing.T) {
	r := newRig(Config{}, at19200, 5, 6)
	for i, b := range [][]byte{read(5, 3, 2), read(6, 3, 2), read(5, 3, 2)} {
		r.e.RunUntil(sim.Time(i) * 100 * sim.Millisecond)
		r.m.Send(at19200, b)
	}
	r.e.RunUntil(sim.Second)
	for i, want := range []uint16{4, 5} { // three requests, and the replies of the other
		if c := r.stations[i].Slave().Counters(); c.Messages != want || c.CRCErrors != 0 {
			t.Errorf("%s: %+v, want %d messages", r.stations[i].Name(), c, want)
		}
	}
}

// TestPurgeLater: what begins in time goes out, over several line settings, and
// what is sent afterwards follows it.
func TestPurgeLater(t *testing.T) {
	slow := rtu.Line{Baud: 50, Data: 8, Parity: rtu.Even, Stop: 1} // 220 ms a character
	fast := bitAt(0, 19200, 11)
	for _, c := range []struct {
		after sim.Time
		gone  int
		end   sim.Time
	}{
		{0, 15, 0},
		{1, 14, 220 * sim.Millisecond},
		{500 * sim.Millisecond, 12, 660 * sim.Millisecond},
		{1100 * sim.Millisecond, 10, 1100 * sim.Millisecond},
		{1100*sim.Millisecond + fast + 1, 8, 1100*sim.Millisecond + bitAt(0, 19200, 22)},
		{1400 * sim.Millisecond, 3, 1540*sim.Millisecond + bitAt(0, 19200, 55)},
		{60 * sim.Second, 0, 2200*sim.Millisecond + bitAt(0, 19200, 55)},
	} {
		r := newRig(Config{Name: "bus0"}, at19200, 5)
		for _, l := range []rtu.Line{slow, at19200, slow} {
			r.m.Send(l, make([]byte, 5))
		}
		if n := r.m.PurgeLater(c.after); n != c.gone || r.m.Drained() != c.end {
			t.Errorf("after %v: %d are gone and the rest ends at %v, want %d and %v", c.after, n, r.m.Drained(), c.gone, c.end)
		}
		r.m.Send(at19200, read(5, 0, 1))
		r.e.RunUntil(10 * sim.Second)
		if n := r.Counters().Masters[0].Bytes; n != uint64(15-c.gone+8) {
			t.Errorf("after %v: %d bytes", c.after, n)
		}
	}
}
