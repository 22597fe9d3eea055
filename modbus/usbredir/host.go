package usbredir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Options of a Host.
type Options struct {
	// Do runs a function on the thread that owns the device and returns when it
	// has run; nil: on the caller's.
	Do func(func())
	// Log is told of peers that come and go; nil: nobody.
	Log func(format string, args ...any)
	// Version is what the hello says, at most 63 bytes.
	Version string
}

// Host is the usb-host: a device, and the plug that connects it with a peer. A
// device that is plugged in appears at every peer that comes.
type Host struct {
	dev        Device
	opt        Options
	desc       *Descriptors
	interfaces []Interface
	endpoints  []Endpoint

	// Of the device's thread.
	in bool     // plugged in
	s  *session // nil: no peer
}

// NewHost makes a host whose device is not plugged in. The error says what is
// wrong with the device's descriptors.
func NewHost(d Device, o Options) (*Host, error) {
	h := &Host{dev: d, opt: o, desc: d.Descriptors()}
	if h.opt.Do == nil {
		h.opt.Do = func(f func()) { f() }
	}
	if h.opt.Log == nil {
		h.opt.Log = func(string, ...any) {}
	}
	var err error
	if h.interfaces, h.endpoints, err = h.desc.walk(); err != nil {
		return nil, err
	}
	return h, nil
}

// Plug plugs the device in. It is called on the device's thread, as Unplug is.
func (h *Host) Plug() {
	if !h.in {
		h.in = true
		if h.s != nil {
			h.s.announce()
		}
	}
}

// Unplug pulls the plug. Transfers under way are void.
func (h *Host) Unplug() {
	if h.in {
		h.in = false
		if h.s != nil {
			h.s.withdraw()
		}
		h.dev.Reset()
	}
}

// Plugged tells whether the device is plugged in.
func (h *Host) Plugged() bool { return h.in }

// Connected tells whether a peer is there that has said hello.
func (h *Host) Connected() bool { return h.s != nil }

// errEnd is how a session ends when the peer has left between two messages.
var errEnd = errors.New("the peer has closed the connection")

// Serve plays the device for the peer at c until the connection ends, and
// closes it. Only one peer is served at a time. The error tells why it ended;
// ErrProtocol: the peer does not speak the protocol.
func (h *Host) Serve(c io.ReadWriteCloser) error {
	out := newOutbox(c)
	defer out.close()
	out.send(Message{Type: Hello, Body: HelloBody{Version: h.opt.Version, Caps: Own}.Append(nil)}, false)
	r := NewReader(c)
	m, err := r.Next()
	if err != nil {
		return ended(err)
	}
	if m.Type != Hello {
		return violation("the first message has type %d, not hello", m.Type)
	}
	hello, err := ParseHello(m.Body)
	if err != nil {
		return err
	}
	s := &session{h: h, out: out, peer: hello.Caps & Own, pending: map[uint64]Transfer{}}
	if s.peer.Has(Cap64BitIDs) {
		s.wide = true
		r.Wide()
	}
	h.opt.Log("usbredir: %s, capabilities %#x", hello.Version, uint32(hello.Caps))
	h.opt.Do(func() {
		if h.s != nil {
			err = errors.New("usbredir: another peer is served")
			return
		}
		h.s = s
		h.dev.Reset()
		if h.in {
			s.announce()
		}
	})
	if err != nil {
		return err
	}
	defer h.opt.Do(func() {
		h.s = nil
		s.void()
		h.dev.Reset()
	})
	for {
		// A peer that asks and does not read its answers waits.
		if !out.room() {
			return errEnd
		}
		m, err := r.Next()
		if err != nil {
			return ended(err)
		}
		h.opt.Do(func() { err = s.handle(m) })
		if err != nil {
			return err
		}
	}
}

func ended(err error) error {
	if err == io.EOF {
		return errEnd
	}
	return fmt.Errorf("usbredir: %w", err)
}

// Keep serves one peer after the other until ctx ends: dial connects to where
// the peer listens, and is tried again at growing intervals of up to a second.
func (h *Host) Keep(ctx context.Context, dial func(context.Context) (io.ReadWriteCloser, error)) {
	const first, last = 20 * time.Millisecond, time.Second
	for pause := first; ctx.Err() == nil; {
		c, err := dial(ctx)
		if err == nil {
			stop := context.AfterFunc(ctx, func() { c.Close() })
			begin := time.Now()
			err = h.Serve(c)
			stop()
			c.Close()
			if ctx.Err() == nil {
				h.opt.Log("%v", err)
			}
			// A peer that was served well may be back at once.
			if time.Since(begin) > last {
				pause = first
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, last)
	}
}
