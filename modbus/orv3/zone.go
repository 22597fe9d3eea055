package orv3

import (
	"math"
	"sort"

	"cnuas/internal/sim"
)

// zone is one busbar: the modules of a PSU shelf, the batteries that back it
// and the nodes that it feeds.
type zone struct {
	plant   *Plant
	shelf   *shelf
	psus    []*Device
	bats    []*Device
	demand  float64  // W that the nodes want
	powered bool     // the busbar is up and the nodes draw demand
	volts   float64  // of the busbar
	out     float64  // W of all PSUs
	charge  float64  // W into batteries
	backup  float64  // W out of batteries
	avail   int      // PSUs that can give power
	short   float64  // W that sources fail to give while the overload is timed
	over    sim.Time // since when sources give less than is wanted; never
	restart sim.Time // a collapsed busbar is tried then; never: as soon as there is a source
	acSince sim.Time // since when PSUs alone carry the nodes
	vmax    float64
	vmin    float64
	lost    bool // redundancy
	drops   int  // collapses
	books   Books
}

// Books are the energies of one busbar since the start, in microjoules. Input
// equals Served + PSULoss + BatteryLoss + Stored - StoredAtStart, exactly.
type Books struct {
	Input         int64 // from the mains
	Served        int64 // to the nodes
	PSULoss       int64 // in PSUs
	BatteryLoss   int64 // in chargers, converters and cells
	Stored        int64 // in batteries now
	StoredAtStart int64
	Unserved      int64 // what the nodes wanted while the busbar was down
}

// Balance is what the books fail to explain, in microjoules: 0.
func (b Books) Balance() int64 {
	return b.Input - b.Served - b.PSULoss - b.BatteryLoss - (b.Stored - b.StoredAtStart)
}

// order puts batteries before capacitors.
func (z *zone) order() {
	sort.SliceStable(z.bats, func(i, j int) bool { return !z.bats[i].bat.caps && z.bats[j].bat.caps })
	for _, d := range z.bats {
		z.books.StoredAtStart += d.bat.stored
	}
	z.books.Stored = z.books.StoredAtStart
}

// solve finds what flows on the busbar from now on. It reports whether nothing
// will change before something outside does.
func (z *zone) solve(now sim.Time) (quiet bool) {
	f := &z.plant.f
	quiet = true
	rated, lost := 0.0, z.lost
	z.avail = 0
	for _, d := range z.psus {
		d.guard(now)
		if d.psu.mains && now < d.psu.ready || d.mbox.busy(now) {
			quiet = false
		}
		d.psu.on = d.available(now)
		if d.psu.on {
			z.avail++
			rated += d.psu.rated
		}
	}
	capacity := rated * f.overload
	enough := capacity >= z.demand && z.avail > 0
	for _, d := range z.bats {
		if d.mbox.busy(now) {
			quiet = false
		}
		d.watch(now, enough)
	}
	if !z.powered && z.tryAgain(now, capacity) {
		z.powered, z.over = true, never
		z.shelf.note(now, eventBusUp, uint32(z.demand))
	}
	if !z.powered {
		z.idle(now)
		// A PSU that comes back, or the restart, is a step of the grid away.
		return quiet && z.restart == never && z.still()
	}
	load := z.demand
	if !enough {
		z.acSince = now
	}
	z.charge = z.recharge(now, rated-load)
	if z.charge > 0 || now < z.acSince+f.chargeDelay {
		quiet = false
	}
	z.out = math.Min(load+z.charge, capacity)
	z.backup = z.assist(now, load+z.charge-z.out)
	if z.backup > 0 {
		quiet = false
	}
	z.short = math.Max(load+z.charge-z.out-z.backup, 0)
	if !z.held() { // even where nobody draws anything
		z.collapse(now)
		return false
	}
	if z.short > 1e-6 {
		quiet = false
		if z.over == never {
			z.over = now
		}
		if now-z.over >= f.trip {
			z.collapse(now)
			return false
		}
	} else {
		z.short, z.over = 0, never
	}
	z.share()
	z.lost = z.avail > 0 && rated-rated/float64(z.avail) < load || z.avail < len(z.psus) || z.avail < 2
	if z.lost != lost {
		z.shelf.note(now, pick(z.lost, eventRedundancyLost, eventRedundancyBack), uint32(z.avail))
	}
	z.vmax = math.Max(z.vmax, z.volts)
	if z.vmin == 0 || z.volts < z.vmin {
		z.vmin = z.volts
	}
	return quiet && z.still()
}

func pick(b bool, x, y eventCode) eventCode {
	if b {
		return x
	}
	return y
}

// tryAgain reports whether a busbar that is down comes up.
func (z *zone) tryAgain(now sim.Time, capacity float64) bool {
	if z.restart != never && now < z.restart {
		return false
	}
	z.restart = never
	return z.avail > 0 && capacity > 0
}

// held tells whether anything keeps the busbar at its voltage.
func (z *zone) held() bool {
	for _, d := range z.bats {
		if d.can() > 0 {
			return true
		}
	}
	return z.avail > 0
}

