package sm

import (
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Datagram is a MAD with its addresses, in either direction (IBTA vol. 1
// §13.5). A directed-route SMP begins with hop pointer 0: the port does the
// first step of SMP.Step, and the last one of a response.
type Datagram struct {
	MAD        [mad.PacketLen]byte
	QP         uint32   // destination: 0 for SMPs, 1 for general services
	SrcQP      uint32   // of the sender
	QKey       uint32   // of datagrams not to QP 0
	SLID, DLID wire.LID // permissive both: a directed route only. A port fills in SLID when it sends
	SL         uint8
	PKeyIndex  uint16 // of datagrams not to QP 0
	HasGRH     bool
	SGID, DGID wire.GID // if HasGRH
}

// Packet is the view of the MAD.
func (d *Datagram) Packet() mad.Packet { return d.MAD[:] }

// SMP is the view of the MAD as a subnet management packet.
func (d *Datagram) SMP() mad.SMP { return d.MAD[:] }

// MADPort is a port that sends datagrams. It keeps no reference to m, and what
// comes back arrives later: Send does not call Manager.Receive.
type MADPort interface {
	Send(m *Datagram)
}

// Answer addresses d, a request that arrived at QP 0 or 1, to whom it came from.
func (d *Datagram) Answer() {
	d.SLID, d.DLID = d.DLID, d.SLID
	d.QP, d.SrcQP = d.SrcQP, d.QP
	if d.HasGRH {
		d.SGID, d.DGID = d.DGID, d.SGID
	}
}
