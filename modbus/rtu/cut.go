package rtu

import (
	"bytes"

	"cnuas/internal/sim"
)

// cut hands out all that is decided at now.
func (f *Framer) cut(now sim.Time, handle func(*Frame)) {
	for f.n > 0 {
		end, closed, quiet := f.n, false, false
		if f.hard > 0 {
			end, closed, quiet = f.hard, true, true
		} else {
			silence := now - f.at[f.n-1]
			quiet = silence >= f.t35
			closed = silence >= f.t35+f.tolerance
		}
		if !f.failed {
			n, kind, v := f.look(0, end, quiet, true)
			if v == whole {
				f.give(n, kind, Good, handle)
				continue
			}
			f.failed = v == broken
		}
		if !quiet {
			// A pause that is past decides the same now as when it was new.
			if end = f.lastPause(end); end == 0 {
				return
			}
		}
		if n, kind := f.byPause(end); n > 0 {
			f.give(n, kind, Good, handle)
			continue
		}
		if f.failed || closed {
			if k := f.resync(end); k > 0 {
				f.give(k, Noise, f.why(k), handle)
				continue
			}
		}
		if closed {
			f.give(end, Noise, f.why(end), handle)
			continue
		}
		f.polled = quiet
		return
	}
}

// lastPause is the index of the last character below end with a pause of t3.5
// before it, or 0.
func (f *Framer) lastPause(end int) int {
	for i := end - 1; i > 0; i-- {
		if f.gap(i) >= f.t35 {
			return i
		}
	}
	return 0
}

// give hands out the first n characters.
func (f *Framer) give(n int, kind FrameKind, bad Bad, handle func(*Frame)) {
	f.frame = Frame{Kind: kind, Bad: bad, Start: f.at[0] - f.char, End: f.at[n-1], ADU: f.buf[:n]}
	for _, e := range f.err[:n] {
		f.frame.Err |= e
	}
	f.follow(&f.frame)
	was := f.resets
	handle(&f.frame)
	if f.resets != was {
		return
	}
	copy(f.buf[:], f.buf[n:f.n])
	copy(f.at[:], f.at[n:f.n])
	copy(f.err[:], f.err[n:f.n])
	f.n -= n
	f.failed, f.polled, f.hard = false, false, 0
	for i := 1; i < f.n; i++ {
		if f.gap(i) >= f.t35+f.tolerance {
			f.hard = i
			break
		}
	}
}

// why says what is wrong with the first n characters.
func (f *Framer) why(n int) Bad {
	var all LineError
	for _, e := range f.err[:n] {
		all |= e
	}
	switch {
	case all&Overrun != 0:
		return BadOver
	case all != 0:
		return BadChar
	case n < MinADU:
		return BadShort
	}
	length := RequestLen
	if f.expects(0, n) {
		length = ReplyLen
	}
	if l, _ := length(f.buf[:n]); l > n {
		return BadShort
	}
	return BadCRC
}

// valid says whether n good characters from p on end in their CRC.
func (f *Framer) valid(p, n int) bool {
	for _, e := range f.err[p : p+n] {
		if e != 0 {
			return false
		}
	}
	return CheckCRC(f.buf[p : p+n])
}

// echo says whether the characters from p are an own transmission, or how it
// begins.
func (f *Framer) echo(p, end int) (is, may bool) {
	if f.sentN == 0 {
		return false, false
	}
	s := f.sent[:f.sentN]
	b := f.buf[p:end]
	if len(b) < len(s) {
		return false, bytes.HasPrefix(s, b)
	}
	return bytes.HasPrefix(b, s) && f.valid(p, len(s)), false
}
