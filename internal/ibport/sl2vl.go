package ibport

import "cnuas/internal/wire/mad"

// slTable maps service levels to lanes; 15 discards.
type slTable [16]uint8

func (p *Port) defaultSL2VL() {
	n := uint8(max(p.vls, 1))
	for i := range p.sl2vl {
		for sl := range p.sl2vl[i] {
			p.sl2vl[i][sl] = uint8(sl) % n
		}
	}
}

// VLOf is the lane for a packet that came in by port in (0: from the device
// itself) and leaves by this one; 15 or one that is not operational discards
// it (IBTA vol. 1 §7.6.6).
func (p *Port) VLOf(in int, sl uint8) uint8 {
	if in >= len(p.sl2vl) {
		in = 0
	}
	return p.sl2vl[in][sl&15]
}

// Operational tells whether a lane is a data lane that is in use.
func (p *Port) Operational(vl uint8) bool { return vl < p.vls }

// SL2VL reads the table for packets that come in by port in.
func (p *Port) SL2VL(in int, a *mad.SLtoVL) bool {
	if in >= len(p.sl2vl) {
		return false
	}
	a.VL = p.sl2vl[in]
	return true
}

// SetSL2VL writes it. Before the first Set the tables follow OperationalVLs:
// service level modulo lanes.
func (p *Port) SetSL2VL(in int, a *mad.SLtoVL) bool {
	if in >= len(p.sl2vl) {
		return false
	}
	p.ownSL2VL = false
	if p.sl2vl[in] != a.VL {
		p.sl2vl[in] = a.VL
		p.owner.PortEvent(p, EventVLs)
	}
	return true
}
