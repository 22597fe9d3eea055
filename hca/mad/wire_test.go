package mads_test

import (
	"fmt"
	"testing"

	"cnuas/hca"
	mads "cnuas/hca/mad"
	"cnuas/internal/ibport"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// net joins ports by LID: each MAD takes a microsecond, unless it is lost.
type net struct {
	e     *sim.Engine
	proc  *sim.Proc
	ports map[wire.LID]*port
	lose  func(n int, m mad.Packet) bool // n counts from 1
	n     int
	log   []string // of what was sent
	queue []flying
}

type flying struct {
	to, from wire.LID
	qp, qkey uint32
	m        [mad.PacketLen]byte
}

func newNet() *net {
	e := sim.NewEngine(1)
	return &net{e: e, proc: e.NewProc(), ports: map[wire.LID]*port{}}
}

// port implements mads.Port.
type port struct {
	n    *net
	lid  wire.LID
	sink hca.MADSink
	roce bool
	err  error
	tab  *mads.Table
}

func (n *net) port(lid wire.LID) *port {
	p := &port{n: n, lid: lid}
	n.ports[lid] = p
	p.tab = mads.New(p, n.e.NewProc())
	return p
}

func (p *port) SetMADSink(s hca.MADSink) { p.sink = s }

func (p *port) IB() *ibport.Port {
	if p.roce {
		return nil
	}
	return new(ibport.Port)
}

func (p *port) SendMAD(qp uint32, to *hca.MADAddress, m []byte) error {
	if p.err != nil {
		return p.err
	}
	n, k := p.n, mad.Packet(m)
	n.n++
	line := fmt.Sprintf("%v %d>%d %v", n.e.Now(), p.lid, to.LID, k.Method())
	if k.Class().HasRMPP() && mad.RMPP(m).Active() {
		line += fmt.Sprintf(" %v %d/%d", mad.RMPP(m).Type(), mad.RMPP(m).Segment(), mad.RMPP(m).PayloadLen())
	}
	n.log = append(n.log, line)
	if n.lose != nil && n.lose(n.n, k) {
		return nil
	}
	f := flying{to: to.LID, from: p.lid, qp: qp, qkey: to.QKey}
	copy(f.m[:], m)
	n.queue = append(n.queue, f)
	n.proc.At(n.e.Now()+sim.Microsecond, n, 0, uint64(len(n.queue)-1))
	return nil
}

// HandleEvent delivers a MAD.
func (n *net) HandleEvent(_ sim.Time, _ uint32, i uint64) {
	f := &n.queue[i]
	if p := n.ports[f.to]; p != nil {
		p.sink.ReceiveMAD(f.qp, &hca.MADAddress{QPN: f.qp, QKey: f.qkey, LID: f.from}, f.m[:])
	}
}

func (n *net) run(d sim.Time) { n.e.RunUntil(n.e.Now() + d) }

// user is a Handler that notes what it gets; answer, if set, answers requests.
type user struct {
	t      *testing.T
	got    []mads.Message
	done   []error
	answer func(a *mads.Agent, m *mads.Message)
}

func (u *user) ReceiveMAD(a *mads.Agent, m *mads.Message) {
	k := *m
	k.Data = append([]byte(nil), m.Data...)
	u.got = append(u.got, k)
	if u.answer != nil {
		u.answer(a, m)
	}
}

func (u *user) SendDone(_ *mads.Agent, m *mads.Message, err error) { u.done = append(u.done, err) }

func (p *port) agent(t *testing.T, r mads.Registration) (*mads.Agent, *user) {
	t.Helper()
	u := &user{t: t}
	if r.QP == 0 && !r.Class.Subn() {
		r.QP = 1
	}
	if r.Version == 0 {
		r.Version = r.Class.Version()
	}
	a, err := p.tab.Register(r, u)
	if err != nil {
		t.Fatal(err)
	}
	return a, u
}

// request makes a message; n bytes of data behind the class's header make it an
// RMPP message.
func request(to wire.LID, c mad.Class, m mad.Method, tid uint64, n int) *mads.Message {
	b := make([]byte, mad.PacketLen)
	h := mad.Header{Class: c, Method: m, TID: tid}
	h.Encode(b)
	if c.HasOUI() {
		mad.Vendor(b).SetOUI(mad.OUIOpenIB)
	}
	msg := &mads.Message{Addr: hca.MADAddress{QPN: 1, QKey: wire.QP1QKey, LID: to}}
	if n >= 0 {
		f := mad.RMPPFields{Type: mad.RMPPData, Flags: mad.RMPPActive}
		f.Encode(b)
		b = b[:headLen(c)]
		for i := range n {
			b = append(b, byte(i*7+i>>8))
		}
	}
	msg.Data = b
	return msg
}

func headLen(c mad.Class) int {
	if c == mad.ClassSubnAdm {
		return 56
	}
	return 40
}

// respond makes what answers m, with n bytes of data as request does.
func respond(m *mads.Message, n int) *mads.Message {
	p := m.Packet()
	r := request(0, p.Class(), p.Method().Response(), p.TID(), n)
	r.Addr = mads.Answer(&m.Addr)
	return r
}

func methods(l ...mad.Method) (m [2]uint64) {
	for _, x := range l {
		m[x/64] |= 1 << (x % 64)
	}
	return m
}
