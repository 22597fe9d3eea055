package sa

import (
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// Records of tables, as the manager has programmed them (IBTA vol. 1
// §15.2.5.4 to §15.2.5.11).

func (q *query) linear() {
	var r mad.LinearForwardingRecord
	q.begin(&r)
	q.eachEnd("LID", func(p *sm.Port) {
		if !p.Node.IsSwitch() {
			return
		}
		lft := p.Node.Switch.LFT
		for b := 0; 64*b < len(lft); b++ {
			r.LID, r.BlockNum = p.LID, uint16(b)
			copy(r.LinearForwarding.Port[:], lft[64*b:])
			q.add(&r)
		}
	})
}

func (q *query) multicast() {
	var r mad.MulticastForwardingRecord
	q.begin(&r)
	q.eachEnd("LID", func(p *sm.Port) {
		if !p.Node.IsSwitch() {
			return
		}
		p.Node.Switch.MFTBlocks(func(block uint16, pos uint8, t *mad.MulticastForwarding) {
			r = mad.MulticastForwardingRecord{LID: p.LID, Position: pos, BlockNum: block, MulticastForwarding: *t}
			q.add(&r)
		})
	})
}

func (q *query) sl2vl() {
	var r mad.SLtoVLRecord
	q.begin(&r)
	q.eachPort("LID", func(end, p *sm.Port) {
		for in := range len(end.Node.Ports) {
			t, ok := p.SL2VL(uint8(in))
			if !ok || !end.Node.IsSwitch() && in > 0 {
				continue
			}
			r = mad.SLtoVLRecord{LID: end.LID, InputPortNum: uint8(in), OutputPortNum: p.Num, SLtoVL: t}
			q.add(&r)
		}
	})
}

func (q *query) vlarb() {
	var r mad.VLArbitrationRecord
	q.begin(&r)
	q.eachPort("LID", func(end, p *sm.Port) {
		for b := uint8(1); b <= 4; b++ {
			if t, ok := p.VLArb(b); ok {
				r = mad.VLArbitrationRecord{LID: end.LID, OutputPortNum: p.Num, BlockNum: b, VLArbitration: t}
				q.add(&r)
			}
		}
	})
}

// pkeys is for who knows the SM_Key only, as opensm has it.
func (q *query) pkeys() {
	var r mad.PKeyTableRecord
	q.begin(&r)
	if !q.trusted {
		q.fail(mad.StatusSAInvalid)
		return
	}
	q.eachPort("LID", func(end, p *sm.Port) {
		for b := 0; 32*b < len(p.PKeys); b++ {
			r.LID, r.BlockNum, r.PortNum = end.LID, uint16(b), p.Num
			copy(r.PKey[:], p.PKeys[32*b:])
			q.add(&r)
		}
	})
}
