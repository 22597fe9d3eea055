package ibagent

import (
	"cnuas/internal/ibport"
	"cnuas/internal/wire/mad"
)

// views are what was in the counters when they were last written: a counter
// that is read is the difference. PortCounters and PortCountersExtended are
// cleared apart from each other (IBTA vol. 1 §16.1.3.5, §16.1.4.11).
type views struct {
	short, long, other ibport.Counters
}

// performance does what a Get or Set of performance management asks.
func (a *Agent) performance(m mad.Packet) mad.Status {
	if m.ClassVersion() != 1 {
		return mad.StatusBadVersion
	}
	set, d := m.Method() == mad.MethodSet, m.Data()
	if m.Attr() == mad.AttrClassPortInfo {
		if set {
			return mad.StatusBadMethodAttr
		}
		clear(d)
		mad.Encode(&mad.ClassPortInfo{BaseVersion: mad.BaseVersion, ClassVersion: 1, RespTimeValue: 8,
			CapabilityMask: mad.PerfCapAllPortSelect | mad.PerfCapExtendedWidth | mad.PerfCapXmitWait | mad.PerfCapQP1Dropped}, d)
		return mad.StatusOK
	}
	h := handlers(m.Attr())
	if h == nil {
		return mad.StatusBadMethodAttr
	}
	sel := int(d[1]) // PortSelect of all these attributes
	if sel != 0xff {
		if sel >= len(a.pma) || a.node.Port(sel) == nil {
			return mad.StatusInvalidField
		}
		if set {
			a.write(sel, h, d)
		}
		v := a.read(sel, h.view)
		h.get(&v, d)
		return mad.StatusOK
	}
	var sum ibport.Counters
	for i := range a.pma {
		if a.node.Port(i) == nil || i == 0 {
			continue
		}
		if set {
			a.write(i, h, d)
		}
		v := a.read(i, h.view)
		sum.Add(&v)
	}
	h.get(&sum, d)
	return mad.StatusOK
}

// handler is one attribute with counters of a port.
type handler struct {
	view int
	// get encodes the counters; the selectors in d stay.
	get func(v *ibport.Counters, d []byte)
	// set gives the selected counters in v the values in d.
	set func(v *ibport.Counters, d []byte)
}

// Parts of views.
const (
	viewShort = iota
	viewLong
	viewOther
)

func (v *views) of(i int) *ibport.Counters {
	switch i {
	case viewShort:
		return &v.short
	case viewLong:
		return &v.long
	}
	return &v.other
}

// PortCounters returns the counters of a port as PortCountersExtended shows
// them; zeros if there is no such port.
func (a *Agent) PortCounters(port int) (v ibport.Counters) {
	if port >= 0 && port < len(a.pma) && a.node.Port(port) != nil {
		v = a.read(port, viewLong)
	}
	return v
}

// read returns the counters of a port as one view shows them.
func (a *Agent) read(port, view int) ibport.Counters {
	v := a.node.Port(port).Counters()
	v.Sub(a.pma[port].of(view))
	return v
}

// write sets the selected counters.
func (a *Agent) write(port int, h *handler, d []byte) {
	now := a.node.Port(port).Counters()
	v := now
	base := a.pma[port].of(h.view)
	v.Sub(base)
	h.set(&v, d)
	now.Sub(&v)
	*base = now
}

// sat is v in so many bits; counters stop at their maximum.
func sat[T uint8 | uint16 | uint32](v uint64) T {
	if m := uint64(^T(0)); v > m {
		return T(m)
	}
	return T(v)
}

func sat4(v uint64) uint8 { return uint8(min(v, 15)) }
func sat2(v uint64) uint8 { return uint8(min(v, 3)) }
