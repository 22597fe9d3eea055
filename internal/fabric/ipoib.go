package fabric

import (
	"fmt"
	"reflect"

	"cnuas/internal/ipoib"
	"cnuas/internal/status"
	"cnuas/internal/topology"
)

// StartIPoIB makes the IPoIB interfaces: one on each InfiniBand port of a soft
// node that has a link. Build leaves them out: they send from the start, which
// scenarios in virtual time do not want to see.
func (f *Fabric) StartIPoIB() error {
	for _, n := range f.nodes {
		if n.Spec.Stack != topology.StackSoft {
			continue
		}
		for _, p := range n.ibs {
			if p.Spec.Link < 0 || p.ipoib != nil {
				continue
			}
			port := ipoib.OnDevice(p.Device())
			sa, err := ipoib.NewClient(f.MADs(p.Device()), port, f.Engine.NewProc())
			if err == nil {
				p.ipoib, err = ipoib.New(ipoib.Config{Name: p.Name(), Port: port, SA: sa, Proc: f.Engine.NewProc(), Addrs: p.Spec.Addrs})
			}
			if err != nil {
				return fmt.Errorf("ipoib on %s: %w", p.Name(), err)
			}
		}
	}
	return nil
}

// IPoIB is the IP interface on the port; nil if there is none.
func (p *IBPort) IPoIB() *ipoib.Interface { return p.ipoib }

// snapshotIPoIB adds the IPoIB interfaces to their nodes.
func (f *Fabric) snapshotIPoIB(s *status.Fabric) {
	for k, n := range f.nodes {
		for _, p := range n.ibs {
			i := p.ipoib
			if i == nil {
				continue
			}
			c := i.Counters()
			x := status.IPoIB{Name: i.Name(), State: "down", Address: i.Addr().String(), MTU: i.MTU(), MLID: int(i.MLID()),
				Groups: i.Groups(), Neighbours: i.Neighbours(), Counters: map[string]uint64{}, Ring: status.Ring{RxDropped: c.NotTaken}}
			if i.Running() {
				x.State = "up"
			}
			for _, a := range i.Addrs() {
				x.Addresses = append(x.Addresses, a.String())
			}
			v := reflect.ValueOf(c)
			for j := range v.NumField() {
				if u := v.Field(j).Uint(); u != 0 {
					x.Counters[snake(v.Type().Field(j).Name)] = u
				}
			}
			s.Nodes[k].IPoIB = append(s.Nodes[k].IPoIB, x)
		}
	}
}
