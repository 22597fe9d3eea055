package rtu

import "cnuas/internal/sim"

// ReplyWindow is how long after a request a Framer still takes bytes that are
// both its echo and its repetition for the reply: below any master's timeout
// for writes, above any slave's turnaround. On lines below some 3000 baud it is
// 8 times t3.5.
const ReplyWindow = 100 * sim.Millisecond

// held is how many characters a Framer keeps: a frame, and one behind it.
const held = 2 * MaxADU

// Framer cuts what a station hears on a wire into ADUs, requests and replies of
// all stations. Length and CRC decide first, so that a frame whose pieces come
// late is whole and two frames without a pause are two; silence, measured on
// the characters' stamps, ends only what is incomplete, unknown or broken.
//
// It follows the conversation: after a request to a slave that slave's reply is
// expected, and the bytes of a reply are never searched for requests. A whole
// request to anyone is still one, at the latest when t3.5 has passed behind it
// (Frame.End tells when it ended), so a slave that does not answer blocks nobody.
// Without that pause, or with an unknown function code, what comes within
// ReplyWindow of a request without a reply is not taken for one: it may be what
// a damaged reply holds.
//
// What no station could tell it does not tell: two slaves of one address, and a
// fragment of a reply, between two pauses, that is a request to the last bit.
//
// The zero value is not usable: NewFramer. A Framer allocates nothing.
type Framer struct {
	char      sim.Time // of the line
	t35       sim.Time // of the line
	window    sim.Time // ReplyWindow, longer on a slow line
	tolerance sim.Time
	own       [4]uint64 // addresses whose replies come only by Sent

	buf  [held]byte
	at   [held]sim.Time
	err  [held]LineError
	n    int
	hard int // index of the first character behind a silence that ends a frame; 0: none

	failed bool // what begins at 0 is no frame; found once
	polled bool // the pause of t3.5 after the last character has been looked at

	open   opened
	sent   [MaxADU]byte
	sentN  int
	frame  Frame
	resets uint64 // a handler may Reset: then the buffer is not what it was
}

// NewFramer makes a framer for a station that listens at line. Silence of t3.5
// plus tolerance ends what is incomplete: 0 on a wire, 20 to 50 ms where the
// stamps are those of a guest's writes.
func NewFramer(line Line, tolerance sim.Time) *Framer {
	f := &Framer{tolerance: tolerance}
	f.SetLine(line)
	return f
}

// SetLine changes the line and forgets what is held.
func (f *Framer) SetLine(l Line) {
	f.char, f.t35 = l.CharTime(), l.T35()
	f.window = max(ReplyWindow, 8*f.t35)
	f.Reset()
}

// SetTolerance changes the tolerance for what comes from now on.
func (f *Framer) SetTolerance(t sim.Time) { f.tolerance = t }

// SetOwn says whether the slave addr is a station that calls Sent (or does not
// hear itself): a frame with its address is then a request whenever it can be
// one, also if it repeats the last one.
func (f *Framer) SetOwn(addr uint8, own bool) {
	if own {
		f.own[addr>>6] |= 1 << (addr & 63)
	} else {
		f.own[addr>>6] &^= 1 << (addr & 63)
	}
}

func (f *Framer) isOwn(addr uint8) bool { return f.own[addr>>6]>>(addr&63)&1 != 0 }

// Sent tells of a reply that this station begins to transmit and will hear
// itself (do not call it where the own transmitter is not heard): the same
// bytes are then a Reply once.
func (f *Framer) Sent(adu []byte) { f.sentN = copy(f.sent[:], adu) }

// Reset forgets characters and conversation, as after power-on.
func (f *Framer) Reset() {
	f.n, f.hard, f.failed, f.polled, f.sentN = 0, 0, false, false, 0
	f.open = opened{}
	f.resets++
}

// Pending is how many characters wait for more.
func (f *Framer) Pending() int { return f.n }

// Deadline is when Feed must be called, with nothing if nothing came, for
// silence to have its effect; false: silence changes nothing.
func (f *Framer) Deadline() (sim.Time, bool) {
	if f.n == 0 {
		return 0, false
	}
	t := f.at[f.n-1] + f.t35
	if f.polled {
		t += f.tolerance
	}
	return t, true
}

// Feed takes characters in the order of their stamps, none later than now, and
// hands each frame that is then known to handle. Call it with none at Deadline.
func (f *Framer) Feed(now sim.Time, c []Char, handle func(*Frame)) {
	for {
		i := 0
		for ; i < len(c) && f.n < held; i++ {
			f.push(c[i])
		}
		c = c[i:]
		if len(c) == 0 {
			f.cut(now, handle)
			return
		}
		f.cut(c[0].At-f.char, handle)
		if f.n == held { // nothing begins here and nothing ends: a flood
			f.give(held, Noise, BadCRC, handle)
		}
	}
}

func (f *Framer) push(c Char) {
	i := f.n
	f.buf[i], f.at[i], f.err[i] = c.Byte, c.At, c.Err
	if f.hard == 0 && i > 0 && f.gap(i) >= f.t35+f.tolerance {
		f.hard = i
	}
	f.n++
	f.polled = false
}

// gap is the silence before the held character i.
func (f *Framer) gap(i int) sim.Time { return f.at[i] - f.char - f.at[i-1] }
