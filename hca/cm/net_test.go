package cm_test

import (
	"fmt"
	"strings"
	"testing"

	"cnuas/hca"
	"cnuas/hca/cm"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// network joins two managers. Messages take a microsecond, and what filter says.
type network struct {
	t      testing.TB
	eng    *sim.Engine
	mgr    [2]*cm.Manager
	log    []string
	filter func(n int, m mad.Packet) copies
	n      int
	flight []packet
	proc   *sim.Proc
	roce   bool

	smaller [2]uint8 // how much smaller than 4096 bytes the MTU code of an end is
}

// copies is how often a message arrives: 0 loses it.
type copies int

type packet struct {
	to   int
	from hca.MADAddress
	m    [mad.PacketLen]byte
}

type end struct {
	net *network
	i   int
}

func gid(i int) hca.GID        { return hca.GID{0: 0xfe, 1: 0x80, 15: byte(i + 1)} }
func lid(i int) wire.LID       { return wire.LID(0x10 * (i + 1)) }
func (e end) PKeys() []uint16  { return []uint16{0xffff} }
func (e end) ActiveMTU() uint8 { return 5 - e.net.smaller[e.i] }
func (e end) GIDs() []hca.GIDEntry {
	return []hca.GIDEntry{{GID: gid(e.i), Valid: true}, {}}
}

func (e end) SendMAD(qp uint32, to *hca.MADAddress, m []byte) error {
	n := e.net
	if qp != 1 || to.QPN != 1 || to.QKey != wire.QP1QKey || len(m) != mad.PacketLen {
		n.t.Errorf("MAD to QP %d from QP %d, Q_Key %#x, %d bytes", to.QPN, qp, to.QKey, len(m))
	}
	if n.roce && (to.GID != gid(1-e.i) || !to.GRH) || !n.roce && to.LID != lid(1-e.i) {
		n.t.Errorf("MAD to %+v", *to)
	}
	p := mad.Packet(m)
	n.log = append(n.log, fmt.Sprintf("%d:%s", e.i, short(p)))
	k := copies(1)
	if n.filter != nil {
		k = n.filter(n.n, p)
	}
	n.n++
	for range k {
		x := packet{to: 1 - e.i, from: hca.MADAddress{QPN: 1, QKey: wire.QP1QKey, SL: to.SL}}
		if n.roce {
			x.from.GRH, x.from.GID, x.from.MAC, x.from.HopLimit = true, gid(e.i), [6]byte{5: byte(e.i + 1)}, 64
		} else {
			x.from.LID = lid(e.i)
		}
		copy(x.m[:], m)
		n.flight = append(n.flight, x)
		n.proc.At(n.eng.Now()+sim.Microsecond, n, uint32(len(n.flight)-1), 0)
	}
	return nil
}

func (n *network) HandleEvent(_ sim.Time, op uint32, _ uint64) {
	p := n.flight[op]
	n.mgr[p.to].Receive(&p.from, p.m[:])
}

func short(p mad.Packet) string {
	switch p.Attr() {
	case mad.AttrConnectRequest:
		return "REQ"
	case mad.AttrMessageReceiptAck:
		return "MRA"
	case mad.AttrConnectReject:
		var r mad.ConnectReject
		mad.Decode(&r, p.Data())
		return fmt.Sprintf("REJ%d/%d", r.Reason, r.MessageRejected)
	case mad.AttrConnectReply:
		return "REP"
	case mad.AttrReadyToUse:
		return "RTU"
	case mad.AttrDisconnectRequest:
		return "DREQ"
	case mad.AttrDisconnectReply:
		return "DREP"
	case mad.AttrServiceIDRequest:
		return "SIDR_REQ"
	case mad.AttrServiceIDReply:
		var r mad.ServiceIDReply
		mad.Decode(&r, p.Data())
		return fmt.Sprintf("SIDR_REP%d", r.Status)
	case mad.AttrAlternatePathResponse:
		return "APR"
	}
	return "?"
}

func newNetwork(t testing.TB, roce bool) *network {
	n := &network{t: t, eng: sim.NewEngine(7), roce: roce}
	n.proc = n.eng.NewProc()
	for i := range 2 {
		cfg := cm.Config{GUID: 0x100 + uint64(i), RoCE: roce}
		if !roce {
			cfg.LID = func() (wire.LID, uint8) { return lid(i), 0 }
		}
		n.mgr[i] = cm.New(end{n, i}, n.eng.NewProc(), cfg)
	}
	return n
}

func (n *network) dial(service uint64) cm.Dial {
	d := cm.Dial{ServiceID: service, Path: cm.Path{SGID: gid(0), DGID: gid(1), PKey: 0xffff, MTU: mad.MTU4096, Rate: mad.Rate10G, Lifetime: 14}}
	if n.roce {
		d.Path.Global, d.Path.HopLimit, d.Path.MAC = true, 64, [6]byte{5: 2}
	} else {
		d.Path.SLID, d.Path.DLID = lid(0), lid(1)
	}
	return d
}

func (n *network) run(d sim.Time) { n.eng.RunUntil(n.eng.Now() + d) }

func (n *network) messages() string { return strings.Join(n.log, " ") }

// user notes what it is told, and answers by policy.
type user struct {
	t       testing.TB
	conn    *cm.Conn
	verdict cm.Verdict
	hold    bool // do not answer by itself
	reject  bool
	log     []string
	last    cm.Event
	params  cm.Params
	req     cm.Request
}

func (u *user) Request(c *cm.Conn, r *cm.Request) cm.Verdict {
	u.req = *r
	u.log = append(u.log, "request")
	if u.verdict != cm.Pending {
		return u.verdict
	}
	u.conn = c
	c.SetHandler(u)
	c.Delay()
	switch {
	case u.hold:
	case u.reject && r.Datagram:
		must(u.t, c.Refuse([]byte("no")))
	case u.reject:
		must(u.t, c.Reject(mad.RejectConsumer, nil, []byte("no")))
	case r.Datagram:
		must(u.t, c.Answer(0x77, 0x1234, []byte("yes")))
	default:
		must(u.t, c.Accept(&u.params))
	}
	return cm.Pending
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var eventNames = [...]string{"reply", "established", "rejected", "unreachable", "disconnect", "disconnected", "timewait exit", "resolved"}

func (u *user) ConnEvent(c *cm.Conn, e *cm.Event) {
	s := eventNames[e.Type]
	if e.Type == cm.EventRejected {
		s += fmt.Sprint(" ", uint16(e.Reason))
	}
	if e.Type == cm.EventResolved {
		s += fmt.Sprint(" ", e.Status)
	}
	if e.Timeout {
		s += " late"
	}
	u.log = append(u.log, s)
	u.last = *e
	if u.hold {
		return
	}
	switch e.Type {
	case cm.EventReply:
		if u.reject {
			must(u.t, c.Reject(mad.RejectConsumer, nil, nil))
		} else {
			must(u.t, c.Confirm(nil))
		}
	case cm.EventDisconnect:
		must(u.t, c.Disconnect(nil))
	}
}

func (u *user) events() string { return strings.Join(u.log, ", ") }

const service = 0x0106_0000 + 4791

func params(qpn uint32) cm.Params {
	return cm.Params{Type: hca.RC, QPN: qpn, ResponderResources: 4, InitiatorDepth: 3, RetryCount: 7, RNRRetryCount: 6, PrivateData: []byte("hello")}
}

// pair has node 1 listen and node 0 connect.
func (n *network) pair() (active, passive *user) {
	n.t.Helper()
	active, passive = &user{t: n.t}, &user{t: n.t, params: params(0x22)}
	_, err := n.mgr[1].Listen(service, ^uint64(0), passive)
	must(n.t, err)
	return active, passive
}

func (n *network) connect(u *user) {
	n.t.Helper()
	p := params(0x11)
	c, err := n.mgr[0].Connect(u, n.dial(service), &p)
	must(n.t, err)
	u.conn = c
}
