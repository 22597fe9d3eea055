package topology

import "slices"

// portsPerBridge is the number of ports of an FT4232H; a BMC has one to three.
const portsPerBridge = 4

// addBMC adds the guest that manages the rack.
func (b *rackBuilder) addBMC() {
	f := b.f.bmc
	if f == nil {
		return
	}
	m := &RackBMC{Name: f.name.get("bmc"), Image: b.beside(f.image), Machine: f.machine.get(DefaultMachine)}
	if o := b.byName[m.Name]; o != nil {
		key := f.name.key
		if key == "" {
			key = f.key
		}
		b.r.errorf(key, "choose another name", "the name %q of the BMC is that of a node or switch, line %d", m.Name, b.r.lines.of(o.key))
	}
	if f.image.set && f.image.v == "" {
		b.r.errorf(f.image.key, "name a flash image, or leave the key out for the stand-in guest", "the image has no name")
	}
	used := map[int]bool{}
	for _, p := range f.ports {
		i := -1
		if p.v != "" {
			if i = b.segment(p.v); i < 0 {
				b.r.errorf(p.key, suggest(p.v, b.segmentNames()), "there is no segment %q", p.v)
			} else if used[i] {
				b.r.warnf(p.key, `write "" for a port that is open`, "segment %s is on two ports of the BMC: two masters on one wire", p.v)
			}
			used[i] = true
		}
		m.Ports = append(m.Ports, i)
	}
	if !f.hasPorts {
		for i := range b.rack.Segments {
			m.Ports = append(m.Ports, i)
		}
	}
	if most := 3 * portsPerBridge; len(m.Ports) > most {
		key := f.key
		if len(f.ports) > most {
			key = f.ports[most].key
		}
		b.r.errorf(key, "name at most 12", "a BMC has up to three bridges of four ports, not %s", count(len(m.Ports), "port"))
		m.Ports = m.Ports[:most]
	}
	for len(m.Ports) == 0 || len(m.Ports)%portsPerBridge != 0 {
		m.Ports = append(m.Ports, -1)
	}
	m.Ports = slices.Clip(m.Ports)
	b.rack.BMC = m
}
