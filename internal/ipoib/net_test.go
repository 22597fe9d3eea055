package ipoib

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"cnuas/hca"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// lab is a subnet of interfaces without switches: what one sends the others
// have a microsecond later, in events.
type lab struct {
	t     *testing.T
	e     *sim.Engine
	proc  *sim.Proc
	ports []*fakePort
	log   []string // what was sent, and asked of subnet administration
	later []func()

	manager bool                         // subnet administration answers
	groups  map[wire.GID]wire.LID        // MGID to MLID
	members map[wire.GID]map[uint64]bool // by port GUID: who was granted membership
	lose    func(from, to int, d *hca.Datagram) bool
	refuse  mad.Status
}

// fakePort is a Port, a Datagrams, an SA and a Host in one.
type fakePort struct {
	lab      *lab
	num      int
	i        *Interface
	receive  func(*hca.Datagram)
	change   func(Change)
	active   bool
	lid      wire.LID
	sm       wire.LID
	pkeys    []uint16
	mtu      int
	qkey     uint32
	attached map[hca.GID]wire.LID
	got      []string
	up       bool
	ipMTU    int
	full     bool
}

const (
	testQKey  = 0xb1b
	testDelay = sim.Microsecond
)

func newLab(t *testing.T, n int) *lab {
	l := &lab{t: t, e: sim.NewEngine(1), manager: true, groups: map[wire.GID]wire.LID{}, members: map[wire.GID]map[uint64]bool{}}
	l.proc = l.e.NewProc()
	l.groups[wire.GID(BroadcastGID(0xffff))] = 0xc000
	for k := 1; k <= n; k++ {
		p := &fakePort{lab: l, num: k, active: true, lid: wire.LID(k), sm: 1, pkeys: []uint16{0xffff}, mtu: 2048, attached: map[hca.GID]wire.LID{}}
		var err error
		p.i, err = New(Config{Name: fmt.Sprintf("h%d:ib0", k), Port: p, SA: p, Proc: l.e.NewProc(), Host: p,
			Addrs: []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("10.0.0.%d/24", k)), netip.MustParsePrefix(fmt.Sprintf("fd00::%d/64", k))}})
		if err != nil {
			t.Fatal(err)
		}
		l.ports = append(l.ports, p)
	}
	return l
}

// upLab is a lab in which all interfaces are up and nothing is logged yet.
func upLab(t *testing.T, n int) *lab {
	l := newLab(t, n)
	l.run(sim.Millisecond)
	for _, p := range l.ports {
		if !p.up || p.ipMTU != 2044 {
			t.Fatalf("h%d: up %v, mtu %d", p.num, p.up, p.ipMTU)
		}
	}
	l.log = nil
	return l
}

func (l *lab) run(d sim.Time) { l.e.RunUntil(l.e.Now() + d) }

func (l *lab) at(d sim.Time, f func()) {
	l.later = append(l.later, f)
	l.proc.At(l.e.Now()+d, l, 0, uint64(len(l.later)-1))
}

func (l *lab) HandleEvent(_ sim.Time, _ uint32, arg uint64) { l.later[arg]() }

func (l *lab) note(format string, args ...any) { l.log = append(l.log, fmt.Sprintf(format, args...)) }

func (l *lab) expect(what string, want ...string) {
	l.t.Helper()
	got, w := strings.Join(l.log, "\n"), strings.Join(want, "\n")
	if got != w {
		l.t.Errorf("%s:\n%s\nwant:\n%s", what, got, w)
	}
	l.log = nil
}

func (p *fakePort) Open(receive func(*hca.Datagram)) (Datagrams, error) {
	p.receive = receive
	return p, nil
}
func (p *fakePort) Watch(f func(Change)) func() {
	p.change = f
	return func() { p.change = func(Change) {} }
}
func (p *fakePort) Active() bool                          { return p.active }
func (p *fakePort) LID() (wire.LID, uint8)                { return p.lid, 0 }
func (p *fakePort) SM() (wire.LID, uint8)                 { return p.sm, 0 }
func (p *fakePort) PKeys() []uint16                       { return p.pkeys }
func (p *fakePort) MTU() int                              { return p.mtu }
func (p *fakePort) GID() hca.GID                          { return hca.GID{0: 0xfe, 1: 0x80, 15: byte(p.num)} }
func (p *fakePort) Num() uint32                           { return 0x100 + uint32(p.num) }
func (p *fakePort) SetKeys(qkey uint32, _ uint16)         { p.qkey = qkey }
func (p *fakePort) Attach(g hca.GID, mlid wire.LID) error { p.attached[g] = mlid; return nil }
func (p *fakePort) Detach(g hca.GID, _ wire.LID) error    { delete(p.attached, g); return nil }
func (p *fakePort) Close()                                { p.receive = func(*hca.Datagram) {} }
func (p *fakePort) LinkChanged(up bool, mtu int)          { p.up, p.ipMTU = up, mtu }
func (p *fakePort) output(own []byte)                     { p.i.Output(append(make([]byte, HeaderLen), own...)) }
func (p *fakePort) send(to string, text string)           { p.output(packet(p.num, to, text)) }
func (p *fakePort) moves(lid wire.LID)                    { p.lid = lid; p.change(ChangeLID) }

func (p *fakePort) Deliver(b []byte) bool {
	if p.full {
		return false
	}
	p.got = append(p.got, string(b[len(b)-4:]))
	return true
}

