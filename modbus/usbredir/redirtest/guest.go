// Package redirtest is a usb-guest for tests: what QEMU's usb-redir and the
// guest's USB stack do, without either.
package redirtest

import (
	"fmt"
	"io"
	"sync"

	"cnuas/modbus/usbredir"
)

// Guest is the peer of a usbredir.Host.
type Guest struct {
	c    io.ReadWriteCloser
	caps usbredir.Capabilities // that both sides have
	wide bool

	mu      sync.Mutex
	nextID  uint64
	waiting map[uint64]chan usbredir.Message
	events  chan usbredir.Message // what has no id: connect, disconnect, info
	err     error
	ended   chan struct{}
}

// NewGuest says hello with these capabilities, hears the host's, and begins to
// read.
func NewGuest(c io.ReadWriteCloser, caps usbredir.Capabilities) (*Guest, error) {
	g := &Guest{c: c, nextID: 1, waiting: map[uint64]chan usbredir.Message{}, events: make(chan usbredir.Message, 64), ended: make(chan struct{})}
	hello := usbredir.HelloBody{Version: "redirtest guest", Caps: caps}
	werr := make(chan error, 1)
	go func() {
		_, err := c.Write(usbredir.AppendMessage(nil, usbredir.Message{Type: usbredir.Hello, Body: hello.Append(nil)}, false))
		werr <- err
	}()
	r := usbredir.NewReader(c)
	m, err := r.Next()
	if err != nil {
		return nil, err
	}
	if err := <-werr; err != nil {
		return nil, err
	}
	h, err := usbredir.ParseHello(m.Body)
	if err != nil || m.Type != usbredir.Hello {
		return nil, fmt.Errorf("message %d instead of hello: %w", m.Type, err)
	}
	g.caps = h.Caps & caps
	if g.wide = g.caps.Has(usbredir.Cap64BitIDs); g.wide {
		r.Wide()
	}
	go g.read(r)
	return g, nil
}

func (g *Guest) read(r *usbredir.Reader) {
	defer close(g.ended)
	for {
		m, err := r.Next()
		if err != nil {
			g.mu.Lock()
			g.err = err
			g.mu.Unlock()
			return
		}
		m.Body = append([]byte(nil), m.Body...)
		g.mu.Lock()
		ch := g.waiting[m.ID]
		switch m.Type {
		case usbredir.InterfaceInfo, usbredir.EndpointInfo:
			ch = nil // precede the answer, with its id
		default:
			delete(g.waiting, m.ID)
		}
		g.mu.Unlock()
		if m.Type == usbredir.DeviceDisconnect && g.caps.Has(usbredir.CapDisconnectAck) {
			g.Send(usbredir.Message{Type: usbredir.DeviceDisconnectAck})
		}
		if ch != nil && m.ID != 0 {
			ch <- m
		} else {
			g.events <- m
		}
	}
}

// Send sends a message as it is.
func (g *Guest) Send(m usbredir.Message) error {
	_, err := g.c.Write(usbredir.AppendMessage(nil, m, g.wide))
	return err
}

// Start sends a request with a fresh id, on whose answer the channel gives.
func (g *Guest) Start(t usbredir.Type, body []byte) (id uint64, answer <-chan usbredir.Message) {
	ch := make(chan usbredir.Message, 1)
	g.mu.Lock()
	id = g.nextID
	g.nextID++
	g.waiting[id] = ch
	g.mu.Unlock()
	g.Send(usbredir.Message{Type: t, ID: id, Body: body})
	return id, ch
}

// Call sends a request and waits for its answer.
func (g *Guest) Call(t usbredir.Type, body []byte) (usbredir.Message, error) {
	_, ch := g.Start(t, body)
	return g.Await(ch)
}

// Await waits for an answer, or the end of the connection.
func (g *Guest) Await(ch <-chan usbredir.Message) (usbredir.Message, error) {
	select {
	case m := <-ch:
		return m, nil
	case <-g.ended:
		select {
		case m := <-ch:
			return m, nil
		default:
		}
		return usbredir.Message{}, fmt.Errorf("connection ended: %w", g.Err())
	}
}

// Event waits for the next message of the type that nobody asked for, and
// passes over others.
func (g *Guest) Event(t usbredir.Type) (usbredir.Message, error) {
	for {
		select {
		case m := <-g.events:
			if m.Type == t {
				return m, nil
			}
		case <-g.ended:
			return usbredir.Message{}, fmt.Errorf("connection ended: %w", g.Err())
		}
	}
}

// Err is why the connection ended.
func (g *Guest) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// Close ends the connection.
func (g *Guest) Close() error { return g.c.Close() }

// Control makes a control transfer.
func (g *Guest) Control(s usbredir.Setup, data []byte) ([]byte, usbredir.Status, error) {
	c := usbredir.ControlBody{Endpoint: s.RequestType & 0x80, Setup: s, Data: data}
	m, err := g.Call(usbredir.ControlPacket, c.Append(nil))
	if err != nil {
		return nil, 0, err
	}
	a, err := usbredir.ParseControl(m.Body)
	return a.Data, a.Status, err
}

// Descriptor reads a descriptor.
func (g *Guest) Descriptor(typ, index uint8, length int) ([]byte, error) {
	b, st, err := g.Control(usbredir.Setup{RequestType: 0x80, Request: 6, Value: uint16(typ)<<8 | uint16(index), Length: uint16(length)}, nil)
	if err == nil && st != usbredir.Success {
		err = fmt.Errorf("descriptor %d/%d: %v", typ, index, st)
	}
	return b, err
}

// Configure sets the configuration.
func (g *Guest) Configure(n uint8) (usbredir.Status, error) {
	m, err := g.Call(usbredir.SetConfiguration, []byte{n})
	if err != nil || len(m.Body) < 2 {
		return 0, fmt.Errorf("set configuration: % x %w", m.Body, err)
	}
	return usbredir.Status(m.Body[0]), nil
}

// Out makes a bulk OUT transfer.
func (g *Guest) Out(endpoint uint8, data []byte) (usbredir.Status, error) {
	m, err := g.Call(usbredir.BulkPacket, usbredir.BulkBody{Endpoint: endpoint, Length: uint16(len(data)), Data: data}.Append(nil))
	if err != nil {
		return 0, err
	}
	p, err := usbredir.ParseBulk(m.Body)
	return p.Status, err
}

// StartIn begins a bulk IN transfer, whose end Bulk awaits.
func (g *Guest) StartIn(endpoint uint8, length int) (id uint64, answer <-chan usbredir.Message) {
	return g.Start(usbredir.BulkPacket, usbredir.BulkBody{Endpoint: endpoint, Length: uint16(length)}.Append(nil))
}

// Bulk awaits a bulk transfer.
func (g *Guest) Bulk(answer <-chan usbredir.Message) ([]byte, usbredir.Status, error) {
	m, err := g.Await(answer)
	if err != nil {
		return nil, 0, err
	}
	p, err := usbredir.ParseBulk(m.Body)
	return p.Data, p.Status, err
}

// Cancel takes a transfer back.
func (g *Guest) Cancel(id uint64) error {
	return g.Send(usbredir.Message{Type: usbredir.CancelDataPacket, ID: id})
}
