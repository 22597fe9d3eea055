package cm

import (
	"cnuas/hca"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// State of a connection (IBTA vol. 1 §12.9.7).
type State uint8

// States. What the standard calls "MRA sent" is REQReceived or REPReceived with
// the peer told to wait.
const (
	Idle            State = iota
	REQSent               // active: REQ Sent
	REQWait               // active: REP Wait, after an MRA
	REPReceived           // active: REP Rcvd
	REQReceived           // passive: REQ Rcvd
	REPSent               // passive: REP Sent
	REPWait               // passive: RTU Wait, after an MRA
	Established           //
	DREQSent              //
	DREQReceived          //
	TimeWait              //
	SIDRREQSent           // of a datagram service: client
	SIDRREQReceived       // server, to be answered
	SIDRAnswered          // server, the answer may be asked for again
)

var stateNames = [...]string{"Idle", "REQ Sent", "REP Wait", "REP Rcvd", "REQ Rcvd", "REP Sent", "RTU Wait", "Established",
	"DREQ Sent", "DREQ Rcvd", "TimeWait", "SIDR_REQ Sent", "SIDR_REQ Rcvd", "SIDR_REP Sent"}

// String names the state as the standard does.
func (s State) String() string { return stateNames[s] }

// Handler is told what happens to a connection.
type Handler interface {
	// ConnEvent may call the connection's methods. e is valid during the call
	// only.
	ConnEvent(c *Conn, e *Event)
}

// EventType says what happened.
type EventType uint8

// Events of a connection.
const (
	EventReply        EventType = iota // active: a REP came; Confirm or Reject
	EventEstablished                   // passive: the RTU came, or Notify was called
	EventRejected                      // a REJ came: Reason, ARI, private data
	EventUnreachable                   // nobody answered the REQ, the REP or the SIDR_REQ
	EventDisconnect                    // a DREQ came: call Disconnect to answer it
	EventDisconnected                  // the DREP came, or did not (Timeout)
	EventTimeWaitExit                  // the queue pair may be used again
	EventResolved                      // a SIDR_REP came: Status, QPN, QKey, private data
)

// Event is told to a Handler.
type Event struct {
	Type        EventType
	Timeout     bool // of EventDisconnected
	Reason      mad.RejectReason
	ARI         []byte
	Status      uint8 // of EventResolved: 0 is success (IBTA vol. 1 §12.11.2.2)
	QPN, QKey   uint32
	Params      *Params // of EventReply
	PrivateData []byte
}

// Params are what one side of a connection tells the other in a REQ or a REP.
// The depths are from the view of who says them.
type Params struct {
	Type               hca.QPType // RC or UC; only the REQ has it
	QPN, QKey          uint32
	StartingPSN        uint32 // that the other side begins to send with
	ResponderResources uint8
	InitiatorDepth     uint8
	FlowControl        bool
	RetryCount         uint8 // REQ only, 0 to 7
	RNRRetryCount      uint8 // 0 to 7
	SRQ                bool
	PrivateData        []byte // up to 92 bytes in a REQ, 196 in a REP
}

// Conn is one side of a connection, or of a query for a datagram service.
type Conn struct {
	m     *Manager
	h     Handler
	state State
	typ   hca.QPType
	freed bool

	localID, remoteID uint32
	remoteGUID        wire.GUID
	hasID, hasQP      bool // in the tables of the manager
	sidr              sidrKey
	service           uint64

	path    Path
	to      hca.MADAddress
	tid     uint64
	psn     uint32 // that the peer begins with
	peerPSN uint32
	timeout sim.Time // for an answer of the peer's manager
	retries int      // of each message

	// The queue pair.
	localQPN, remoteQPN                uint32
	responderResources, initiatorDepth uint8
	retryCount, rnrRetry               uint8
	ackTimeout                         mad.Timeout
	notified                           bool // the peer was answered, or heard of

	timer sim.Timer
	left  int // times that msg may be sent again
	wait  sim.Time
	msg   [mad.PacketLen]byte // the last message that wants an answer, or is one

	mra bool // the peer is told to wait when it asks again
}

// SetHandler gives the connection its handler.
func (c *Conn) SetHandler(h Handler) { c.h = h }

// State of the connection.
func (c *Conn) State() State { return c.state }

// Path of the connection.
func (c *Conn) Path() *Path { return &c.path }

// LocalID is the local communication ID.
func (c *Conn) LocalID() uint32 { return c.localID }

// PSN is the starting PSN that this side tells the other: with which packets
// for the local queue pair begin.
func (c *Conn) PSN() uint32 { return c.psn }

// RemoteQPN is the peer's queue pair, 0 before it is known.
func (c *Conn) RemoteQPN() uint32 { return c.remoteQPN }

func (c *Conn) tell(e *Event) {
	if h := c.h; h != nil {
		h.ConnEvent(c, e)
	}
}

// begin sends c.msg until it is answered: at most retries times more, each
// after wait.
func (c *Conn) begin(wait sim.Time, retries int) {
	c.wait, c.left = wait, retries
	c.m.send(&c.to, c.msg[:])
	c.timer.Reset(c.m.proc.Now() + wait)
}

// compose makes the next message that wants an answer.
func (c *Conn) compose(attr mad.AttrID, body mad.Attribute) { encode(c.msg[:], c.tid, attr, body) }

// say sends a message that wants no answer and leaves c.msg alone.
func (c *Conn) say(attr mad.AttrID, body mad.Attribute) {
	b := mad.Packet(c.m.scratch[:])
	encode(b, c.tid, attr, body)
	c.m.send(&c.to, b)
}

// HandleEvent implements sim.Handler: the timer. Only the engine calls it.
func (c *Conn) HandleEvent(now sim.Time, _ uint32, _ uint64) {
	switch c.state {
	case TimeWait:
		c.exitTimeWait()
		return
	case SIDRAnswered:
		c.free()
		return
	}
	if c.left > 0 {
		c.left--
		c.m.ctr.Resent++
		c.m.send(&c.to, c.msg[:])
		c.timer.Reset(now + c.wait)
		return
	}
	switch c.state {
	case REQSent, REQWait:
		c.sendREJ(mad.RejectTimeout, c.guidARI(), nil)
		c.reset()
		c.tell(&Event{Type: EventUnreachable})
	case REPSent, REPWait:
		c.sendREJ(mad.RejectTimeout, c.guidARI(), nil)
		c.enterTimeWait()
		c.tell(&Event{Type: EventUnreachable})
	case DREQSent:
		c.enterTimeWait()
		c.tell(&Event{Type: EventDisconnected, Timeout: true})
	case SIDRREQSent:
		c.reset()
		c.tell(&Event{Type: EventUnreachable})
	}
}

// guidARI is the additional information of a timeout: who rejects (IBTA vol. 1
// §12.6.7.2, reason 4).
func (c *Conn) guidARI() []byte {
	g := c.m.cfg.GUID
	return []byte{byte(g >> 56), byte(g >> 48), byte(g >> 40), byte(g >> 32), byte(g >> 24), byte(g >> 16), byte(g >> 8), byte(g)}
}

// reset forgets the peer: nothing that it says is for this connection any more.
func (c *Conn) reset() {
	c.timer.Stop()
	c.forgetPeer()
	c.state = Idle
}

func (c *Conn) forgetPeer() {
	m := c.m
	if c.hasID {
		delete(m.remoteID, remoteKey{c.remoteGUID, c.remoteID})
		c.hasID = false
	}
	if c.hasQP {
		delete(m.remoteQP, remoteKey{c.remoteGUID, c.remoteQPN})
		c.hasQP = false
	}
	if m.sidr[c.sidr] == c {
		delete(m.sidr, c.sidr)
	}
	c.remoteID = 0
}

func (c *Conn) free() {
	if c.freed {
		return
	}
	c.freed = true
	c.reset()
	c.h = nil
	delete(c.m.local, c.localID)
}

// enterTimeWait keeps IDs and queue pair from being used again until no packet
// of the connection can be under way (IBTA vol. 1 §12.9.8.2).
func (c *Conn) enterTimeWait() {
	c.state = TimeWait
	if c.hasQP { // the peer may make something new of its queue pair
		delete(c.m.remoteQP, remoteKey{c.remoteGUID, c.remoteQPN})
		c.hasQP = false
	}
	c.timer.Reset(c.m.proc.Now() + sim.Time(max(c.ackTimeout, 1).Picoseconds()))
}

func (c *Conn) exitTimeWait() {
	if c.h == nil { // destroyed
		c.free()
		return
	}
	c.reset()
	c.tell(&Event{Type: EventTimeWaitExit})
}

// Destroy ends the connection, telling the peer what it has to know. No more
// events come.
func (c *Conn) Destroy() {
	if c.freed {
		return
	}
	c.h = nil
	switch c.state {
	case REQSent, REQWait:
		c.sendREJ(mad.RejectTimeout, c.guidARI(), nil)
		c.free()
	case REQReceived:
		c.sendREJ(mad.RejectConsumer, nil, nil)
		c.free()
	case REPReceived, REPSent, REPWait:
		c.sendREJ(mad.RejectConsumer, nil, nil)
		c.timer.Stop()
		c.enterTimeWait()
	case Established:
		c.composeDREQ(nil)
		c.state = DREQSent
		c.begin(c.timeout, min(c.retries, 3))
	case DREQReceived:
		c.sendDREP(nil)
		c.enterTimeWait()
	case SIDRREQReceived:
		c.answerSIDR(&mad.ServiceIDReply{Status: sidrReject})
	case DREQSent, TimeWait, SIDRAnswered: // until the timer expires
	default:
		c.free()
	}
}
