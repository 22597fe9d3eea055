package ipoib

import (
	"cnuas/hca"
	mads "cnuas/hca/mad"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// How long an answer of subnet administration is waited for, and how often a
// question is repeated, as the SA client of Linux has it.
const (
	saTime    = sim.Second
	saRetries = 2
)

// Client asks the subnet administration of a port's subnet by MADs.
type Client struct {
	port   Port
	proc   *sim.Proc
	agent  *mads.Agent
	next   uint64
	asked  map[uint64]func(*Answer)
	failed []func(*Answer) // to be told that nothing could be sent
	buf    [mad.PacketLen]byte
}

// NewClient makes the client of a port, an agent of its MAD layer.
func NewClient(t *mads.Table, port Port, proc *sim.Proc) (*Client, error) {
	c := &Client{port: port, proc: proc, asked: map[uint64]func(*Answer){}}
	a, err := t.Register(mads.Registration{QP: 1, Class: mad.ClassSubnAdm, Version: mad.ClassSubnAdm.Version()}, c)
	if err != nil {
		return nil, err
	}
	c.agent = a
	return c, nil
}

// Close ends the client; questions that are not answered yet never are.
func (c *Client) Close() {
	c.agent.Close()
	clear(c.asked)
	c.failed = nil
}

// Ask implements SA.
func (c *Client) Ask(q *Query, done func(*Answer)) {
	lid, sl := c.port.SM()
	if lid == 0 || !c.port.Active() {
		c.later(done)
		return
	}
	p := mad.Packet(c.buf[:])
	c.next++
	(&mad.Header{Class: mad.ClassSubnAdm, Method: q.Method, TID: c.next & 0xffffffff, Attr: q.Attr}).Encode(p)
	s := mad.SA(p)
	s.SetComponentMask(q.Mask)
	mad.Encode(q.Record, s.Data())
	m := mads.Message{
		Addr: hca.MADAddress{QPN: wire.QP1, QKey: wire.QP1QKey, LID: lid, SL: sl},
		Data: p, Timeout: saTime, Retries: saRetries, Cookie: c.next,
	}
	c.asked[c.next] = done
	if err := c.agent.Send(&m); err != nil {
		delete(c.asked, c.next)
		c.later(done)
	}
}

// later tells of a failure, but not within the call of Ask.
func (c *Client) later(done func(*Answer)) {
	c.failed = append(c.failed, done)
	if len(c.failed) == 1 {
		c.proc.At(c.proc.Now(), c, 0, 0)
	}
}

// HandleEvent implements sim.Handler; only the engine calls it.
func (c *Client) HandleEvent(sim.Time, uint32, uint64) {
	l := c.failed
	c.failed = nil
	for _, done := range l {
		done(&Answer{Err: ErrNoAnswer})
	}
}

// take returns who waits for an answer.
func (c *Client) take(cookie uint64) func(*Answer) {
	done := c.asked[cookie]
	delete(c.asked, cookie)
	return done
}

// ReceiveMAD implements mads.Handler.
func (c *Client) ReceiveMAD(_ *mads.Agent, m *mads.Message) {
	if done := c.take(m.Cookie); done != nil {
		p := m.Packet()
		done(&Answer{Status: p.Status(), Record: mad.SA(p).Data()})
	}
}

// SendDone implements mads.Handler.
func (c *Client) SendDone(_ *mads.Agent, m *mads.Message, err error) {
	if done := c.take(m.Cookie); done != nil && err != nil {
		done(&Answer{Err: ErrNoAnswer})
	}
}
