package fabric

import (
	"cnuas/hca"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
	"cnuas/sm/sa"
)

// smHost joins a subnet manager and its subnet administration to a port: it
// carries datagrams between them and the queue pairs 0 and 1. It implements
// sm.MADPort and hca.MADSink.
type smHost struct {
	port *IBPort
	m    *sm.Manager
	sa   *sa.Agent
	in   sm.Datagram
}

// Send implements sm.MADPort. What cannot be sent is lost, as on a wire: the
// manager asks again, and gives up.
func (h *smHost) Send(d *sm.Datagram) {
	if h.port.host != h {
		return // it has ended; a timer of its subnet administration was left
	}
	qp := wire.QP0
	if !d.Packet().Class().Subn() {
		qp = wire.QP1
	}
	to := hca.MADAddress{
		QPN: d.QP, QKey: d.QKey, LID: d.DLID, SL: d.SL, PKeyIndex: d.PKeyIndex,
		GRH: d.HasGRH, GID: hca.GID(d.DGID), HopLimit: 64,
	}
	if d.SLID.Unicast() {
		to.PathBits = uint8(d.SLID) & (1<<h.port.Port().LMC() - 1)
	}
	h.port.Device().SendMAD(uint32(qp), &to, d.MAD[:])
}

// portChanged begins a sweep when the manager's own link comes up: without it
// there is nothing to find, and there are no traps.
func (h *smHost) portChanged(from, to mad.PortState) {
	if from == mad.PortDown && to == mad.PortInit {
		h.m.Start()
		h.m.Heavy()
	}
}

// ReceiveMAD implements hca.MADSink.
func (h *smHost) ReceiveMAD(qp uint32, from *hca.MADAddress, m mad.Packet) {
	p, d := h.port.Port(), &h.in
	*d = sm.Datagram{
		QP: qp, SrcQP: from.QPN, QKey: from.QKey, SLID: from.LID, SL: from.SL, PKeyIndex: from.PKeyIndex,
		DLID: p.LID() | wire.LID(from.PathBits),
	}
	if from.LID == wire.LIDPermissive {
		d.DLID = wire.LIDPermissive
	}
	if from.GRH {
		d.HasGRH, d.SGID, d.DGID = true, wire.GID(from.GID), wire.MakeGID(p.Prefix(), p.GUID())
	}
	copy(d.MAD[:], m)
	switch {
	case qp == wire.QP0:
		h.m.Receive(d)
	case m.Class() == mad.ClassSubnAdm:
		h.sa.Receive(d)
	}
}
