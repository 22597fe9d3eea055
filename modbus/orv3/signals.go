package orv3

import (
	"math"

	"cnuas/internal/sim"
)

// signals are the quantities that assume/sources.csv names.
var signals map[string]signal

func gatherSignals() {
	signals = map[string]signal{}
	for _, l := range []map[string]signal{commonSignals, psuSignals, batSignals, rpuSignals} {
		for k, v := range l { // order does not matter: names are unique
			signals[k] = v
		}
	}
}

var commonSignals = map[string]signal{
	"up_time":         func(d *Device, _ int, now sim.Time) float64 { return math.Floor((now - d.born).Seconds()) },
	"on_time":         func(d *Device, _ int, now sim.Time) float64 { return math.Floor((now - d.onSince).Seconds()) },
	"power_cycles":    func(d *Device, _ int, _ sim.Time) float64 { return float64(d.cycles) },
	"outages":         func(d *Device, _ int, _ sim.Time) float64 { return float64(d.outages) },
	"fault_count":     func(d *Device, _ int, _ sim.Time) float64 { return float64(d.trouble) },
	"clock":           func(d *Device, _ int, now sim.Time) float64 { return float64(d.unix(now)) },
	"last_on_unix":    func(d *Device, _ int, _ sim.Time) float64 { return float64(d.lastOn) },
	"last_off_unix":   func(d *Device, _ int, _ sim.Time) float64 { return float64(d.lastOff) },
	"crc_errors":      func(d *Device, _ int, _ sim.Time) float64 { c, _ := d.busStats(0); return float64(c) },
	"timeouts":        func(d *Device, _ int, _ sim.Time) float64 { _, t := d.busStats(0); return float64(t) },
	"module_crc":      func(d *Device, n int, _ sim.Time) float64 { c, _ := d.busStats(n); return float64(c) },
	"module_timeouts": func(d *Device, n int, _ sim.Time) float64 { _, t := d.busStats(n); return float64(t) },
	"baud_code":       func(d *Device, _ int, _ sim.Time) float64 { return baudCode(d.Line().Baud) },
	"slot":            func(d *Device, _ int, _ sim.Time) float64 { return float64(d.slot.Number) },
	"address":         func(d *Device, _ int, _ sim.Time) float64 { return float64(d.slot.Address) },
	"shelf_number":    func(d *Device, _ int, _ sim.Time) float64 { return float64(d.shelf.number()) },
	"serial_number":   func(d *Device, _ int, _ sim.Time) float64 { return float64(d.id.number) },
	"map_size": func(d *Device, _ int, _ sim.Time) float64 {
		if n := len(d.m.Registers); n > 0 {
			return float64(d.m.Registers[n-1].End())
		}
		return 0
	},
	"shelf_type": func(d *Device, _ int, _ sim.Time) float64 {
		switch d.shelf.kind.Role {
		case RolePSU:
			return 0
		case RoleBBU:
			return 1
		}
		return 2
	},
	"t_inlet": func(d *Device, _ int, now sim.Time) float64 { return d.noisy(d.plant.f.ambient+1, 1, now) },
	"installed": func(d *Device, _ int, _ sim.Time) float64 {
		n := 0
		for _, m := range d.shelf.modules {
			if m.in {
				n++
			}
		}
		return float64(n)
	},
}

// baudCode is the number of a baud register: an assumption but for ORv2, whose
// register says 1 = 19200 to 4 = 115200.
func baudCode(baud int) float64 {
	switch baud {
	case 19200:
		return 1
	case 38400:
		return 2
	case 57600:
		return 3
	case 115200:
		return 4
	}
	return 0
}

func psuOnly(f func(d *Device, u *psu, n int, now sim.Time) float64) signal {
	return func(d *Device, n int, now sim.Time) float64 {
		if d.psu == nil {
			return 0
		}
		return f(d, d.psu, n, now)
	}
}

// bulk is the voltage of the capacitor behind the PFC.
func (d *Device) bulk(now sim.Time) float64 {
	u, f := d.psu, &d.plant.f
	if d.has(faultPFC) {
		return 0
	}
	if u.mains {
		return f.bulk
	}
	return f.bulk * math.Exp(-(now-u.since).Seconds()/f.bulkTau)
}

// What one module measures hangs together: its power is the product of its
// measured voltage and current.
func (d *Device) measVout(now sim.Time) float64 {
	z := d.shelf.zone
	if z == nil || !d.in || !d.psu.on && d.output() == 0 {
		return 0
	}
	return d.noisy(z.volts, 2, now)
}

// output is what the module gives the busbar: an ORv2 PSU also out of its own
// battery.
func (d *Device) output() float64 {
	if d.bat != nil {
		return d.psu.out + d.bat.out
	}
	return d.psu.out
}

func (d *Device) measIout(now sim.Time) float64 {
	z := d.shelf.zone
	if z == nil || z.volts == 0 {
		return 0
	}
	return d.noisy(d.output()/z.volts, 3, now)
}

