package switching

import "fmt"

// Class says how the shared buffer treats one priority.
type Class struct {
	Lossless bool

	// A lossless priority: what is held of one ingress port goes to the shared
	// buffer up to a threshold and to the headroom above it, and the sender is
	// stopped. The threshold is Xoff bytes, or Alpha x (free shared buffer) if
	// Xoff is 0. The sender may go on when the headroom is empty and the shared
	// part at or below Xon, or XonOffset below the dynamic threshold (but not
	// below half of it).
	Xoff, Xon int64
	XonOffset int64

	// Any other priority: what waits in one egress queue is limited to
	// Alpha x (free shared buffer), and to Limit bytes unless that is 0.
	Limit int64

	Alpha float64
}

// FlowControl is told when a sender must stop and when it may go on. Calls come
// from within Admit and Release.
type FlowControl interface {
	Stop(port, prio int)
	Resume(port, prio int)
}

// Buffer accounts for the memory of a switch in bytes. It holds no frames.
//
// The dynamic threshold is that of Choudhury and Hahne ("Dynamic queue length
// thresholds for shared-memory packet switches", IEEE/ACM ToN 6(2), 1998); the
// division into shared buffer and headroom per ingress port and priority is
// the one that switch chips with PFC document.
type Buffer struct {
	class  [Priorities]Class
	groups []group // port x Priorities + prio
	flow   FlowControl

	shared int64 // size of the part that is shared
	used   int64 // of the shared part
	inHead int64 // held in headrooms, all together
	peak   int64 // most of used + inHead
}

// group is what one ingress port holds of one priority.
type group struct {
	shared, head int64
	headroom     int64 // limit of head
	peak         int64 // most of shared + head
	headPeak     int64
	stopped      bool
}

// NewBuffer returns an empty buffer of total bytes. headroom has an entry per
// port; what it reserves for lossless priorities is taken from the total, and
// the error says so if nothing is left to share.
func NewBuffer(total int64, class [Priorities]Class, headroom [][Priorities]int64, fc FlowControl) (*Buffer, error) {
	b := &Buffer{class: class, groups: make([]group, len(headroom)*Priorities), flow: fc, shared: total}
	for i, h := range headroom {
		for p := range Priorities {
			if class[p].Lossless {
				b.groups[i*Priorities+p].headroom = h[p]
				b.shared -= h[p]
			}
		}
	}
	if b.shared <= 0 {
		return nil, fmt.Errorf("buffer: %d bytes, of which %d are reserved as headroom for flow control: nothing is left to share; make the buffer larger or the headroom smaller", total, total-b.shared)
	}
	return b, nil
}

// Threshold is what one ingress port may hold of a lossless priority, or one
// queue of another, at the present occupancy, in bytes.
func (b *Buffer) Threshold(prio int) int64 {
	c := &b.class[prio]
	if c.Lossless && c.Xoff > 0 {
		return c.Xoff
	}
	t := int64(c.Alpha * float64(b.shared-b.used))
	if !c.Lossless && c.Limit > 0 {
		t = min(t, c.Limit)
	}
	return t
}

// Admit accounts for a frame of n bytes that arrived at a port and is to wait
// in a queue that holds queued bytes. It reports false and the reason if there
// is no room. port is -1 for a frame that the switch made itself, which has no
// sender that could be stopped.
func (b *Buffer) Admit(port, prio int, n int32, queued int64) (DropReason, bool) {
	c := &b.class[prio]
	size := int64(n)
	free := b.shared - b.used
	if c.Lossless && port >= 0 {
		g := &b.groups[port*Priorities+prio]
		if size <= free && g.shared+size <= b.Threshold(prio) {
			b.take(g, size)
			return 0, true
		}
		ok := g.head+size <= g.headroom
		if ok {
			g.head += size
			b.inHead += size
			g.headPeak = max(g.headPeak, g.head)
			b.peaks(g)
		}
		// A sender that holds nothing here would never be told to go on.
		if !g.stopped && g.shared+g.head > 0 {
			g.stopped = true
			b.flow.Stop(port, prio)
		}
		return DropHeadroomExceeded, ok
	}
	if size > free {
		return DropBufferFull, false
	}
	limit := free // of a lossless priority's frame that the switch made
	if !c.Lossless {
		limit = b.Threshold(prio)
	}
	if queued+size > limit {
		return DropQueueLimit, false
	}
	if port < 0 {
		b.used += size
		b.peak = max(b.peak, b.used+b.inHead)
		return 0, true
	}
	b.take(&b.groups[port*Priorities+prio], size)
	return 0, true
}

