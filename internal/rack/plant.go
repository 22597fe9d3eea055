package rack

import (
	"fmt"
	"os"
	"time"

	"cnuas/internal/sim"
	"cnuas/internal/topology"
	"cnuas/modbus/bus"
	"cnuas/modbus/orv3"
	"cnuas/modbus/rtu"
)

// module is a device with its place on a segment.
type module struct {
	dev *orv3.Device
	st  *bus.Station
}

// board is a device as the slave engine sees it: its registers, and what
// becomes of a reply.
type board struct {
	*orv3.Device
	m *module
}

// WriteRegisters implements rtu.Device. Some boot loaders answer a block of
// their update with a wrong CRC.
func (b board) WriteRegisters(now sim.Time, addr uint16, src []uint16) rtu.Exception {
	if b.WrongCRC(addr) {
		b.m.st.SpoilReply()
	}
	return b.Device.WriteRegisters(now, addr, src)
}

// populate builds the plant and puts its devices on the segments.
func (r *Rack) populate() error {
	cfg := orv3.PlantConfig{Seed: r.opt.Seed, Unix: time.Now().Unix()}
	var watts []float64
	if r.opt.Nodes != nil {
		watts = shares(r.spec.Shelves, func(int) bool { return true }, r.opt.Nodes())
	}
	for i := range r.spec.Shelves {
		s := &r.spec.Shelves[i]
		if s.Segment < 0 || s.Segment >= len(r.segs) {
			return fmt.Errorf("rack: shelf %s is on segment %d of %d", s.Name, s.Segment, len(r.segs))
		}
		c := orv3.ShelfConfig{Name: s.Name, Kind: s.Kind, Backs: s.Backs, Line: s.Line}
		if watts != nil {
			c.Load = watts[i]
		}
		for _, x := range s.Slots {
			slot, err := slotConfig(s, x)
			if err != nil {
				return err
			}
			c.Slots = append(c.Slots, slot)
		}
		if s.PMM != nil {
			slot, err := slotConfig(s, *s.PMM)
			if err != nil {
				return err
			}
			c.PMM = &slot
		}
		cfg.Shelves = append(cfg.Shelves, c)
	}
	var err error
	if r.plant, err = orv3.NewPlant(r.eng.NewProc(), cfg); err != nil {
		return fmt.Errorf("rack: %w", err)
	}
	for i := range r.spec.Shelves {
		if err := r.fill(&r.spec.Shelves[i]); err != nil {
			return fmt.Errorf("rack: %w", err)
		}
	}
	return nil
}

func slotConfig(s *topology.RackShelf, x topology.RackSlot) (orv3.SlotConfig, error) {
	c := orv3.SlotConfig{Number: x.Number, Name: x.Name, Address: x.Address, Profile: x.Profile}
	if x.Map == "" {
		return c, nil
	}
	b, err := os.ReadFile(x.Map)
	if err == nil {
		c.Map, err = orv3.ParseMap(b)
	}
	if err != nil {
		return c, fmt.Errorf("rack: %s/%s: register map %s: %w", s.Name, x.Name, x.Map, err)
	}
	return c, nil
}

// fill puts the devices of a shelf on its segment.
func (r *Rack) fill(s *topology.RackShelf) error {
	g := r.segs[s.Segment]
	slots := map[int]*module{}
	for _, x := range s.Devices() {
		m := &module{dev: r.plant.Device(s.Name, x.Name)}
		st, err := g.addSlave(m.dev.Name(), s.Line, rtu.NewSlave(x.Address, board{m.dev, m}, s.Functions))
		if err != nil {
			return err
		}
		m.st = st
		r.modules[m.dev.Name()] = m
		if x.Number > 0 {
			slots[x.Number] = m
		}
		m.dev.SetBusStats(func(slot int) (crc, timeouts uint16) { return m.stats(slots, slot) })
	}
	return nil
}

// stats are the errors that a device shows of the segment: of its own requests
// with slot 0, otherwise of the replies of the module in a slot of its shelf.
func (m *module) stats(slots map[int]*module, slot int) (crc, timeouts uint16) {
	if slot == 0 {
		c := m.st.Counters()
		return word(c.BadHeard), word(c.Unanswered)
	}
	o := slots[slot]
	if o == nil {
		return 0, 0
	}
	c := o.st.Counters()
	return word(c.BadReplies), word(c.Unanswered)
}

func word(n uint64) uint16 { return uint16(min(n, 0xFFFF)) }

// load gives the shelves what the nodes draw.
func (r *Rack) load(nodes []float64) {
	if nodes == nil || r.plant == nil {
		return
	}
	for i, w := range shares(r.spec.Shelves, r.plant.Powered, nodes) {
		if len(r.spec.Shelves[i].Feeds) > 0 {
			r.plant.SetLoad(i, w)
		}
	}
}

// Plant is the electricity of the rack. Use it in Do.
func (r *Rack) Plant() *orv3.Plant { return r.plant }

// Station is where a device, "shelf1/psu3", is on its segment; nil if there is
// none. Use it in Do.
func (r *Rack) Station(device string) *bus.Station {
	if m := r.modules[device]; m != nil {
		return m.st
	}
	return nil
}

// Unplug takes a device, "shelf1/psu3", out of its slot: off the busbar and off
// the segment. Call it in Do.
func (r *Rack) Unplug(device string) error {
	m, err := r.module(device)
	if err == nil {
		m.st.Unplug()
		m.dev.Unplug()
	}
	return err
}

// Plug puts a device back into its slot. Call it in Do.
func (r *Rack) Plug(device string) error {
	m, err := r.module(device)
	if err == nil {
		m.dev.Plug()
		m.st.Plug()
	}
	return err
}

func (r *Rack) module(device string) (*module, error) {
	if m := r.modules[device]; m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("the rack has no device %q: name shelf and slot, such as shelf1/psu3", device)
}
