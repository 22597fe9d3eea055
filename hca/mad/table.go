package mads

import (
	"cnuas/hca"
	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
)

// service names whose requests an agent answers.
type service struct {
	qp      uint8
	class   mad.Class
	version uint8
	oui     uint32
}

// methods are the agents of a service, by method without the response bit.
type methods [128]*Agent

// Table has the agents of one port.
type Table struct {
	port Port
	proc *sim.Proc

	agents   map[uint32]*Agent // by high half of the TID
	services map[service]*methods
	lastID   uint32

	sends    []*send // by number, in use or not
	free     []*send
	inFlight int

	receives map[receiveKey]*receive
	held     int // bytes in receives
	rnum     uint64
	byNum    map[uint64]*receive

	msg  Message // handed to handlers
	busy bool    // msg is in use
	out  [mad.PacketLen]byte

	Count Counters
}

// Counters of a Table.
type Counters struct {
	Received, Sent    uint64 // MADs
	NoAgent, Unasked  uint64 // received: nobody answers such requests; a response nobody waits for
	Malformed         uint64
	Retries, Timeouts uint64
	Aborted           uint64 // RMPP transfers that either side ended
	Overload          uint64 // refused for a limit
}

// Operations of Table.HandleEvent.
const (
	opSend    = iota // arg: number of the send
	opReceive        // arg: number of the receive
)

// New returns the layer of a port and makes it the port's sink.
func New(port Port, proc *sim.Proc) *Table {
	t := &Table{
		port: port, proc: proc, agents: map[uint32]*Agent{}, services: map[service]*methods{},
		receives: map[receiveKey]*receive{}, byNum: map[uint64]*receive{},
	}
	port.SetMADSink(t)
	return t
}

// Agents is how many agents are registered.
func (t *Table) Agents() int { return len(t.agents) }

// InFlight is how many sends wait for something.
func (t *Table) InFlight() int { return t.inFlight }

// Receives is how many RMPP messages are being put together or were lately.
func (t *Table) Receives() int { return len(t.receives) }

// ReceiveMAD implements hca.MADSink.
func (t *Table) ReceiveMAD(qp uint32, from *hca.MADAddress, m mad.Packet) {
	t.Count.Received++
	if !m.Valid() || m.BaseVersion() != mad.BaseVersion || m.Class().Subn() != (qp == 0) {
		t.Count.Malformed++
		return
	}
	m = m[:mad.PacketLen]
	a := t.find(qp, m)
	if a == nil {
		t.Count.NoAgent++
		t.unmatched(qp, from, m)
		return
	}
	if a.reg.RMPP && m.Class().HasRMPP() && mad.RMPP(m).Active() {
		t.receiveRMPP(a, from, m)
		return
	}
	t.deliver(a, from, m)
}

// unmatched answers a question that nobody here answers, as Linux does: who
// asked need not wait for it in vain. Other methods expect no answer, or one
// that only their class could give.
func (t *Table) unmatched(qp uint32, from *hca.MADAddress, m mad.Packet) {
	if qp == 0 || m.Method() != mad.MethodGet && m.Method() != mad.MethodSet {
		return
	}
	b := t.out[:copy(t.out[:], m)]
	r := mad.Packet(b)
	r.SetMethod(m.Method().Response())
	r.SetStatus(mad.StatusBadMethodAttr)
	to := Answer(from)
	_ = t.put(qp, &to, b) // what cannot leave is lost, as on the way
}

// find is who a MAD is for: a response goes to who has the high half of its
// TID, a request to who answers it. An ACK of an RMPP transfer has the method of
// the other direction.
func (t *Table) find(qp uint32, m mad.Packet) *Agent {
	if isResponse(m) {
		a := t.agents[uint32(m.TID()>>32)]
		if a == nil || a.reg.QP != qp {
			return nil
		}
		return a
	}
	s := service{qp: uint8(qp), class: m.Class(), version: m.ClassVersion()}
	if m.Class().HasOUI() {
		s.oui = mad.Vendor(m).OUI()
	}
	if l := t.services[s]; l != nil {
		return l[m.Method()&^mad.MethodResponse]
	}
	return nil
}

// isResponse tells whether a MAD answers another; in board management a bit of
// the modifier says so (IBTA vol. 1 §16.2.3).
func isResponse(m mad.Packet) bool {
	return m.Method().IsResponse() || m.Class() == mad.ClassBoard && m.Modifier()&1 != 0
}

// deliver hands over a whole message: data is a MAD, or what RMPP put together.
func (t *Table) deliver(a *Agent, from *hca.MADAddress, data []byte) {
	var cookie uint64
	if isResponse(data) {
		s := a.pending[mad.Packet(data).TID()]
		switch {
		case s != nil && s.class == mad.Packet(data).Class():
			cookie = s.msg.Cookie
			t.release(s)
		case a.reg.OwnTimers:
		case !a.reg.RMPP && mad.Packet(data).Class().HasRMPP() && mad.RMPP(data).Active():
			// The program runs the protocol itself: segments after the first
			// answer nothing by now.
		default:
			t.Count.Unasked++
			return
		}
	}
	m := &t.msg
	if t.busy {
		m = new(Message)
	} else {
		t.busy = true
		defer func() { t.busy = false }()
	}
	*m = Message{Addr: *from, Data: data, Cookie: cookie}
	a.h.ReceiveMAD(a, m)
}

// HandleEvent implements sim.Handler; only the engine calls it.
func (t *Table) HandleEvent(now sim.Time, op uint32, arg uint64) {
	switch op {
	case opSend:
		t.expire(now, t.sends[arg])
	case opReceive:
		if r := t.byNum[arg]; r != nil {
			t.endReceive(r)
		}
	}
}

// put sends one packet.
func (t *Table) put(qp uint32, to *hca.MADAddress, b []byte) error {
	err := t.port.SendMAD(qp, to, b)
	if err == nil {
		t.Count.Sent++
	}
	return err
}
