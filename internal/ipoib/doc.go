// Package ipoib is IP over InfiniBand in datagram mode (RFC 4391, RFC 4392): an
// interface on a port of an HCA that carries IP packets in datagrams of a queue
// pair of its own. It joins the broadcast group and those of IP multicast by
// subnet administration, resolves IP addresses by ARP and neighbour discovery,
// whose link-layer addresses have 20 bytes, and paths to GIDs by PathRecords.
//
// To the node's kernel the interface is a layer-3 one: packets come and go
// without any header, and neighbours are resolved here, as the kernel's tun
// driver cannot carry hardware addresses of 20 bytes.
//
// The package is pure: time is the engine's, whose thread makes all calls. Read
// RFC 4391 sections 4 (groups), 6 (frame format) and 9 (address resolution)
// before editing.
package ipoib

import (
	"errors"

	"cnuas/hca"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Port is the port under an interface; OnDevice makes one of a device.
type Port interface {
	// Open makes a queue pair for datagrams.
	Open(receive func(*hca.Datagram)) (Datagrams, error)
	// Watch has f called when something of the port has changed: state, LID,
	// subnet manager, P_Keys, or when the manager wants its clients to register
	// again. It is called in the middle of other work and must not call into the
	// port.
	Watch(f func(Change)) (stop func())

	Active() bool
	LID() (base wire.LID, lmc uint8)
	SM() (lid wire.LID, sl uint8) // lid 0: none is known
	GID() hca.GID                 // that of index 0
	PKeys() []uint16
	MTU() int // bytes of payload of a packet
}

// Datagrams is a queue pair; *hca.DatagramQP is one.
type Datagrams interface {
	Num() uint32
	SetKeys(qkey uint32, pkeyIndex uint16)
	Attach(g hca.GID, mlid wire.LID) error
	Detach(g hca.GID, mlid wire.LID) error
	Send(*hca.Datagram) error
	Close()
}

// Change says what is new about a port.
type Change uint8

// Changes. They may be combined.
const (
	ChangeState      Change = 1 << iota // active or not
	ChangeLID                           // its LID
	ChangeMembership                    // the manager, the P_Keys, or a wish to register again
)

// Host is the node's kernel behind an interface.
type Host interface {
	// Deliver takes an IP packet that is valid during the call; false: it was
	// not taken.
	Deliver(packet []byte) bool
	// LinkChanged tells whether the interface can be used, and the IP MTU.
	LinkChanged(up bool, mtu int)
}

// SA asks the subnet administration of the port's subnet; Client is one.
type SA interface {
	// Ask sends a request. done is called once, later, unless the SA is closed
	// before. The answer is valid during the call.
	Ask(q *Query, done func(*Answer))
}

// Query is a request to subnet administration about one record.
type Query struct {
	Method mad.Method // MethodGet, MethodSet or MethodDelete
	Attr   mad.AttrID
	Mask   uint64 // the components of the record that are meant
	Record mad.Attribute
}

// Answer is what came of a Query.
type Answer struct {
	Err    error      // ErrNoAnswer, or why it could not be sent
	Status mad.Status // with Err nil: 0, or what was wrong with the request
	Record []byte
}

// ok tells whether the request was granted.
func (a *Answer) ok() bool { return a.Err == nil && a.Status == 0 }

// Errors of queries.
var (
	ErrDown        = errors.New("ipoib: the interface has not joined its broadcast group")
	ErrUnreachable = errors.New("ipoib: nobody answers for the address")
	ErrNoPath      = errors.New("ipoib: subnet administration knows no path")
	ErrNoAnswer    = errors.New("ipoib: subnet administration does not answer")
	ErrInvalid     = errors.New("ipoib: not an address of one host of this subnet")
)

// HeaderLen is the length of the encapsulation header in bytes: the EtherType
// and two reserved ones (RFC 4391 §6).
const HeaderLen = 4

// Times and limits.
const (
	arpTime       = sim.Second       // between attempts to resolve an address, RFC 4861 RETRANS_TIMER
	arpTries      = 3                // RFC 4861 MAX_MULTICAST_SOLICIT
	reachableTime = 30 * sim.Second  // that an answer is believed, RFC 4861 REACHABLE_TIME
	idleTime      = 300 * sim.Second // until what is not used is forgotten
	pathTime      = 600 * sim.Second // until a path is asked for again
	failTime      = sim.Second       // between attempts after subnet administration refused
	maxBackoff    = 16 * sim.Second  // between attempts to join

	maxNeighbours = 16384
	maxPaths      = 16384
	maxGroups     = 1024
	maxWaiting    = 16 // packets that wait for one neighbour, path or group
)
