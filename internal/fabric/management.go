package fabric

import (
	"fmt"

	"cnuas/internal/status"
	"cnuas/switch/ideal"
)

// addManagement makes the switch of the management network, if there is one.
// Its ports are those of Spec.Management, in that order. It is beside the
// fabric: it has no frames in flight and no events, and nothing of the fabric's
// accounts sees it.
func (f *Fabric) addManagement() {
	m := f.Spec.Management
	if m == nil {
		return
	}
	f.mgmt = ideal.New()
	for i := range m.Ports {
		p := &m.Ports[i]
		f.mgmt.AddPort(fmt.Sprintf("%s:%s", f.Spec.Nodes[p.Node].Name, p.Name))
	}
}

// Management is the switch of the management network; nil if there is none.
func (f *Fabric) Management() *ideal.Switch { return f.mgmt }

// ManagementPort is the number of a node's port on the management switch, given
// the node's index in the Spec; false if it has none.
func (f *Fabric) ManagementPort(node int) (int, bool) {
	if m := f.Spec.Management; m != nil {
		for i := range m.Ports {
			if m.Ports[i].Node == node {
				return i, true
			}
		}
	}
	return 0, false
}

// snapshotManagement adds the management ports to their nodes.
func (f *Fabric) snapshotManagement(s *status.Fabric) {
	if f.mgmt == nil {
		return
	}
	for i := range f.Spec.Management.Ports {
		p := &f.Spec.Management.Ports[i]
		c := f.mgmt.Counters(i)
		s.Nodes[p.Node].Management = &status.Management{
			Name: f.mgmt.Name(i), MAC: p.MAC.String(), MTU: f.Spec.Management.MTU, Address: p.Addr.String(),
			TxFrames: c.TxFrames, TxBytes: c.TxBytes, RxFrames: c.RxFrames, RxBytes: c.RxBytes,
			Ring: status.Ring{RxDropped: c.NotTaken},
		}
	}
}
