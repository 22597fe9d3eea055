package usbredir

import (
	"io"
	"sync"
)

// outboxLimit is how much may wait to be written, in bytes, before the peer's
// next message is not read.
const outboxLimit = 1 << 20

// outbox writes what the device's thread says, which does not wait for a peer
// that does not read.
type outbox struct {
	c io.ReadWriteCloser

	mu     sync.Mutex
	cond   sync.Cond
	buf    []byte
	closed bool
	done   chan struct{} // the writer has ended
}

func newOutbox(c io.ReadWriteCloser) *outbox {
	o := &outbox{c: c, done: make(chan struct{})}
	o.cond.L = &o.mu
	go o.write()
	return o
}

// send queues a message; its body is the caller's again when send returns.
func (o *outbox) send(m Message, wide bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.buf = AppendMessage(o.buf, m, wide)
		o.cond.Broadcast()
	}
}

// room waits until there is room for answers; false: the connection has ended.
func (o *outbox) room() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.buf) > outboxLimit && !o.closed {
		o.cond.Wait()
	}
	return !o.closed
}

func (o *outbox) write() {
	defer close(o.done)
	var b []byte
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		for len(o.buf) == 0 && !o.closed {
			o.cond.Wait()
		}
		if o.closed {
			return
		}
		b, o.buf = o.buf, b[:0]
		o.cond.Broadcast()
		o.mu.Unlock()
		_, err := o.c.Write(b)
		o.mu.Lock()
		if err != nil {
			o.closed = true
			o.cond.Broadcast()
			o.c.Close() // ends the reader
		}
	}
}

// close ends the connection. What was not written is lost.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.cond.Broadcast()
	o.mu.Unlock()
	o.c.Close()
	<-o.done
}
