package sm

import (
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// SMInfo: what the manager says of itself, what others say, and the controls
// by which they hand the subnet to one another (IBTA vol. 1 §14.4.1).

// RemoteSM is another subnet manager, as a sweep found it or it was heard of.
type RemoteSM struct {
	GUID wire.GUID // of its port
	LID  wire.LID  // 0: not known
	Info mad.SMInfo

	path []uint8
	ok   bool // it has answered
}

// Remotes are the other subnet managers that are known.
func (m *Manager) Remotes() []RemoteSM { return m.remote }

// Info is what the manager says of itself.
func (m *Manager) Info() mad.SMInfo {
	return mad.SMInfo{GUID: m.cfg.GUID, ActCount: m.actCount, Priority: m.cfg.Priority, SMState: m.state}
}

// higher tells whether another manager goes before this one.
func (m *Manager) higher(o *mad.SMInfo) bool {
	return o.Priority > m.cfg.Priority || o.Priority == m.cfg.Priority && o.GUID < m.cfg.GUID
}

// smInfo answers Get and Set of SMInfo.
func (m *Manager) smInfo(d *Datagram) {
	p := d.SMP()
	var asked mad.SMInfo
	mad.Decode(&asked, p.Data())
	method, control, st := p.Packet().Method(), p.Packet().Modifier(), mad.StatusOK
	back := backTo(d)
	m.actCount++
	act := func() {}
	if method == mad.MethodSet {
		m.stats.Controls++
		if asked.SMKey != m.cfg.SMKey {
			m.note("SMInfo control %d of %v with another SM_Key", control, asked.GUID)
			return // IBTA vol. 1 §14.4.1: as if it had not come
		}
		st, act = m.control(control, &asked, back)
	}
	info := m.Info()
	// The standard shows the key only to who knows it (IBTA vol. 1 §14.4.1).
	// OpenSM asks with key 0, and a manager that does not show its own then is
	// none to OpenSM 3.3.23: neither would ever hand over to the other.
	if asked.SMKey == 0 || asked.SMKey == m.cfg.SMKey {
		info.SMKey = m.cfg.SMKey
	}
	out := *d
	r := out.SMP()
	if r.Directed() {
		r.Respond(st)
	} else {
		r.Packet().SetMethod(mad.MethodGetResp)
		r.Packet().SetStatus(st)
	}
	mad.Encode(&info, r.Data())
	out.Answer()
	m.cfg.Port.Send(&out)
	act()
	if method == mad.MethodGet && m.state == mad.SMMaster && back != nil {
		m.heardOf(back)
	}
}

// address is how to reach a port that sent something.
type address struct {
	lid  wire.LID
	path []uint8
}

// backTo is where a request came from: its LID, or the directed route back,
// which are the ports by which it came in reverse.
func backTo(d *Datagram) *address {
	p := d.SMP()
	if !p.Directed() {
		if d.SLID.Unicast() {
			return &address{lid: d.SLID}
		}
		return nil
	}
	n := int(p.HopCount())
	if n == 0 || n > mad.MaxHops || p.DrSLID() != wire.LIDPermissive || p.DrDLID() != wire.LIDPermissive {
		return nil
	}
	a := &address{path: make([]uint8, n)}
	for i := range a.path {
		a.path[i] = p.ReturnPath()[n-i]
	}
	return a
}

// control does what a Set of SMInfo demands: at once what the answer tells of,
// and the rest in act, behind the answer.
func (m *Manager) control(c uint32, from *mad.SMInfo, back *address) (st mad.Status, act func()) {
	act = func() {}
	switch {
	case c == mad.SMHandover && (m.state == mad.SMStandby || m.state == mad.SMMaster || m.state == mad.SMDiscovering):
		m.stats.HandoversIn++
		return mad.StatusOK, func() {
			if back != nil {
				m.sendControl(mad.SMAcknowledge, back, nil)
			}
			switch m.state {
			case mad.SMStandby:
				m.discover()
			case mad.SMMaster:
				m.heavy()
			default: // the sweep that runs will find the master gone
				m.sweep.again = true
			}
		}
	case c == mad.SMAcknowledge && m.state != mad.SMNotActive:
		m.stats.Acknowledged++
	case c == mad.SMDisable && (m.state == mad.SMStandby || m.state == mad.SMNotActive):
		m.setState(mad.SMNotActive)
	case c == mad.SMStandbyCtl && m.state == mad.SMNotActive:
		m.setState(mad.SMStandby)
		m.startPolling(&RemoteSM{GUID: from.GUID, Info: *from, LID: back.orLID(), path: back.orPath()})
	case c == mad.SMDiscover && m.state == mad.SMStandby:
		act = m.discover
	case c == mad.SMStandbyCtl && m.state == mad.SMStandby, c == mad.SMDiscover && m.state == mad.SMDiscovering:
	default:
		return mad.StatusInvalidField, act
	}
	return mad.StatusOK, act
}

func (a *address) orLID() wire.LID {
	if a == nil {
		return 0
	}
	return a.lid
}

func (a *address) orPath() []uint8 {
	if a == nil {
		return nil
	}
	return a.path
}

// askSMInfo asks one manager; it says who asks.
func (m *Manager) askSMInfo(to address, gen uint32, arg int, done func(*Manager, *request, *reply)) {
	q := m.request()
	q.method, q.attr, q.lid, q.path, q.gen, q.arg, q.done = mad.MethodGet, mad.AttrSMInfo, to.lid, to.path, gen, arg, done
	info := m.Info()
	info.SMKey = m.cfg.SMKey
	mad.Encode(&info, q.data[:])
	m.enqueue(q)
}

// sendControl sends a Set of SMInfo.
func (m *Manager) sendControl(c uint32, to *address, done func(*Manager, *request, *reply)) {
	q := m.request()
	q.method, q.attr, q.mod, q.lid, q.path, q.done = mad.MethodSet, mad.AttrSMInfo, c, to.lid, to.path, done
	info := m.Info()
	info.SMKey = m.cfg.SMKey
	mad.Encode(&info, q.data[:])
	m.enqueue(q)
}

// heardOf is for a manager that asked this one, the master: the master asks
// back, and hands over if the other goes before it.
func (m *Manager) heardOf(who *address) {
	if m.sweep.phase == phaseNone && !m.asking {
		m.asking = true
		m.askSMInfo(*who, 0, 0, (*Manager).gotHeardOf)
	}
}

func (m *Manager) gotHeardOf(q *request, r *reply) {
	m.asking = false
	var x mad.SMInfo
	if !r.good() || !mad.Decode(&x, r.data) || x.GUID == m.cfg.GUID || x.GUID == 0 || m.state != mad.SMMaster {
		return
	}
	known := false
	for i := range m.remote {
		if o := &m.remote[i]; o.GUID == x.GUID {
			o.Info, o.ok, known = x, true, true
		}
	}
	if !known || x.SMState == mad.SMMaster || x.SMState == mad.SMStandby && m.higher(&x) && !m.refuses(x.GUID) {
		m.heavy()
	}
}
