package orv3

import (
	"math"

	"cnuas/internal/sim"
)

// psu is the electrical state of one rectifier.
type psu struct {
	rated, vset, vin float64  // W, V, V
	mains            bool     // input present
	since            sim.Time // of the last change of mains
	ready            sim.Time // from then on it can give power
	stopped          bool     // too hot
	weight           float64  // share of the load by that of the others, near 1
	on               bool     // its output is on the busbar
	out, loss        float64  // W, from the last settle on
	temp             float64  // hot spot, C
	rpm              float64  // of its fans
	outJ, lossJ, inJ int64    // uJ since the start
}

// available reports whether the module can feed the busbar.
func (d *Device) available(now sim.Time) bool {
	u := d.psu
	return d.in && u.mains && now >= u.ready && !u.stopped && !d.has(faultPFC|faultDCDC) && !d.mbox.down(d, now)
}

// setMains switches the module's input.
func (d *Device) setMains(now sim.Time, on bool) {
	u := d.psu
	if u.mains == on {
		return
	}
	u.mains, u.since = on, now
	if on {
		u.ready = now + d.plant.f.start
		d.cycles++
		d.lastOn = d.unix(now)
		d.onSince = now
		d.note(now, eventMainsOn, 0)
		return
	}
	d.outages++
	d.lastOff = d.unix(now)
	d.note(now, eventMainsOff, uint32(u.out))
}

// lossAt is what a module loses while it gives w watts.
func (f *figures) lossAt(rated, w float64) float64 {
	x := w / rated
	return rated * (f.loss0 + f.loss1*x + f.loss2*x*x)
}

// heat moves the hot spot towards where load and air take it; false while it
// is on its way.
func (d *Device) heat(dt sim.Time, n int64) {
	u := d.psu
	target := d.hotTarget()
	if math.Abs(target-u.temp) > settled {
		u.temp += (target - u.temp) * (1 - math.Exp(-dt.Seconds()*float64(n)/d.plant.f.thermTau))
	}
	u.rpm = d.plant.f.fanAt(u.temp)
}

// settled is how near to its target a temperature is taken to be there, in
// kelvin.
const settled = 0.01

func (d *Device) hotTarget() float64 {
	f, u := &d.plant.f, d.psu
	t := f.ambient + 2
	if d.in {
		t += f.thermR * u.loss / d.air()
	}
	if d.has(faultHot) {
		t += f.overHeat
	}
	return t
}

// air is the flow through the module by that at full speed of both fans.
func (d *Device) air() float64 {
	a := d.psu.rpm / d.plant.f.fanMax
	if d.has(faultFan) {
		a /= 2
	}
	return 0.15 + 0.85*a
}

func (f *figures) fanAt(t float64) float64 {
	x := (t - f.fanLow) / (f.fanHigh - f.fanLow)
	return f.fanMin + (f.fanMax-f.fanMin)*math.Min(math.Max(x, 0), 1)
}

// guard stops a module that is too hot and lets it go again.
func (d *Device) guard(now sim.Time) {
	u, f := d.psu, &d.plant.f
	switch {
	case !u.stopped && u.temp > f.hotStop:
		u.stopped = true
		d.faulted(now, eventOverTemp, uint32(u.temp))
	case u.stopped && u.temp < f.hotRestart:
		u.stopped = false
		d.note(now, eventOverTempEnd, uint32(u.temp))
	}
}

func (d *Device) outletTemp() float64 {
	a := d.plant.f.ambient
	return a + (d.psu.temp-a)*d.plant.f.outlet
}
