package orv3

import (
	"math"

	"cnuas/internal/sim"
)

// battery is the electrical state of a battery or capacitor unit.
type battery struct {
	caps               bool
	rated, charger     float64 // W
	cells              float64
	full, stored       int64 // uJ
	begun              sim.Time
	discharging        bool
	charging           bool
	blocked            bool    // it has given all it may until mains are back
	limit              float64 // s of one discharge
	out, in            float64 // W at the busbar
	chem               float64 // W out of (or into, negative) the cells
	amps               float64 // of the pack, discharge negative
	temp               float64
	outJ, inJ, lossJ   int64 // uJ since the start
	discharges, cycles int
	deep               int
	drained            int64 // uJ out of the cells
}

// soc is the state of charge by energy, 0 to 1.
func (b *battery) soc() float64 { return float64(b.stored) / float64(b.full) }

// ocv is the open-circuit voltage of the pack.
func (b *battery) ocv(f *figures) float64 {
	if b.caps { // E = C U^2 / 2
		return b.cells * f.capHigh * math.Sqrt(math.Max(b.soc(), 0.01))
	}
	s := b.soc()
	v := f.cellLow + (f.cellHigh-f.cellLow)*(0.55*math.Sqrt(s)+0.45*s)
	return b.cells * v
}

// can is what the unit can give the busbar now, in watts.
func (d *Device) can() float64 {
	b := d.bat
	if !d.in || b.blocked || d.mbox.state != running || d.has(faultConverter|faultPack) || b.temp > d.plant.f.batHot || b.soc() <= d.plant.f.empty {
		return 0
	}
	return b.rated
}

// wants is what the unit would take from the busbar to recharge, in watts.
func (d *Device) wants() float64 {
	b, f := d.bat, &d.plant.f
	s := b.soc()
	switch {
	case !d.in || b.discharging || d.mbox.state != running || d.has(faultCharger|faultPack) || b.temp > f.batHot || s >= f.full:
		return 0
	case !b.charging && s >= f.again:
		return 0
	case s <= f.taper:
		return b.charger
	}
	return b.charger * math.Max((1-s)/(1-f.taper), f.floor)
}

// run sets what the unit gives or takes, in watts at the busbar, and what that
// means for its cells.
func (d *Device) run(now sim.Time, out, in float64) {
	b, f := d.bat, &d.plant.f
	b.out, b.in = out, in
	v := b.ocv(f)
	switch {
	case out > 0:
		p := out / f.batEta
		x := v*v - 4*f.packR*p
		i := (v - math.Sqrt(math.Max(x, 0))) / (2 * f.packR)
		b.chem, b.amps = v*i, -i
		if x < 0 { // more than the pack can: the voltage breaks down
			b.chem = p + i*i*f.packR
		}
	case in > 0:
		p := in * f.batEta
		i := (math.Sqrt(v*v+4*f.packR*p) - v) / (2 * f.packR)
		b.chem, b.amps = -v*i, i
	default:
		b.chem, b.amps = 0, 0
	}
	if was := b.discharging; was != (out > 0) {
		b.discharging = out > 0
		if b.discharging {
			b.begun = now
			b.discharges++
			d.note(now, eventDischarge, uint32(out))
		} else {
			d.note(now, eventDischargeEnd, uint32(b.soc()*1000))
		}
	}
	if was := b.charging; was != (in > 0) {
		b.charging = in > 0
		if b.charging {
			d.note(now, eventCharge, uint32(in))
		} else {
			d.note(now, eventChargeEnd, uint32(b.soc()*1000))
		}
	}
}

// flow books the energy of a step and moves the charge.
func (d *Device) batFlow(dt sim.Time, n int64) (out, in int64) {
	b := d.bat
	out, in = joules(b.out, dt)*n, joules(b.in, dt)*n
	chem := joules(b.chem, dt) * n
	if b.out > 0 {
		chem = min(chem, b.stored)
		out = min(out, chem)
		b.drained += chem
		for b.drained >= b.full {
			b.drained -= b.full
			b.cycles++
		}
	}
	if b.in > 0 && b.stored-chem > b.full {
		chem = b.stored - b.full
	}
	b.stored -= chem
	b.outJ += out
	b.inJ += in
	b.lossJ += in + chem - out
	loss := (float64(in+chem-out) / 1e6) / (dt.Seconds() * float64(n))
	t := d.batTarget(loss)
	if math.Abs(t-b.temp) > settled {
		b.temp += (t - b.temp) * (1 - math.Exp(-dt.Seconds()*float64(n)/d.plant.f.batTau))
	}
	return out, in
}

func (d *Device) batTarget(loss float64) float64 {
	t := d.plant.f.ambient + 3 + d.plant.f.batR*loss
	if d.has(faultHot) {
		t += d.plant.f.batHeat
	}
	return t
}

// watch ends a discharge that has lasted its time or emptied the pack.
func (d *Device) watch(now sim.Time, mains bool) {
	b, f := d.bat, &d.plant.f
	switch {
	case b.blocked && mains:
		b.blocked = false
	case b.blocked:
	case b.discharging && b.soc() <= f.empty:
		b.blocked = true
		b.deep++
		d.note(now, eventEmpty, uint32(b.soc()*1000))
	case b.discharging && (now-b.begun).Seconds() >= b.limit:
		b.blocked = true
		d.note(now, eventTimeUp, uint32(b.limit))
	}
}

// runTime is for how long the unit can go on giving what it gives, in seconds:
// until it is empty or its time is up.
func (d *Device) runTime(now sim.Time) float64 {
	b := d.bat
	if !b.discharging || b.chem <= 0 {
		return 65535
	}
	t := (float64(b.stored)/1e6 - d.plant.f.empty*float64(b.full)/1e6) / b.chem
	return math.Max(math.Min(t, b.limit-(now-b.begun).Seconds()), 0)
}

// ampHours is the charge of an energy at the pack's nominal voltage.
func (b *battery) ampHours(f *figures, uj int64) float64 {
	v := b.cells * (f.cellLow + f.cellHigh) / 2
	if b.caps {
		v = b.cells * f.capHigh
	}
	return float64(uj) / 1e6 / 3600 / v
}
