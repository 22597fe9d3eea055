package rtu

// maxStray is how many characters before a frame, without a pause, may be
// strays (transceivers make one or two when they are switched on).
const maxStray = 4

// maxTries bounds the places where a search for a frame's start looks, and so
// what hostile input costs.
const maxTries = 4

// byPause finds a frame whose length the bytes do not tell, or whose byte count
// lies (which the slave answers with an exception): from the start up to a
// pause, with the right CRC. While a reply is due that is too little to take
// something for a request, unless it is to a slave here and a pause is before it
// as well: what a damaged reply holds goes on from what was damaged.
func (f *Framer) byPause(end int) (int, FrameKind) {
	kind := Request
	if f.expects(0, end) {
		if n, ok := ReplyLen(f.buf[:end]); ok || n > 0 {
			return 0, Noise // the reply that is due has its length
		}
		kind = Reply
	} else if start := f.at[0] - f.char; f.replyDue(start) && (!f.isOwn(f.buf[0]) || start-f.frame.End < f.t35) {
		return 0, Noise
	}
	tries := 0
	for i := MinADU; i <= min(end, MaxADU) && tries < maxTries; i++ {
		if i < end && f.gap(i) < f.t35 {
			continue
		}
		if f.valid(0, i) {
			return i, kind
		}
		tries++
	}
	return 0, Noise
}

// resync looks for where frames begin again behind what is broken at 0: at a
// pause, or a few strays or a damaged character further on. From there all up
// to the next pause must be frames. While a reply is due only that reply is looked for
// without a pause: the data of a damaged reply may hold what looks like a
// request. It returns how many characters are noise, or 0: none found.
func (f *Framer) resync(end int) int {
	due := f.replyDue(f.at[0] - f.char)
	for k := 1; k <= min(maxStray, end-MinADU); k++ {
		if f.chain(k, end, due) {
			return k
		}
	}
	tries := 0
	for k := end - MinADU; k > 0 && tries < maxTries; k-- {
		pause := f.gap(k) >= f.t35
		if !pause && f.err[k-1] == 0 {
			continue
		}
		if f.chain(k, end, due && !pause) {
			return k
		}
		tries++
	}
	return 0
}

// chain says whether the characters from p up to a pause are frames and, behind
// them, only damaged characters. With reply the first must be the reply that is
// due.
func (f *Framer) chain(p, end int, reply bool) bool {
	if reply && !f.expects(p, end) {
		return false
	}
	for first := true; ; first = false {
		n, kind, v := f.look(p, end, true, false)
		if v != whole || reply && kind != Reply {
			return !first && f.damaged(p, end)
		}
		if p += n; p == end || f.gap(p) >= f.t35 {
			return true
		}
		reply = false
	}
}

// damaged says whether all characters from p up to a pause have errors.
func (f *Framer) damaged(p, end int) bool {
	for ; p < end; p++ {
		if f.err[p] == 0 {
			return false
		}
		if p+1 < end && f.gap(p+1) >= f.t35 {
			break
		}
	}
	return true
}
