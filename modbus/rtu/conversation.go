package rtu

import "cnuas/internal/sim"

// opened is the request that waits for its reply.
type opened struct {
	is    bool
	n     int      // length of the request
	head  [10]byte // its first bytes: the longest request whose reply is the same bytes has 10
	reply int      // length of the regular reply; 0: the reply says it
	end   sim.Time
}

// follow notes what a frame means for those that come after it.
func (f *Framer) follow(fr *Frame) {
	switch fr.Kind {
	case Reply:
		if f.open.is && f.open.head[0] == fr.ADU[0] {
			f.open.is = false
		}
		f.sentN = 0
	case Request:
		f.open = opened{is: fr.ADU[0] != Broadcast, n: len(fr.ADU), reply: replyTo(fr.ADU), end: fr.End}
		copy(f.open.head[:], fr.ADU)
		f.sentN = 0
	}
}

// replyTo is the length of the regular reply to a request, or 0 where the
// request does not tell.
func replyTo(req []byte) int {
	if len(req) < 8 {
		return 0
	}
	switch n := int(be16(req, 4)); req[1] {
	case ReadCoils, ReadDiscreteInputs:
		if n <= MaxReadBits {
			return 5 + (n+7)/8
		}
	case ReadHoldingRegisters, ReadInputRegisters, ReadWriteRegisters:
		if n <= MaxReadRegisters {
			return 5 + 2*n
		}
	}
	return 0
}

// expects says whether the characters from p on can be the reply that is due.
func (f *Framer) expects(p, end int) bool {
	o := &f.open
	b := f.buf[p:end]
	if !o.is || b[0] != o.head[0] || f.isOwn(b[0]) {
		return false
	}
	if len(b) == 1 || b[1] == o.head[1]|ExceptionBit {
		return true
	}
	if b[1] != o.head[1] {
		return false
	}
	if o.reply > 0 && len(b) > 2 {
		return int(b[2])+5 == o.reply
	}
	m := min(len(b), echoed(o.head[:]))
	return string(b[:m]) == string(o.head[:m])
}

// echoed is how many bytes of the reply to a request are its own, from the
// address on.
func echoed(req []byte) int {
	switch req[1] {
	case WriteSingleCoil, WriteSingleRegister, WriteMultipleCoils, WriteMultipleRegisters:
		return 6
	case MaskWriteRegister:
		return 8
	case Diagnostics:
		if be16(req, 2) == DiagReturnQuery {
			return 6
		}
		return 4 // the sub-function
	case Encapsulated:
		return 4 // MEI type, code
	}
	return 2
}

// repeats says whether the n characters from p on are the request that is open,
// byte by byte, but too late to be its echo.
func (f *Framer) repeats(p, n int) bool {
	o := &f.open
	if n != o.n || f.at[p]-f.char-o.end <= f.window {
		return false
	}
	m := min(n, len(o.head))
	return string(f.buf[p:p+m]) == string(o.head[:m])
}

// replyDue says whether what begins at t may be a slave's reply.
func (f *Framer) replyDue(t sim.Time) bool {
	if f.isOwn(f.open.head[0]) && f.sentN == 0 {
		return false // it has not answered yet, or is not heard
	}
	return f.open.is && t-f.open.end <= f.window
}

// A verdict on the characters at some place.
type verdict uint8

const (
	broken  verdict = iota // no frame begins here, whatever follows
	partial                // a frame may begin here
	whole                  // a frame
)

// look judges the characters from p up to end. quiet says that none follow for
// t3.5 or more; alone that what follows has not been judged.
func (f *Framer) look(p, end int, quiet, alone bool) (n int, kind FrameKind, v verdict) {
	is, due := f.echo(p, end)
	if is {
		return f.sentN, Reply, whole
	}
	b := f.buf[p:end]
	rn, rok := ReplyLen(b)
	if f.expects(p, end) {
		if rok && rn <= len(b) && f.valid(p, rn) {
			if f.repeats(p, rn) {
				return rn, Request, whole
			}
			return rn, Reply, whole
		}
		due = due || !rok && rn > 0 || rok && rn > len(b)
	}
	qn, qok := RequestLen(b)
	if qok && qn <= len(b) && f.valid(p, qn) {
		// It may begin like the reply that is due and, a long way before its
		// end, happen to pass for a request. Or it may be what a damaged reply
		// holds: then it does not end where a pause begins.
		fragment := alone && f.replyDue(f.at[p]-f.char)
		next := p + qn
		switch {
		case next < end && f.gap(next) >= f.t35 || !due && !fragment:
			return qn, Request, whole
		case !quiet:
			return 0, Noise, partial
		case !fragment || next == end || f.damaged(next, end) || f.chain(next, end, false):
			return qn, Request, whole
		}
		return 0, Noise, broken
	}
	if !due && rok && rn <= len(b) && f.valid(p, rn) {
		return rn, Reply, whole
	}
	// A length that the bytes do not tell leaves it to a pause.
	if qok && qn <= len(b) && (rok && rn <= len(b) || !rok && rn == 0) {
		return 0, Noise, broken
	}
	for _, e := range f.err[p:end] {
		if e != 0 { // whatever follows, the frame would contain it
			return 0, Noise, broken
		}
	}
	return 0, Noise, partial
}
