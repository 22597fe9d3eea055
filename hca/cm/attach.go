package cm

import (
	mads "cnuas/hca/mad"
	"cnuas/internal/wire/mad"
)

// Attach has the manager get the port's MADs of its class. mads.ErrInUse:
// there is a manager already.
func (m *Manager) Attach(t *mads.Table) (*mads.Agent, error) {
	return t.Register(mads.Registration{
		QP: 1, Class: mad.ClassComm, Version: mad.ClassComm.Version(), Methods: [2]uint64{1 << mad.MethodSend},
	}, receiver{m})
}

// receiver is the Manager as the MAD layer sees it: it repeats its messages
// itself.
type receiver struct{ m *Manager }

func (r receiver) ReceiveMAD(_ *mads.Agent, m *mads.Message) { r.m.Receive(&m.Addr, m.Packet()) }

func (r receiver) SendDone(*mads.Agent, *mads.Message, error) {}
