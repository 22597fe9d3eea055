package capture

import "sync/atomic"

// ring is a queue of bytes between one producer and one consumer. The producer
// publishes whole messages, so what the consumer sees ends where one does.
type ring struct {
	buf  []byte // length: a power of two
	head atomic.Uint64
	_    [56]byte // the ends live on different cache lines
	tail atomic.Uint64
	_    [56]byte
	at   uint64 // producer: where the next byte goes; equals head between messages
}

func (r *ring) init(size int) {
	n := 4096
	for n < size {
		n *= 2
	}
	r.buf = make([]byte, n)
}

// room tells whether n bytes fit.
func (r *ring) room(n int) bool {
	return uint64(n) <= uint64(len(r.buf))-(r.at-r.tail.Load())
}

// put appends b, for which there is room, without publishing it.
func (r *ring) put(b []byte) {
	i := int(r.at & uint64(len(r.buf)-1))
	n := copy(r.buf[i:], b)
	copy(r.buf, b[n:])
	r.at += uint64(len(b))
}

func (r *ring) putString(s string) {
	i := int(r.at & uint64(len(r.buf)-1))
	n := copy(r.buf[i:], s)
	copy(r.buf, s[n:])
	r.at += uint64(len(s))
}

// publish lets the consumer see what was put.
func (r *ring) publish() { r.head.Store(r.at) }

// pending returns how far the producer has come.
func (r *ring) pending() (until uint64, some bool) {
	until = r.head.Load()
	return until, until != r.tail.Load()
}

// peek returns the bytes in front of until, in two pieces if they wrap.
func (r *ring) peek(until uint64) (a, b []byte) {
	mask := uint64(len(r.buf) - 1)
	t := r.tail.Load()
	i, n := t&mask, until-t
	if i+n <= uint64(len(r.buf)) {
		return r.buf[i : i+n], nil
	}
	return r.buf[i:], r.buf[:i+n-uint64(len(r.buf))]
}

// free gives the bytes in front of until back to the producer.
func (r *ring) free(until uint64) { r.tail.Store(until) }
