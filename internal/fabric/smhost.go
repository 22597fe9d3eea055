package fabric

import (
	"errors"
	"fmt"

	"cnuas/hca"
	mads "cnuas/hca/mad"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
	"cnuas/sm/sa"
)

// smHost joins a subnet manager and its subnet administration to a port, as a
// user of the node's MAD layer like any other: a second one at the port is
// refused, whether it is ours or a program such as opensm. It implements
// sm.MADPort, sm.Observer and mads.Handler.
type smHost struct {
	port   *IBPort
	m      *sm.Manager
	sa     *sa.Agent
	direct *mads.Agent // directed-route SMPs
	lid    *mads.Agent // the other SMPs
	admin  *mads.Agent // queries
	in     sm.Datagram
	early  []sm.Datagram // queries that came before there was a subnet to answer from
}

// maxEarly bounds the queries that wait for the end of the first sweep.
const maxEarly = 16384

func methods(l ...mad.Method) (m [2]uint64) {
	for _, x := range l {
		m[x/64] |= 1 << (x % 64)
	}
	return m
}

// attach registers for the requests that opensm registers for.
func (h *smHost) attach(t *mads.Table) (err error) {
	smi := methods(mad.MethodGet, mad.MethodSet, mad.MethodTrap)
	for _, x := range []struct {
		a  **mads.Agent
		qp uint32
		c  mad.Class
		m  [2]uint64
	}{
		{&h.lid, wire.QP0, mad.ClassSubnLID, smi},
		{&h.direct, wire.QP0, mad.ClassSubnDirected, smi},
		{&h.admin, wire.QP1, mad.ClassSubnAdm, methods(mad.MethodGet, mad.MethodSet, mad.MethodGetTable, mad.MethodGetMulti, mad.MethodDelete)},
	} {
		if *x.a, err = t.Register(mads.Registration{QP: x.qp, Class: x.c, Version: x.c.Version(), Methods: x.m, OwnTimers: true}, h); err != nil {
			h.detach()
			if errors.Is(err, mads.ErrInUse) {
				err = errors.New("a program there, opensm perhaps, answers for a subnet manager already: end it, or choose another node")
			}
			return fmt.Errorf("subnet manager at %s: %w", h.port.Name(), err)
		}
	}
	return nil
}

func (h *smHost) detach() {
	for _, a := range []*mads.Agent{h.lid, h.direct, h.admin} {
		if a != nil {
			a.Close()
		}
	}
	h.lid, h.direct, h.admin = nil, nil, nil
}

// Send implements sm.MADPort. What cannot be sent is lost, as on a wire: the
// manager asks again, and gives up.
func (h *smHost) Send(d *sm.Datagram) {
	a := h.lid
	switch c := d.Packet().Class(); {
	case c == mad.ClassSubnDirected:
		a = h.direct
	case !c.Subn():
		a = h.admin
	}
	if a == nil {
		return // it has ended; a timer of its subnet administration was left
	}
	m := mads.Message{Data: d.MAD[:], Addr: hca.MADAddress{
		QPN: d.QP, QKey: d.QKey, LID: d.DLID, SL: d.SL, PKeyIndex: d.PKeyIndex,
		GRH: d.HasGRH, GID: hca.GID(d.DGID), HopLimit: 64,
	}}
	if d.SLID.Unicast() {
		m.Addr.PathBits = uint8(d.SLID) & (1<<h.port.Port().LMC() - 1)
	}
	_ = a.Send(&m)
}

// portChanged begins a sweep when the manager's own link comes up: without it
// there is nothing to find, and there are no traps.
func (h *smHost) portChanged(from, to mad.PortState) {
	if from == mad.PortDown && to == mad.PortInit {
		h.m.Start()
		h.m.Heavy()
	}
}

// ReceiveMAD implements mads.Handler.
func (h *smHost) ReceiveMAD(a *mads.Agent, m *mads.Message) {
	p, d, from := h.port.Port(), &h.in, &m.Addr
	*d = sm.Datagram{
		QP: a.Registration().QP, SrcQP: from.QPN, QKey: from.QKey, SLID: from.LID, SL: from.SL, PKeyIndex: from.PKeyIndex,
		DLID: p.LID() | wire.LID(from.PathBits),
	}
	if from.LID == wire.LIDPermissive {
		d.DLID = wire.LIDPermissive
	}
	if from.GRH {
		d.HasGRH, d.SGID, d.DGID = true, wire.GID(from.GID), wire.MakeGID(p.Prefix(), p.GUID())
	}
	copy(d.MAD[:], m.Data)
	if k := d.Packet(); k.Method().IsResponse() && k.TID()>>32 == uint64(a.TIDHigh()) {
		k.SetTID(k.TID() & 0xffffffff) // as the manager had sent it
	}
	switch {
	case a != h.admin:
		h.m.Receive(d)
	case h.m.Subnet() == nil && (h.m.State() == mad.SMMaster || h.m.State() == mad.SMDiscovering):
		// Ports ask, IPoIB to begin with, as soon as they are Active; who is not
		// answered waits for a second before it asks again.
		if len(h.early) < maxEarly {
			h.early = append(h.early, *d)
		}
	default:
		h.sa.Receive(d)
	}
}

// SubnetUp implements sm.Observer.
func (h *smHost) SubnetUp(now sim.Time, in, out []sm.EndPort) {
	h.sa.SubnetUp(now, in, out)
	l := h.early
	h.early = nil
	for i := range l {
		h.sa.Receive(&l[i])
	}
}

// Notice implements sm.Observer.
func (h *smHost) Notice(now sim.Time, n *mad.Notice) { h.sa.Notice(now, n) }

// SendDone implements mads.Handler. The manager has timers of its own.
func (h *smHost) SendDone(*mads.Agent, *mads.Message, error) {}
