package mads

import (
	"math/bits"

	"cnuas/internal/wire/mad"
)

// Agent is one user of a port's special queue pair.
type Agent struct {
	t       *Table
	reg     Registration
	h       Handler
	id      uint32
	closed  bool
	pending map[uint64]*send // by TID
}

// Register makes an agent: ErrInvalid, ErrNoQP, ErrNoMemory, ErrInUse.
func (t *Table) Register(r Registration, h Handler) (*Agent, error) {
	if err := t.check(&r); err != nil {
		return nil, err
	}
	if len(t.agents) >= MaxAgents {
		return nil, ErrNoMemory
	}
	s := r.service()
	l := t.services[s]
	if l != nil {
		for m := range r.each {
			if l[m] != nil {
				return nil, ErrInUse
			}
		}
	}
	a := &Agent{t: t, reg: r, h: h, pending: map[uint64]*send{}}
	for t.lastID++; t.lastID == 0 || t.agents[t.lastID] != nil; t.lastID++ {
	}
	a.id = t.lastID
	t.agents[a.id] = a
	for m := range r.each {
		if l == nil {
			l = &methods{}
			t.services[s] = l
		}
		l[m] = a
	}
	return a, nil
}

// check is what ib_register_mad_agent of Linux looks at.
func (t *Table) check(r *Registration) error {
	switch {
	case r.QP > 1:
		return ErrInvalid
	case r.QP == 0 && t.port.IB() == nil:
		return ErrNoQP
	case r.Class == 0: // of responses only
		if r.Methods != [2]uint64{} {
			return ErrInvalid
		}
		return nil
	case r.Version >= 8,
		r.Class >= 0x50 && r.Class != mad.ClassSubnDirected,
		r.Class.HasOUI() && r.OUI == [3]byte{},
		r.RMPP && !r.Class.HasRMPP(),
		r.Class.Subn() != (r.QP == 0):
		return ErrInvalid
	}
	return nil
}

func (r *Registration) service() service {
	s := service{qp: uint8(r.QP), class: r.Class, version: r.Version}
	if r.Class.HasOUI() {
		s.oui = uint32(r.OUI[0])<<16 | uint32(r.OUI[1])<<8 | uint32(r.OUI[2])
	}
	return s
}

// each yields the methods that the registration names.
func (r *Registration) each(yield func(int) bool) {
	for i, w := range r.Methods {
		for ; w != 0; w &= w - 1 {
			if !yield(64*i + bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}

// TIDHigh is the high half of the transaction IDs of the agent's requests.
func (a *Agent) TIDHigh() uint32 { return a.id }

// Registration is what the agent was registered with.
func (a *Agent) Registration() Registration { return a.reg }

// Close ends the agent: nothing is reported any more, and what is under way is
// dropped.
func (a *Agent) Close() {
	if a.closed {
		return
	}
	a.closed = true
	t := a.t
	delete(t.agents, a.id)
	s := a.reg.service()
	if l := t.services[s]; l != nil {
		for m := range a.reg.each {
			if l[m] == a {
				l[m] = nil
			}
		}
		if *l == (methods{}) {
			delete(t.services, s)
		}
	}
	t.dropSends(a)
	t.dropReceives(a)
}