func (d *Device) measVin(now sim.Time) float64 {
	if !d.psu.mains || !d.in {
		return 0
	}
	return d.noisy(d.psu.vin, 4, now)
}

func (d *Device) measPin(now sim.Time) float64 { return d.noisy(d.psu.out+d.psu.loss, 5, now) }

// powerFactor rises with load.
func (u *psu) powerFactor() float64 {
	x := (u.out + u.loss) / u.rated
	return 0.995 - 0.12*math.Exp(-x/0.12)
}

var psuSignals = map[string]signal{
	"vin": psuOnly(func(d *Device, u *psu, _ int, now sim.Time) float64 { return d.measVin(now) }),
	"pin": psuOnly(func(d *Device, u *psu, _ int, now sim.Time) float64 { return d.measPin(now) }),
	"iin": psuOnly(func(d *Device, u *psu, _ int, now sim.Time) float64 {
		v := d.measVin(now)
		if v == 0 {
			return 0
		}
		pf := 1.0
		if d.role == RolePSU {
			pf = u.powerFactor()
		}
		return d.measPin(now) / v / pf
	}),
	"pf": psuOnly(func(d *Device, u *psu, _ int, _ sim.Time) float64 {
		if !u.mains {
			return 0
		}
		return u.powerFactor()
	}),
	"thd": psuOnly(func(d *Device, u *psu, _ int, now sim.Time) float64 {
		if !u.mains {
			return 0
		}
		return d.noisy(2.5+12*math.Exp(-(u.out+u.loss)/u.rated/0.15), 6, now)
	}),
	"freq": psuOnly(func(d *Device, u *psu, _ int, _ sim.Time) float64 {
		if !u.mains {
			return 0
		}
		return d.plant.f.freq
	}),
	"bulk": psuOnly(func(d *Device, _ *psu, _ int, now sim.Time) float64 { return d.noisy(d.bulk(now), 7, now) }),
	"vout": psuOnly(func(d *Device, _ *psu, _ int, now sim.Time) float64 { return d.measVout(now) }),
	"iout": psuOnly(func(d *Device, _ *psu, _ int, now sim.Time) float64 { return d.measIout(now) }),
	"pout": psuOnly(func(d *Device, _ *psu, _ int, now sim.Time) float64 { return d.measVout(now) * d.measIout(now) }),
	"ishare": psuOnly(func(d *Device, _ *psu, _ int, _ sim.Time) float64 {
		z := d.shelf.zone
		if z == nil || z.volts == 0 || z.avail == 0 {
			return 0
		}
		return z.out / z.volts / float64(z.avail)
	}),
	"rated":    psuOnly(func(_ *Device, u *psu, _ int, _ sim.Time) float64 { return u.rated }),
	"vset":     psuOnly(func(_ *Device, u *psu, _ int, _ sim.Time) float64 { return u.vset }),
	"t_hot":    psuOnly(func(d *Device, u *psu, _ int, now sim.Time) float64 { return d.noisy(u.temp, 8, now) }),
	"t_outlet": psuOnly(func(d *Device, _ *psu, _ int, now sim.Time) float64 { return d.noisy(d.outletTemp(), 9, now) }),
	"clip_pos": func(d *Device, _ int, now sim.Time) float64 { return d.noisy(d.clip(), 10, now) },
	"clip_neg": func(d *Device, _ int, now sim.Time) float64 { return d.noisy(d.clip()-0.8, 11, now) },
	"vbus":     func(d *Device, _ int, now sim.Time) float64 { return d.noisy(d.busVolts(), 12, now) },
	"vbus_max": func(d *Device, _ int, _ sim.Time) float64 {
		if z := d.shelf.zone; z != nil {
			return z.vmax
		}
		return d.busVolts()
	},
	"vbus_min": func(d *Device, _ int, _ sim.Time) float64 {
		if z := d.shelf.zone; z != nil {
			return z.vmin
		}
		return d.busVolts()
	},
	"fan": func(d *Device, n int, now sim.Time) float64 { return d.fan(n, now) },
}

// busVolts is the busbar that the module hangs on; one that nobody has described
// stands at its set point.
func (d *Device) busVolts() float64 {
	if z := d.shelf.zone; z != nil {
		return z.volts
	}
	return world().figure("vset")
}

// clip is the temperature of the clips on the busbar.
func (d *Device) clip() float64 {
	t := d.plant.f.ambient + 3
	if z := d.shelf.zone; z != nil && z.volts > 0 {
		i := (z.out + z.backup) / z.volts / math.Max(float64(len(z.psus)), 1)
		t += 12 * (i / 120) * (i / 120)
	}
	return t
}

func (d *Device) fan(n int, now sim.Time) float64 {
	if !d.in || d.has(faultFan) && n == 0 {
		return 0
	}
	f := &d.plant.f
	v := f.fanMin
	switch {
	case d.psu != nil:
		v = d.psu.rpm
	case d.bat != nil:
		v = f.fanMin + (f.fanMax-f.fanMin)*math.Min((d.bat.out+d.bat.in)/d.bat.rated, 1)
	}
	return d.noisy(v, 20+uint64(n), now)
}
