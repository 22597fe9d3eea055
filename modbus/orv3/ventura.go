package orv3

import (
	"strconv"
	"strings"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// Population is who stands on the segments of a rack, as plain data.
type Population struct {
	Segments []PopSegment
	Shelves  []PopShelf
}

// PopSegment is one segment of a Population.
type PopSegment struct {
	Name       string // "rs485-1"
	Line       rtu.Line
	Turnaround sim.Time // of the transceivers
}

// PopShelf is one shelf of a Population.
type PopShelf struct {
	ShelfConfig
	Segment int      // index into Segments
	Line    rtu.Line // at which its devices talk
	Poll    sim.Time // how often masters read the shelf
}

// Ventura2 is the population of a real rack: four PSU and four BBU shelves with
// their management modules, 56 slaves, on the first segment, ten shelves of
// capacitors on two more, and a valve on each of three. Of the vendors that may
// stand at an address it takes the last one that the table names. BBU shelf n
// backs PSU shelf n; CBU shelf n backs PSU shelf (n-1) mod 4 + 1.
func Ventura2() Population {
	var p Population
	segment := map[string]int{}
	for _, r := range table("registers/ventura_ports.csv") {
		if r.get("board_file") != "ventura2_rmcv2_mb" {
			continue
		}
		port := r.get("port")
		l := rtu.Line{Baud: r.int("baud"), Data: 8, Parity: rtu.Even, Stop: 1}
		if l.Baud == 19200 { // the valves' ports
			l.Parity = rtu.None
		}
		segment[port] = len(p.Segments)
		p.Segments = append(p.Segments, PopSegment{Name: "rs485-" + port[strings.LastIndexByte(port, '-')+1:], Line: l,
			Turnaround: sim.Time(r.int("rts_delay_ms")) * sim.Millisecond})
	}
	for _, r := range table("registers/ventura2_topology.csv") {
		seg, ok := segment[r.get("port")]
		pr := world().profile(r.get("profile_type"))
		if !ok || pr == nil {
			continue
		}
		addr, poll := uint8(r.int("address_hex")), sim.Time(r.int("poll_rate_s"))*sim.Second
		p.place(seg, r.get("name"), r.get("port"), addr, poll, pr)
	}
	p.back()
	return p
}

// place puts one row's device into its shelf.
func (p *Population) place(seg int, name, port string, addr uint8, poll sim.Time, pr *Profile) {
	f := strings.Split(name, "_") // PSU_1_2, PSU_PMM_1, PSU_SHELF_1
	if pr.Kind == "valve" {
		s := p.shelf(seg, "valve"+port[strings.LastIndexByte(port, '-')+1:], "valve", pr.Line)
		s.Poll = poll
		s.Slots = []SlotConfig{{Number: 1, Name: "valve", Address: addr, Profile: pr.Name}}
		return
	}
	if len(f) != 3 {
		return
	}
	kind := "hpr-" + strings.ToLower(f[0])
	n, slot := f[1], f[2]
	if f[1] == "PMM" || f[1] == "SHELF" {
		n, slot = f[2], ""
	}
	s := p.shelf(seg, strings.ToLower(f[0])+n, kind, pr.Line)
	switch {
	case f[1] == "SHELF":
		s.Poll = poll
	case f[1] == "PMM":
		s.PMM = &SlotConfig{Name: "pmm", Address: addr, Profile: pr.Name}
	default:
		i, _ := strconv.Atoi(slot)
		x := SlotConfig{Number: i, Name: strings.ToLower(f[0]) + slot, Address: addr, Profile: pr.Name}
		for j := range s.Slots {
			if s.Slots[j].Number == i {
				s.Slots[j] = x
				return
			}
		}
		s.Slots = append(s.Slots, x)
	}
}

func (p *Population) shelf(seg int, name, kind string, l rtu.Line) *PopShelf {
	for i := range p.Shelves {
		if p.Shelves[i].Name == name {
			return &p.Shelves[i]
		}
	}
	p.Shelves = append(p.Shelves, PopShelf{ShelfConfig: ShelfConfig{Name: name, Kind: kind, Backs: -1}, Segment: seg, Line: l})
	return &p.Shelves[len(p.Shelves)-1]
}

// back joins BBU and CBU shelves to the PSU shelves.
func (p *Population) back() {
	var psu []int
	for i := range p.Shelves {
		if p.Shelves[i].Kind == "hpr-psu" {
			psu = append(psu, i)
		}
	}
	for i := range p.Shelves {
		s := &p.Shelves[i]
		if s.Kind != "hpr-bbu" && s.Kind != "hpr-cbu" || len(psu) == 0 {
			continue
		}
		n, _ := strconv.Atoi(s.Name[3:])
		s.Backs = psu[(n-1)%len(psu)]
	}
}
