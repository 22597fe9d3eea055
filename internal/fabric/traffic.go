package fabric

// Traffic is what a node's ports have carried, all of them together: RoCE,
// InfiniBand and its kernel's frames. The management network is no part of it.
type Traffic struct {
	TxBytes, RxBytes uint64 // frames, without preamble and gap
	Rate             int64  // bits per second in each direction, of the ports that have a link
}

// Traffic counts for a node, given its index in the Spec. The caller holds the
// engine.
func (f *Fabric) Traffic(node int) (t Traffic) {
	n := f.nodes[node]
	for _, i := range n.ifs {
		t.add(i.nic.Port().Counters.TxBytes, i.nic.Port().Counters.RxBytes, int64(i.nic.Port().Rate()))
	}
	for _, p := range n.ibs {
		if p.Spec.Link >= 0 {
			l := p.Port().Link()
			t.add(l.Counters.TxBytes, l.Counters.RxBytes, int64(l.Rate()))
		}
	}
	return t
}

func (t *Traffic) add(tx, rx uint64, rate int64) {
	t.TxBytes += tx
	t.RxBytes += rx
	t.Rate += rate
}