func (b *Buffer) take(g *group, size int64) {
	g.shared += size
	b.used += size
	b.peaks(g)
}

func (b *Buffer) peaks(g *group) {
	g.peak = max(g.peak, g.shared+g.head)
	b.peak = max(b.peak, b.used+b.inHead)
}

// Release gives back what Admit took for a frame. Headroom is freed first.
func (b *Buffer) Release(port, prio int, n int32) {
	size := int64(n)
	if port < 0 {
		b.used -= size
		return
	}
	g := &b.groups[port*Priorities+prio]
	if g.head > 0 {
		h := min(g.head, size)
		g.head -= h
		b.inHead -= h
		size -= h
	}
	g.shared -= size
	b.used -= size
	if g.shared < 0 || b.used < 0 {
		panic(fmt.Sprintf("switch buffer: port %d priority %d released more than it held: %d, all %d", port, prio, g.shared, b.used))
	}
	if g.stopped && g.head == 0 && g.shared <= b.resumeAt(prio) {
		g.stopped = false
		b.flow.Resume(port, prio)
	}
}

func (b *Buffer) resumeAt(prio int) int64 {
	c := &b.class[prio]
	if c.Xoff > 0 {
		return c.Xon
	}
	t := b.Threshold(prio)
	return max(t-c.XonOffset, t/2)
}

// PortDown forgets which senders of a port were stopped: they are gone.
func (b *Buffer) PortDown(port int) {
	for p := range Priorities {
		b.groups[port*Priorities+p].stopped = false
	}
}

// PortUp stops the priorities that still hold more than they should go on with,
// from before the link went down.
func (b *Buffer) PortUp(port int) {
	for p := range Priorities {
		g := &b.groups[port*Priorities+p]
		if b.class[p].Lossless && !g.stopped && g.shared+g.head > 0 && (g.head > 0 || g.shared > b.resumeAt(p)) {
			g.stopped = true
			b.flow.Stop(port, p)
		}
	}
}

// Held is what is stored of a port's priority: in the shared buffer and in the
// headroom, in bytes.
func (b *Buffer) Held(port, prio int) (shared, headroom int64) {
	g := &b.groups[port*Priorities+prio]
	return g.shared, g.head
}

// Stopped is the set of priorities whose sender at the port is stopped.
func (b *Buffer) Stopped(port int) (mask uint8) {
	for p := range Priorities {
		if b.groups[port*Priorities+p].stopped {
			mask |= 1 << p
		}
	}
	return mask
}

// Peaks are the most bytes held of a port's priority, and of its headroom.
func (b *Buffer) Peaks(port, prio int) (held, headroom int64) {
	g := &b.groups[port*Priorities+prio]
	return g.peak, g.headPeak
}

// Occupancy is the bytes held in all, headrooms included.
func (b *Buffer) Occupancy() int64 { return b.used + b.inHead }

// Peak is the largest Occupancy there was.
func (b *Buffer) Peak() int64 { return b.peak }

// Shared is the size of the part that is not reserved as headroom, in bytes.
func (b *Buffer) Shared() int64 { return b.shared }

// LosslessMask is the set of lossless priorities.
func (b *Buffer) LosslessMask() (mask uint8) {
	for p := range b.class {
		if b.class[p].Lossless {
			mask |= 1 << p
		}
	}
	return mask
}
