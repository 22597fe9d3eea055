package ipoib

import (
	"cnuas/hca"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// OnDevice is the port of a device, which has an InfiniBand one.
func OnDevice(d *hca.Device) Port { return device{d} }

type device struct{ d *hca.Device }

func (p device) Open(receive func(*hca.Datagram)) (Datagrams, error) {
	q, err := p.d.OpenDatagram(0, receive)
	if err != nil {
		return nil, err // not a nil *hca.DatagramQP in an interface
	}
	return q, nil
}

func (p device) Watch(f func(Change)) (stop func()) {
	c := p.d.Open(nil, func(e hca.Event) {
		switch e.Type {
		case hca.EventPortActive, hca.EventPortErr:
			f(ChangeState)
		case hca.EventLIDChange:
			f(ChangeLID)
		case hca.EventSMChange, hca.EventPKeyChange, hca.EventClientReregister, hca.EventGIDChange:
			f(ChangeMembership)
		}
	})
	return c.Close
}

func (p device) Active() bool                    { return p.d.IB().State() == mad.PortActive }
func (p device) LID() (base wire.LID, lmc uint8) { return p.d.IB().LID(), p.d.IB().LMC() }
func (p device) SM() (lid wire.LID, sl uint8)    { return p.d.IB().SMLID() }
func (p device) GID() hca.GID                    { return p.d.GIDs()[0].GID }
func (p device) PKeys() []uint16                 { return p.d.PKeys() }
func (p device) MTU() int                        { return p.d.IB().MTU().Bytes() }
