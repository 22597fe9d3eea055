package sim

// Timer is a deadline that may be moved many times for each time it expires,
// as retransmission timers are: moving it later costs two stores. At most one
// event of a timer waits in the engine unless the deadline moves earlier.
type Timer struct {
	p        *Proc
	h        Handler
	op       uint32
	arg      uint64
	deadline Time // Forever: stopped
	queued   Time // earliest event outstanding; Forever: none
}

// Init binds the timer to a process and to what it calls on expiry. A Timer
// is embedded by value in the object that owns it.
func (t *Timer) Init(p *Proc, h Handler, op uint32, arg uint64) {
	*t = Timer{p: p, h: h, op: op, arg: arg, deadline: Forever, queued: Forever}
}

// Reset makes the timer expire at the given time.
func (t *Timer) Reset(at Time) {
	t.deadline = at
	if at < t.queued {
		t.queued = at
		t.p.At(at, t, 0, uint64(at))
	}
}

// Stop disarms the timer.
func (t *Timer) Stop() { t.deadline = Forever }

// Armed tells whether the timer is going to expire.
func (t *Timer) Armed() bool { return t.deadline != Forever }

// Deadline is the time of expiry; Forever when stopped.
func (t *Timer) Deadline() Time { return t.deadline }

// HandleEvent implements Handler; only the engine calls it.
func (t *Timer) HandleEvent(now Time, _ uint32, at uint64) {
	if Time(at) != t.queued {
		return // an older event, superseded when the deadline moved earlier
	}
	t.queued = Forever
	switch {
	case t.deadline == Forever:
	case t.deadline > now:
		t.queued = t.deadline
		t.p.At(t.deadline, t, 0, uint64(t.deadline))
	default:
		t.deadline = Forever
		t.h.HandleEvent(now, t.op, t.arg)
	}
}
