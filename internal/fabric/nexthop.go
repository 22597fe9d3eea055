package fabric

import "cnuas/internal/topology"

// NextHop is the link address to which frames from one interface to another
// are sent: the other's own in the same subnet, else that of the gateway. In
// virtual time it stands in for the neighbour tables of the nodes' kernels. The
// answer is false if there is no way.
func (f *Fabric) NextHop(from, to *Interface) (mac topology.MAC, ok bool) {
	if from.Spec.Subnet == to.Spec.Subnet {
		return to.Spec.MAC, true
	}
	for i := range f.Spec.Switches {
		sw := &f.Spec.Switches[i]
		for _, v := range sw.VLANs {
			for _, a := range v.Addrs {
				if g := from.Spec.Gateway4; g.IsValid() && a.Addr() == g {
					return sw.MAC, true
				}
			}
		}
	}
	return mac, false
}
