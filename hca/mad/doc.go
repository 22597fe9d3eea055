// Package mads is the MAD layer of a node's emulated kernel: it shares the two
// special queue pairs of a port among agents. An agent says which requests it
// answers; responses find back to who asked by the transaction ID, whose high
// half the layer assigns. It repeats requests that get no answer, and segments
// and reassembles long messages (RMPP).
//
// It is pure: time comes from the engine, whose thread makes all calls.
//
// Read IBTA vol. 1 §13.4 to §13.6 and drivers/infiniband/core/mad.c and
// mad_rmpp.c of Linux before editing: rules for registration and dispatch are
// those of Linux, since programs are written for them.
package mads

import (
	"errors"

	"cnuas/hca"
	"cnuas/internal/ibport"
	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
)

// Port is a port of an HCA as the layer uses it; *hca.Device is one.
type Port interface {
	SendMAD(qp uint32, to *hca.MADAddress, m []byte) error
	SetMADSink(s hca.MADSink)
	IB() *ibport.Port // nil: RoCE, which has no queue pair 0
}

// Errors of this package.
var (
	ErrInUse     = errors.New("another agent answers these requests") // Register
	ErrInvalid   = errors.New("invalid argument")
	ErrNoQP      = errors.New("the port has no such queue pair")              // Register: QP 0 of RoCE
	ErrNoMemory  = errors.New("too much is under way")                        // Send, Register
	ErrDuplicate = errors.New("a request with this transaction is under way") // Send
	ErrClosed    = errors.New("the agent is closed")
	ErrTimeout   = errors.New("no response")
	ErrAborted   = errors.New("the peer ended the transfer") // of an RMPP message
)

// Limits of a Table.
const (
	MaxAgents     = 4096
	MaxSends      = 16384    // sends under way, of all agents
	MaxAgentSends = 8192     // of one
	MaxReceives   = 1024     // RMPP messages being put together, of all agents
	MaxMessage    = 16 << 20 // bytes of an RMPP message
	MaxReassembly = 64 << 20 // bytes of all that are being put together
)

// Registration says what an agent wants.
type Registration struct {
	QP      uint32    // 0 or 1
	Class   mad.Class // 0: nothing but responses to its own requests, of any class
	Version uint8     // of the class, below 8; 0 is none that is in use
	OUI     [3]byte   // of classes 0x30 to 0x4f
	Methods [2]uint64 // bit n: requests of method n, unasked for; none: a client only
	RMPP    bool      // the layer segments and reassembles

	// OwnTimers: responses are handed over by the high half of the TID alone,
	// whether a Send waits for them or not. So a subnet manager, which repeats
	// requests itself, sends all without timeout.
	OwnTimers bool
}

// Handler is who an agent works for. It is called on the engine's thread and may
// call back.
type Handler interface {
	// ReceiveMAD takes a request, or the response to a Send, whose Cookie m then
	// has. m is valid during the call.
	ReceiveMAD(a *Agent, m *Message)
	// SendDone tells how a Send ended that nobody will answer: ErrTimeout or
	// ErrAborted; nil after an RMPP message that asks for no response has
	// arrived. m is what was sent, valid during the call.
	SendDone(a *Agent, m *Message, err error)
}

// Message is a MAD with its address, or a longer RMPP message.
type Message struct {
	Addr hca.MADAddress
	// Data are the 256 bytes of a MAD. Of an RMPP message of an agent with RMPP
	// they are the headers of MAD, RMPP and class and then the whole data, of
	// any length; a message to send is one if its RMPP header has the flag
	// Active and type DATA.
	Data []byte

	Timeout sim.Time // how long to wait for a response, each time; 0: none is expected
	Retries int      // how often to send again without a response, at most 1024
	Cookie  uint64   // the sender's own
	// KeepTID sends the transaction ID as it is. Without it requests of all
	// classes but communication management get the agent's high half.
	KeepTID bool
}

// Packet is the view of the MAD, the first one of an RMPP message.
func (m *Message) Packet() mad.Packet { return mad.Packet(m.Data) }
