package smtest

import (
	"cnuas/sm"
)

// Manage makes a subnet manager at an end port. cfg needs no Proc, Port or
// GUID. Its owner starts it.
func (f *Fabric) Manage(p *Port, cfg sm.Config) *sm.Manager {
	e := p.Endpoint()
	cfg.Proc, cfg.Port, cfg.GUID = f.Eng.NewProc(), e, p.GUID
	m := sm.New(cfg)
	e.SMP = m.Receive
	p.SetIsSM(true)
	return m
}

// Kill ends the process of a subnet manager: it says nothing any more.
func (f *Fabric) Kill(p *Port, m *sm.Manager) {
	m.Stop()
	p.Endpoint().SMP = nil
	p.SetIsSM(false)
}