// collapse takes the busbar down: the sources give less than the nodes draw.
func (z *zone) collapse(now sim.Time) {
	z.powered, z.short, z.over = false, 0, never
	z.drops++
	z.restart = now + z.plant.f.restart
	z.shelf.note(now, eventBusDown, uint32(z.demand))
	for _, d := range z.psus {
		if d.psu.on {
			d.faulted(now, eventOverload, uint32(z.demand))
		}
	}
	z.idle(now)
}

// idle is a busbar without power.
func (z *zone) idle(now sim.Time) {
	z.out, z.charge, z.backup, z.volts = 0, 0, 0, 0
	for _, d := range z.bats {
		d.run(now, 0, 0)
	}
	z.share()
}

// recharge shares what PSUs have left among batteries that want it.
func (z *zone) recharge(now sim.Time, left float64) (sum float64) {
	if now >= z.acSince+z.plant.f.chargeDelay {
		for _, d := range z.bats {
			sum += d.wants()
		}
	}
	k := 0.0
	if sum > 0 && left > 0 {
		k = math.Min(left/sum, 1)
	}
	for _, d := range z.bats {
		if in := d.wants() * k; in > 0 {
			d.run(now, 0, in)
		} else if d.bat.charging {
			d.run(now, 0, 0)
		}
	}
	return sum * k
}

// assist lets batteries give what PSUs do not, and capacitors the rest.
func (z *zone) assist(now sim.Time, need float64) (sum float64) {
	for _, caps := range [2]bool{false, true} {
		total := 0.0
		for _, d := range z.bats {
			if d.bat.caps == caps {
				total += d.can()
			}
		}
		give := math.Min(need-sum, total)
		for _, d := range z.bats {
			if d.bat.caps != caps {
				continue
			}
			if give > 1e-6 && d.can() > 0 {
				d.run(now, give*d.can()/total, 0)
			} else if d.bat.discharging {
				d.run(now, 0, 0)
			}
		}
		if give > 1e-6 {
			sum += give
		}
	}
	return sum
}

// share gives each PSU its part of the output and finds the busbar's voltage.
func (z *zone) share() {
	f := &z.plant.f
	sum := 0.0
	for _, d := range z.psus {
		if d.psu.on {
			sum += d.psu.weight * d.psu.rated
		}
	}
	for _, d := range z.psus {
		u := d.psu
		u.out = 0
		switch {
		case u.on && z.powered && sum > 0:
			u.out = z.out * u.weight * u.rated / sum
			u.loss = f.lossAt(u.rated, u.out)
		case d.in && u.mains:
			u.loss = u.rated * f.loss0 / 3
		default:
			u.loss = 0
		}
	}
	if !z.powered {
		return
	}
	vset, rated := f.batVset, 1.0
	if len(z.psus) > 0 {
		vset, rated = z.psus[0].psu.vset, z.psus[0].psu.rated
	} else if len(z.bats) > 0 {
		rated = z.bats[0].bat.rated
	}
	per := z.backup / math.Max(float64(len(z.bats)), 1)
	if z.avail > 0 && (z.out > 0 || z.backup == 0) {
		per = z.out / float64(z.avail)
	} else {
		vset = math.Min(vset, f.batVset)
	}
	// U = Uset - R I with I = P / U.
	r := f.droop * vset / rated
	z.volts = (vset + math.Sqrt(math.Max(vset*vset-4*r*per, 0))) / 2
}

// still reports whether all temperatures have arrived.
func (z *zone) still() bool {
	for _, d := range z.psus {
		if math.Abs(d.hotTarget()-d.psu.temp) > settled {
			return false
		}
	}
	for _, d := range z.bats {
		if d.bat.out != 0 || d.bat.in != 0 || math.Abs(d.batTarget(0)-d.bat.temp) > settled {
			return false
		}
	}
	return true
}

// flow books a step.
func (z *zone) flow(dt sim.Time, n int64) {
	b := &z.books
	var out, in int64
	for _, d := range z.bats {
		lost := d.bat.lossJ
		o, i := d.batFlow(dt, n)
		out, in = out+o, in+i
		b.BatteryLoss += d.bat.lossJ - lost
	}
	b.Stored = 0
	for _, d := range z.bats {
		b.Stored += d.bat.stored
	}
	want := joules(z.demand, dt) * n
	served := int64(0)
	if z.powered {
		served = joules(z.demand-z.short, dt) * n
	}
	// What batteries do not give and take, the PSUs give, to the microjoule.
	need := served + in - out
	var given int64
	var last *psu
	for _, d := range z.psus {
		u := d.psu
		loss := joules(u.loss, dt) * n
		u.lossJ += loss
		u.inJ += loss
		b.PSULoss += loss
		b.Input += loss
		if u.out > 0 {
			e := joules(u.out, dt) * n
			u.outJ += e
			u.inJ += e
			given += e
			last = u
		}
		d.heat(dt, n)
	}
	if last != nil {
		last.outJ += need - given
		last.inJ += need - given
		b.Input += need
	} else { // no PSU: the nodes got what batteries gave
		served = out - in
	}
	b.Served += served
	b.Unserved += want - served
}
