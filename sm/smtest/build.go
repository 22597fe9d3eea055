package smtest

import (
	"fmt"

	"cnuas/internal/sim"
	"cnuas/internal/topology"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// FT2x2x8 is the fabric of the golden files: leaves L1 and L2, spines S1 and
// S2, hosts H1 to H4 at L1 and H5 to H8 at L2, with the GUIDs of ibsim.
func FT2x2x8(eng *sim.Engine) *Fabric {
	f, pr := New(eng), IBSim()
	for i := range 8 {
		f.Add(mad.NodeCA, fmt.Sprintf("H%d", i+1), wire.GUID(0x100000+2*i), 1, &pr)
	}
	for i, n := range []string{"L1", "L2", "S1", "S2"} {
		f.Add(mad.NodeSwitch, n, wire.GUID(0x200000+i), 8, &pr)
	}
	for i := range 8 {
		f.cable(fmt.Sprintf("H%d", i+1), 1, fmt.Sprintf("L%d", i/4+1), uint8(i%4+1))
	}
	for l := range 2 {
		for s := range 2 {
			f.cable(fmt.Sprintf("L%d", l+1), uint8(5+s), fmt.Sprintf("S%d", s+1), uint8(l+1))
		}
	}
	return f
}

func (f *Fabric) cable(a string, ap uint8, b string, bp uint8) {
	f.Plug(f.byName[a].Ports[ap], f.byName[b].Ports[bp])
}

// FatTree is a tree of three levels of switches with k ports: k²/4 cores, k
// pods of k/2 leaves and k/2 aggregation switches, k³/4 hosts h1, h2, ...
func FatTree(eng *sim.Engine, k int, pr Profile) *Fabric {
	f, h := New(eng), k/2
	for i := range k * h * h {
		f.Add(mad.NodeCA, fmt.Sprintf("h%d", i+1), wire.GUID(0x100000+2*i), 1, &pr)
	}
	for i := range k * h {
		f.Add(mad.NodeSwitch, fmt.Sprintf("leaf%d", i+1), wire.GUID(0x200000+i), k, &pr)
	}
	for i := range k * h {
		f.Add(mad.NodeSwitch, fmt.Sprintf("agg%d", i+1), wire.GUID(0x300000+i), k, &pr)
	}
	for i := range h * h {
		f.Add(mad.NodeSwitch, fmt.Sprintf("core%d", i+1), wire.GUID(0x400000+i), k, &pr)
	}
	for i := range k * h * h {
		f.cable(fmt.Sprintf("h%d", i+1), 1, fmt.Sprintf("leaf%d", i/h+1), uint8(i%h+1))
	}
	for pod := range k {
		for a := range h {
			for b := range h {
				f.cable(fmt.Sprintf("leaf%d", pod*h+a+1), uint8(h+b+1), fmt.Sprintf("agg%d", pod*h+b+1), uint8(a+1))
				f.cable(fmt.Sprintf("agg%d", pod*h+a+1), uint8(h+b+1), fmt.Sprintf("core%d", a*h+b+1), uint8(pod+1))
			}
		}
	}
	return f
}

// FromSpec makes the InfiniBand part of a topology.
func FromSpec(eng *sim.Engine, s *topology.Spec) *Fabric {
	f := New(eng)
	ends := make([][]*Port, len(s.Links))
	add := func(link int, p *Port) {
		if link >= 0 {
			ends[link] = append(ends[link], p)
		}
	}
	for i := range s.Nodes {
		x := &s.Nodes[i]
		var made []*Node
		for j := range x.HCAs {
			c, pr := &x.HCAs[j], EDR()
			name := x.Name
			if j > 0 {
				name += " " + c.Device
			}
			n := f.Add(mad.NodeCA, name, wire.GUID(c.GUID), c.NumPorts, &pr)
			n.Desc.SetString(c.Desc)
			made = append(made, n)
		}
		for _, p := range x.IBPorts {
			q := made[p.HCA].Ports[p.Num]
			q.GUID = wire.GUID(p.GUID)
			add(p.Link, q)
		}
	}
	for i := range s.Switches {
		x := &s.Switches[i]
		if x.IB == nil {
			continue
		}
		pr := EDR()
		pr.LFTCap, pr.MCastCap = uint16(x.IB.LFTCap), uint16(x.IB.MCastCap)
		n := f.Add(mad.NodeSwitch, x.Name, wire.GUID(x.IB.GUID), x.IB.NumPorts, &pr)
		n.Desc.SetString(x.IB.Desc)
		n.SI.EnhancedPort0 = x.IB.EnhancedPort0
		for _, p := range x.Ports {
			add(p.Link, n.Ports[p.Number])
		}
	}
	for i, e := range ends {
		if len(e) != 2 || s.Links[i].IB == nil {
			continue
		}
		for _, p := range e {
			p.Info.MTUCap = mad.MTUOf(s.Links[i].IB.MTU)
			p.Info.NeighborMTU = p.Info.MTUCap
		}
		f.Plug(e[0], e[1])
	}
	return f
}
