package conformance

import (
	"cnuas/internal/sim"
	"cnuas/modbus/orv3"
	"cnuas/modbus/rtu"
)

// poll is one request that is made again and again.
type poll struct {
	req   []byte
	every sim.Time
	due   sim.Time
}

// merged are the reads that cover a map's registers: those that follow each
// other at once, up to 120 words, as the public bus masters merge them.
func merged(m *orv3.Map) (l [][2]uint16) {
	for i := range m.Registers {
		r := &m.Registers[i]
		if n := len(l) - 1; n >= 0 && int(l[n][0]+l[n][1]) == int(r.Addr) && l[n][1]+r.Words <= 120 {
			l[n][1] += r.Words
			continue
		}
		l = append(l, [2]uint16{r.Addr, r.Words})
	}
	return l
}

// planOf is how a master polls the first segment of the rack: the registers of
// shelves, which are at the address of their management module, as often as the
// table says, all others every 180 s, and the clock of each device once an hour.
// The devices' first polls are spread over their period, as they are after some
// hours. The last arguments divide the periods of both.
func planOf(p orv3.Population, device func(shelf, slot string) *orv3.Device, shelves, others int) (l []poll) {
	type entry struct {
		addr  uint8
		m     *orv3.Map
		every sim.Time
	}
	var es []entry
	for _, s := range p.Shelves {
		if s.Segment != 0 {
			continue
		}
		if s.PMM != nil {
			es = append(es, entry{s.PMM.Address, device(s.Name, s.PMM.Name).Map(), s.Poll / sim.Time(shelves)})
		}
		for _, x := range s.Slots {
			es = append(es, entry{x.Address, device(s.Name, x.Name).Map(), 180 * sim.Second / sim.Time(others)})
		}
	}
	for i, e := range es {
		start := e.every * sim.Time(i) / sim.Time(len(es))
		if e.m.Sync {
			l = append(l, poll{rtu.AppendWriteRegisters(nil, e.addr, e.m.TimeSync, []uint16{0x6900, 1}), e.m.Period, start})
		}
		for _, x := range merged(e.m) {
			l = append(l, poll{rtu.AppendRead(nil, e.addr, rtu.ReadHoldingRegisters, x[0], x[1]), e.every, start})
		}
	}
	return l
}

// soonest is the poll that is due first: among those that wait, the one that is
// later in its period than others, so that slow ones do not starve.
func soonest(l []poll) *poll {
	best := &l[0]
	for i := range l {
		if l[i].due < best.due {
			best = &l[i]
		}
	}
	return best
}

// tally is what a client counts.
type tally struct {
	Polls      uint64
	Replies    uint64 // normal ones
	Exceptions uint64
	Timeouts   uint64 // nothing came
	Bad        uint64 // what came has no reply in it
}

func (t tally) errors() uint64 { return t.Timeouts + t.Bad }

// find looks for the reply to req in all that came.
func find(req, got []byte) (ex rtu.Exception, ok bool) {
	for i := range got {
		if got[i] != req[0] || len(got)-i < 5 || got[i+1]&^rtu.ExceptionBit != req[1] {
			continue
		}
		n, is := rtu.ReplyLen(got[i:])
		if !is || n > len(got)-i {
			continue
		}
		if _, ex, err := rtu.ParseReply(req, got[i:i+n]); err == nil {
			return ex, true
		}
	}
	return rtu.OK, false
}

// count counts the reply to req, if got has it.
func (t *tally) count(req, got []byte) (done bool) {
	ex, ok := find(req, got)
	switch {
	case !ok:
		return false
	case ex != rtu.OK:
		t.Exceptions++
	default:
		t.Replies++
	}
	return true
}

// gaveUp counts one without a reply; some says whether anything came.
func (t *tally) gaveUp(some bool) {
	if some {
		t.Bad++
	} else {
		t.Timeouts++
	}
}
