package orv3

import "cnuas/internal/sim"

// The model moves on a grid of absolute times and at the moments something
// outside changes. What a reader sees is the state at the last of these, so
// that reading neither adds steps nor moves them.

// advance computes the model up to the last point of the grid that is not after
// now.
func (p *Plant) advance(now sim.Time) {
	h := p.f.step
	for {
		next := (p.at/h + 1) * h
		if next > now {
			return
		}
		if p.quiet && p.at%h == 0 {
			p.step(h, int64((now-p.at)/h))
			continue
		}
		p.step(next-p.at, 1)
	}
}

// change brings the model to the present before something outside alters it;
// settle follows.
func (p *Plant) change() {
	now := p.proc.Now()
	p.advance(now)
	if now > p.at {
		p.step(now-p.at, 1)
	}
}

// step moves the model n times by dt; n is above 1 only while nothing changes
// from one to the next.
func (p *Plant) step(dt sim.Time, n int64) {
	for _, s := range p.shelves {
		if s.zone != nil && s.zone.shelf == s {
			s.zone.flow(dt, n)
		}
	}
	p.at += dt * sim.Time(n)
	p.settle()
}

// settle computes what flows from now on, and whether anything will change by
// itself.
func (p *Plant) settle() {
	quiet := true
	for _, s := range p.shelves {
		if s.zone != nil && s.zone.shelf == s && !s.zone.solve(p.at) {
			quiet = false
		}
	}
	for _, s := range p.shelves {
		if s.kind.Role == RoleRPU || s.kind.Role == RoleValve {
			for _, d := range s.modules {
				if !d.cooling(p.at) {
					quiet = false
				}
			}
		}
	}
	p.quiet = quiet
	for _, s := range p.shelves {
		if s.zone != nil && s.zone.shelf == s && s.zone.powered != s.served {
			s.served = s.zone.powered
			if p.listen != nil {
				p.listen(p.at, s.index, s.served)
			}
		}
	}
	p.arm()
}

func (p *Plant) arm() {
	if p.listen == nil || p.quiet {
		p.tick.Stop()
		return
	}
	p.tick.Reset(max((p.at/p.f.step+1)*p.f.step, p.proc.Now()))
}

// ticker steps a plant that somebody listens to.
type ticker Plant

// HandleEvent implements sim.Handler.
func (t *ticker) HandleEvent(now sim.Time, _ uint32, _ uint64) {
	p := (*Plant)(t)
	p.advance(now)
	p.arm()
}

// joules is power over time in whole microjoules: books of integers are exact.
func joules(w float64, dt sim.Time) int64 {
	v := w * float64(dt) / float64(sim.Microsecond) // W * us = uJ
	if v < 0 {
		return -int64(-v + 0.5)
	}
	return int64(v + 0.5)
}
