package ipoib

import (
	"cnuas/hca"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// path is the way to a port of the subnet.
type path struct {
	i       *Interface
	gid     hca.GID
	known   bool
	asking  bool
	token   uint64
	used    bool
	rec     mad.PathRecord
	timer   sim.Timer // known: asked for again when it expires; failed: forgotten then
	queue   []waiting
	waiters []func(*mad.PathRecord, error)
	gone    bool
}

// waiting is a datagram that waits for a path.
type waiting struct {
	qpn uint32
	b   []byte
}

var (
	pathFields = mad.Fields(&mad.PathRecord{})
	pathMask   = mad.Component(pathFields, "DGID", "SGID", "Reversible", "NumbPath", "PKey")
)

// path returns the path to a port, which is asked for if it is new; nil if
// there are too many.
func (i *Interface) path(gid hca.GID) *path {
	p := i.paths[gid]
	if p == nil {
		if len(i.paths) >= maxPaths {
			return nil
		}
		p = &path{i: i, gid: gid}
		p.timer.Init(i.proc, p, 0, 0)
		i.paths[gid] = p
		p.ask()
	}
	return p
}

func (p *path) ask() {
	i := p.i
	i.ctr.PathQueries++
	p.asking = true
	p.token++
	token := p.token
	r := mad.PathRecord{DGID: wire.GID(p.gid), SGID: wire.GID(i.gid), Reversible: true, NumbPath: 1, PKey: i.pkey}
	i.cfg.SA.Ask(&Query{Method: mad.MethodGet, Attr: mad.AttrPathRecord, Mask: pathMask, Record: &r}, func(a *Answer) {
		if p.token == token {
			p.asking = false
			p.answered(a)
		}
	})
}

// answered takes the answer. A path that was known stays in use when the
// manager does not answer for a while.
func (p *path) answered(a *Answer) {
	i := p.i
	var r mad.PathRecord
	if !a.ok() || !mad.Decode(&r, a.Record) || r.DLID == 0 || r.DLID.Multicast() {
		i.ctr.PathFailures++
		i.ctr.TxNoPath += uint64(len(p.queue))
		p.queue = nil
		if a.Err == nil {
			p.known = false
		}
		p.timer.Reset(i.proc.Now() + failTime)
		err := ErrNoPath
		if a.Err != nil {
			err = a.Err
		}
		p.tell(nil, err)
		return
	}
	p.rec, p.known, p.used = r, true, false
	p.timer.Reset(i.proc.Now() + pathTime)
	q := p.queue
	p.queue = nil
	for _, w := range q {
		p.put(w.qpn, w.b)
	}
	p.tell(&p.rec, nil)
}

func (p *path) tell(r *mad.PathRecord, err error) {
	l := p.waiters
	p.waiters = nil
	for _, f := range l {
		f(r, err)
	}
}

// HandleEvent implements sim.Handler; only the engine calls it.
func (p *path) HandleEvent(sim.Time, uint32, uint64) {
	switch {
	case p.gone || p.asking:
	case p.known && p.used:
		p.ask()
	default:
		p.forget(ErrNoPath)
	}
}

// send sends a datagram to a queue pair of the port, at once or when the path
// is known.
func (p *path) send(qpn uint32, b []byte) {
	switch {
	case p.known:
		p.put(qpn, b)
	case !p.asking:
		p.i.ctr.TxNoPath++ // refused a moment ago
	case len(p.queue) >= maxWaiting:
		p.i.ctr.TxOverflow++
	default:
		p.queue = append(p.queue, waiting{qpn, append([]byte(nil), b...)})
	}
}

// put sends. The Q_Key is that of the broadcast group (RFC 4391 §9.1.2).
func (p *path) put(qpn uint32, b []byte) {
	p.used = true
	r := &p.rec
	a := hca.MADAddress{QPN: qpn, QKey: p.i.broadcast.rec.QKey, LID: r.DLID, SL: r.SL}
	if r.HopLimit > 1 { // through a router
		a.GRH, a.GID = true, p.gid
		a.FlowLabel, a.TrafficClass, a.HopLimit = r.FlowLabel, r.TClass, r.HopLimit
	}
	p.i.transmit(b, a)
}

// moved looks at where a datagram of the port came from: a port whose LID has
// changed is asked for again.
func (p *path) moved(from wire.LID) {
	_, lmc := p.i.port.LID()
	if p.known && !p.asking && (p.rec.DLID^from)>>lmc != 0 {
		p.known = false
		p.ask()
	}
}

// forget ends the path.
func (p *path) forget(err error) {
	if p.gone {
		return
	}
	p.gone = true
	p.timer.Stop()
	p.token++
	delete(p.i.paths, p.gid)
	p.i.ctr.TxNoPath += uint64(len(p.queue))
	p.queue = nil
	p.tell(nil, err)
}

// forgetPaths forgets all that the manager has said of other ports. What waits
// for an answer is asked again.
func (i *Interface) forgetPaths() {
	for _, p := range i.allPaths() {
		if p.asking && i.ready {
			p.ask()
		} else {
			p.forget(ErrDown)
		}
	}
}
