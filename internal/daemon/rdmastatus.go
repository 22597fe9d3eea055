package daemon

import (
	"cnuas/internal/rdma"
	"cnuas/internal/status"
	"cnuas/internal/topology"
)

// tell fills in what the kernel says of its RDMA devices; what the emulated NIC
// does for them is in the fabric's snapshot.
func (k *kernelRDMA) tell(n *status.Node) {
	for i := range n.Interfaces {
		p := rdma.Query(k.devices[i])
		r := &status.RDMA{Device: k.devices[i], QPs: p.QPs, Counters: map[string]uint64{}}
		n.Interfaces[i].RDMA = r
		if k.kind == rdma.RXE {
			r.ActiveMTU = topology.RDMAMTU(n.Interfaces[i].MTU)
		}
		for name, v := range p.Counters {
			if v != 0 {
				r.Counters[name] = v
			}
		}
		for _, g := range p.GIDs {
			r.GIDs = append(r.GIDs, status.GID{Index: g.Index, GID: g.Addr.String(), Type: g.Type})
		}
	}
}
