// Package cm is the communication manager of a port: it makes and ends
// connections of queue pairs, and finds out which queue pair serves a datagram
// service, by the messages of IBTA vol. 1 chapter 12. It works over RoCE and
// InfiniBand alike.
//
// Read IBTA vol. 1 §12.9 (states), §12.10 (timeouts) and annex A11 (RDMA IP CM
// service) before editing. Everything happens on the engine's thread; handlers
// may call back into the connection that they are told of.
package cm

import (
	"slices"

	"cnuas/hca"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Port is what a Manager needs of its port: hca.Device implements it.
type Port interface {
	SendMAD(qp uint32, to *hca.MADAddress, m []byte) error
	GIDs() []hca.GIDEntry
	PKeys() []uint16
	ActiveMTU() uint8 // code: 1 for 256 bytes to 5 for 4096
}

// Config of a Manager. Zero values take the defaults stated.
type Config struct {
	GUID     uint64 // of the adapter, by which peers know it
	PortNum  uint8  // of the port on the adapter; default 1
	RoCE     bool
	AckDelay mad.Timeout // of the adapter; default 15 (134 ms), as it reports
	MaxConns int         // connections, those in timewait included; default 65536

	// LID and LMC are those of an InfiniBand port now; nil for RoCE.
	LID func() (base wire.LID, lmc uint8)
}

// Counters of a Manager.
type Counters struct {
	Sent, Resent, Received, Duplicates, Malformed, Unmatched, Refused uint64
}

// Manager is the communication manager of one port.
type Manager struct {
	cfg  Config
	port Port
	proc *sim.Proc
	rand *sim.Rand

	nextID   uint32
	tidHigh  uint32
	local    map[uint32]*Conn
	remoteID map[remoteKey]*Conn
	remoteQP map[remoteKey]*Conn
	sidr     map[sidrKey]*Conn
	exact    map[uint64]*Service
	masked   []*Service
	closed   bool
	ctr      Counters
	scratch  [mad.PacketLen]byte
}

// remoteKey is a communication ID or a queue pair of a peer.
type remoteKey struct {
	guid wire.GUID
	num  uint32
}

// New returns the manager of a port. Whoever receives the MADs of class
// mad.ClassComm hands them to Receive.
func New(port Port, proc *sim.Proc, cfg Config) *Manager {
	if cfg.PortNum == 0 {
		cfg.PortNum = 1
	}
	if cfg.AckDelay == 0 {
		cfg.AckDelay = 15
	}
	if cfg.MaxConns == 0 {
		cfg.MaxConns = 65536
	}
	m := &Manager{
		cfg: cfg, port: port, proc: proc, rand: proc.NewRand(0xc3),
		local: map[uint32]*Conn{}, remoteID: map[remoteKey]*Conn{}, remoteQP: map[remoteKey]*Conn{},
		sidr: map[sidrKey]*Conn{}, exact: map[uint64]*Service{},
	}
	m.nextID, m.tidHigh = m.rand.Uint32(), m.rand.Uint32()
	return m
}

// Counters returns a copy of the counters.
func (m *Manager) Counters() Counters { return m.ctr }

// Conns is the number of connections, those in timewait included.
func (m *Manager) Conns() int { return len(m.local) }

// newConn makes a connection with an ID that nobody else on the adapter has:
// peers know an adapter by its GUID, whatever the port.
func (m *Manager) newConn(h Handler) (*Conn, error) {
	if m.closed || len(m.local) >= m.cfg.MaxConns {
		return nil, hca.ErrNoMemory
	}
	for {
		m.nextID++
		id := m.nextID<<3 | uint32(m.cfg.PortNum&7)
		if m.local[id] != nil {
			continue
		}
		c := &Conn{m: m, h: h, localID: id, psn: m.rand.Uint32() & 0xffffff}
		c.timer.Init(m.proc, c, 0, 0)
		m.local[id] = c
		return c, nil
	}
}

// Close ends every connection at once, with the messages that a peer needs.
func (m *Manager) Close() {
	m.closed = true
	var ids []uint32
	for id := range m.local {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		if c := m.local[id]; c != nil {
			c.h = nil
			c.Destroy()
			c.free()
		}
	}
}

// Receive takes a MAD of class mad.ClassComm. from and p are valid during the
// call only. What does not decode, or is for nobody, is counted and forgotten,
// unless the standard wants an answer.
func (m *Manager) Receive(from *hca.MADAddress, p mad.Packet) {
	if m.closed {
		return
	}
	if !p.Valid() || p.Class() != mad.ClassComm || p.Method() != mad.MethodSend || p.BaseVersion() != mad.BaseVersion {
		m.ctr.Malformed++
		return
	}
	m.ctr.Received++
	if p.ClassVersion() != mad.ClassComm.Version() {
		m.refuseVersion(from, p)
		return
	}
	switch p.Attr() {
	case mad.AttrConnectRequest:
		m.onREQ(from, p)
	case mad.AttrMessageReceiptAck:
		m.onMRA(p)
	case mad.AttrConnectReject:
		m.onREJ(p)
	case mad.AttrConnectReply:
		m.onREP(from, p)
	case mad.AttrReadyToUse:
		m.onRTU(p)
	case mad.AttrDisconnectRequest:
		m.onDREQ(from, p)
	case mad.AttrDisconnectReply:
		m.onDREP(p)
	case mad.AttrServiceIDRequest:
		m.onSIDRREQ(from, p)
	case mad.AttrServiceIDReply:
		m.onSIDRREP(p)
	case mad.AttrLoadAlternatePath:
		m.onLAP(from, p)
	default:
		m.ctr.Malformed++
	}
}

// refuseVersion answers a REQ of another version of the class (IBTA vol. 1
// §12.6.7.2, reason 31).
func (m *Manager) refuseVersion(from *hca.MADAddress, p mad.Packet) {
	var q mad.ConnectRequest
	if p.Attr() == mad.AttrConnectRequest && mad.Decode(&q, p.Data()) {
		m.rejectREQ(from, p, &q, mad.RejectInvalidClassVersion, []byte{mad.ClassComm.Version()})
	}
}

// find returns the connection that a message names by both IDs.
func (m *Manager) find(local, remote uint32) *Conn {
	if c := m.local[local]; c != nil && c.remoteID == remote {
		return c
	}
	return nil
}

// answer sends a message of no connection, back where p came from.
func (m *Manager) answer(from *hca.MADAddress, p mad.Packet, attr mad.AttrID, body mad.Attribute) {
	to := *from
	to.QKey, to.QPN = wire.QP1QKey, wire.QP1
	if to.HopLimit < 2 {
		to.HopLimit = 64
	}
	b := mad.Packet(m.scratch[:])
	encode(b, p.TID(), attr, body)
	m.send(&to, b)
}

func encode(b mad.Packet, tid uint64, attr mad.AttrID, body mad.Attribute) {
	h := mad.Header{Class: mad.ClassComm, Method: mad.MethodSend, TID: tid, Attr: attr}
	h.Encode(b)
	mad.Encode(body, b.Data())
}

// send sends one MAD. One that cannot leave now is lost like one that is lost
// on the way: whoever waits for an answer sends it again.
func (m *Manager) send(to *hca.MADAddress, b mad.Packet) {
	m.ctr.Sent++
	if err := m.port.SendMAD(wire.QP1, to, b); err != nil {
		m.ctr.Refused++
	}
}

// gidIndex finds a GID in the port's table.
func (m *Manager) gidIndex(g hca.GID) (uint8, bool) {
	for i, e := range m.port.GIDs() {
		if e.Valid && e.GID == g {
			return uint8(i), true
		}
	}
	return 0, false
}

// pkeyIndex finds a P_Key in the port's table, whatever the membership.
func (m *Manager) pkeyIndex(key uint16) (uint16, bool) {
	for i, k := range m.port.PKeys() {
		if k != 0 && k&0x7fff == key&0x7fff {
			return uint16(i), true
		}
	}
	return 0, false
}