// packet is an IP packet from an own address that ends in four letters.
func packet(from int, to, text string) []byte {
	dst := netip.MustParseAddr(to)
	b := make([]byte, 60)
	copy(b[56:], text)
	if dst.Is4() {
		b[0], b[3], b[8], b[9] = 0x45, 60, 64, 17
		d := dst.As4()
		copy(b[12:], []byte{10, 0, 0, byte(from)})
		copy(b[16:], d[:])
		return b
	}
	src := [16]byte{0: 0xfd, 15: byte(from)}
	(&wire.IPv6Fields{PayloadLen: 20, NextHeader: 17, HopLimit: 64, Src: src, Dst: dst.As16()}).Encode(b)
	return b
}

// describe tells a datagram in short.
func describe(d *hca.Datagram) string {
	b := d.Data[HeaderLen:]
	what := ""
	switch binary.BigEndian.Uint16(d.Data) {
	case wire.EtherTypeARP:
		m := arp(b)
		what = fmt.Sprintf("arp %d %v is %x, %v?", m.op(), m.senderIP(), m.sender().QPNOf(), m.targetIP())
	case wire.EtherTypeIPv6:
		if m := neighbourDiscovery(b); m != nil {
			src, _ := linkAddr(m, wire.NDSourceLinkAddr)
			dst, _ := linkAddr(m, wire.NDTargetLinkAddr)
			what = fmt.Sprintf("nd %d %v, source %x target %x", m[0], netip.AddrFrom16(m.Target()), src.QPNOf(), dst.QPNOf())
			break
		}
		what = string(b[len(b)-4:])
	default:
		what = string(b[len(b)-4:])
	}
	return what
}

// QPNOf is QPN of an address that is not addressable.
func (a Addr) QPNOf() uint32 { return a.QPN() }

func (p *fakePort) Send(d *hca.Datagram) error {
	l, a := p.lab, &d.Addr
	l.note("h%d > lid %#x qp %#x: %s", p.num, uint16(a.LID), a.QPN, describe(d))
	if a.QKey != testQKey {
		l.t.Errorf("Q_Key %#x", a.QKey)
	}
	c := hca.Datagram{Data: append([]byte(nil), d.Data...), Addr: hca.MADAddress{QPN: p.Num(), QKey: a.QKey, LID: p.lid}}
	for _, q := range l.ports {
		q := q
		if a.LID.Multicast() {
			if q == p || q.attached[a.GID] != a.LID {
				continue
			}
		} else if q.lid != a.LID || q.Num() != a.QPN {
			continue
		}
		if l.lose != nil && l.lose(p.num, q.num, &c) {
			continue
		}
		l.at(testDelay, func() {
			if q.qkey != testQKey {
				l.t.Errorf("h%d receives with Q_Key %#x", q.num, q.qkey)
			}
			q.receive(&c)
		})
	}
	return nil
}

// Ask answers as subnet administration does, or not at all.
func (p *fakePort) Ask(q *Query, done func(*Answer)) {
	l := p.lab
	buf := make([]byte, mad.SADataLen)
	mad.Encode(q.Record, buf)
	switch r := q.Record.(type) {
	case *mad.PathRecord:
		l.note("h%d asks for the path to %d", p.num, r.DGID[15])
	case *mad.MCMemberRecord:
		l.note("h%d %v %v %v", p.num, q.Method, netip.AddrFrom16(r.MGID), r.JoinState)
	}
	if !l.manager {
		l.at(3*sim.Second, func() { done(&Answer{Err: ErrNoAnswer}) })
		return
	}
	a := l.answer(p, q, buf)
	l.at(testDelay, func() { done(a) })
}

func (l *lab) answer(p *fakePort, q *Query, buf []byte) *Answer {
	if l.refuse != 0 {
		return &Answer{Status: l.refuse}
	}
	switch r := q.Record.(type) {
	case *mad.PathRecord:
		x := *r
		x.DLID = 0
		for _, q := range l.ports {
			if wire.GID(q.GID()) == r.DGID {
				x.DLID = q.lid
			}
		}
		if x.DLID == 0 {
			return &Answer{Status: mad.StatusSANoRecords}
		}
		x.MTU = mad.MTU2048
		mad.Encode(&x, buf)
	case *mad.MCMemberRecord:
		guid := r.PortGID.GUID()
		if q.Method == mad.MethodDelete {
			delete(l.members[r.MGID], uint64(guid))
			return &Answer{Record: buf}
		}
		mlid := l.groups[r.MGID]
		if mlid == 0 {
			if r.JoinState != mad.JoinFull || q.Mask&^joinMask == 0 {
				return &Answer{Status: mad.StatusSAInvalid}
			}
			mlid = wire.LID(0xc000 + len(l.groups))
			l.groups[r.MGID] = mlid
		}
		if r.JoinState == mad.JoinFull {
			if l.members[r.MGID] == nil {
				l.members[r.MGID] = map[uint64]bool{}
			}
			l.members[r.MGID][uint64(guid)] = true
		}
		x := *r
		x.MLID, x.QKey, x.MTU, x.Rate, x.PKey = mlid, testQKey, mad.MTU2048, mad.Rate10G, 0xffff
		mad.Encode(&x, buf)
	}
	return &Answer{Record: buf}
}
