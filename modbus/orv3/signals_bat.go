package orv3

import (
	"math"

	"cnuas/internal/sim"
)

func batOnly(f func(d *Device, b *battery, n int, now sim.Time) float64) signal {
	return func(d *Device, n int, now sim.Time) float64 {
		if d.bat == nil {
			return 0
		}
		return f(d, d.bat, n, now)
	}
}

// packVolts is the terminal voltage of the pack.
func (d *Device) packVolts() float64 {
	b, f := d.bat, &d.plant.f
	return b.ocv(f) + b.amps*f.packR
}

var batSignals = map[string]signal{
	"soc": batOnly(func(_ *Device, b *battery, _ int, _ sim.Time) float64 { return 100 * b.soc() }),
	"soh": batOnly(func(d *Device, _ *battery, _ int, _ sim.Time) float64 {
		if d.has(faultAged) {
			return 60
		}
		return 99
	}),
	"vbat": batOnly(func(d *Device, _ *battery, _ int, now sim.Time) float64 { return d.noisy(d.packVolts(), 40, now) }),
	"cell": batOnly(func(d *Device, b *battery, n int, now sim.Time) float64 {
		// The cells differ by some mV that stay; their sum is the pack.
		if n < 1 || float64(n) > b.cells {
			return 0
		}
		mean := d.noisy(d.packVolts(), 40, now) / b.cells
		next := float64(n)
		if next == b.cells {
			next = 0
		}
		return mean + 0.002*(unit(d.seed, 60+uint64(n))-unit(d.seed, 61+uint64(next)))
	}),
	"ibat":     batOnly(func(d *Device, b *battery, _ int, now sim.Time) float64 { return d.noisy(b.amps, 41, now) }),
	"ibat_abs": batOnly(func(d *Device, b *battery, _ int, now sim.Time) float64 { return math.Abs(d.noisy(b.amps, 41, now)) }),
	"idis": batOnly(func(d *Device, b *battery, _ int, now sim.Time) float64 {
		return math.Max(-d.noisy(b.amps, 41, now), 0)
	}),
	"ichg": batOnly(func(d *Device, b *battery, _ int, now sim.Time) float64 { return math.Max(d.noisy(b.amps, 41, now), 0) }),
	"idis_bus": batOnly(func(d *Device, b *battery, _ int, now sim.Time) float64 {
		if b.out == 0 || d.busVolts() == 0 {
			return 0
		}
		return d.noisy(b.out/d.busVolts(), 42, now)
	}),
	"vchg": batOnly(func(d *Device, b *battery, _ int, _ sim.Time) float64 {
		if b.caps {
			return b.cells * d.plant.f.capHigh
		}
		return b.cells * d.plant.f.cellHigh
	}),
	"charge_amps":     batOnly(func(d *Device, b *battery, _ int, _ sim.Time) float64 { return b.charger / d.nominal() }),
	"design_volt":     batOnly(func(d *Device, _ *battery, _ int, _ sim.Time) float64 { return d.nominal() }),
	"remaining":       batOnly(func(d *Device, b *battery, _ int, _ sim.Time) float64 { return b.ampHours(&d.plant.f, b.stored) }),
	"full_charge":     batOnly(func(d *Device, b *battery, _ int, _ sim.Time) float64 { return b.ampHours(&d.plant.f, b.full) }),
	"design_charge":   batOnly(func(d *Device, b *battery, _ int, _ sim.Time) float64 { return b.ampHours(&d.plant.f, b.full) }),
	"stored":          batOnly(func(_ *Device, b *battery, _ int, _ sim.Time) float64 { return float64(b.stored) / 1e6 }),
	"stored_full":     batOnly(func(_ *Device, b *battery, _ int, _ sim.Time) float64 { return float64(b.full) / 1e6 }),
	"run_time":        batOnly(func(d *Device, _ *battery, _ int, now sim.Time) float64 { return math.Floor(d.runTime(now)) }),
	"cycles":          batOnly(func(_ *Device, b *battery, _ int, _ sim.Time) float64 { return float64(b.cycles) }),
	"discharges":      batOnly(func(_ *Device, b *battery, _ int, _ sim.Time) float64 { return float64(b.discharges) }),
	"deep_discharges": batOnly(func(_ *Device, b *battery, _ int, _ sim.Time) float64 { return float64(b.deep) }),
	"discharge_time":  batOnly(func(_ *Device, b *battery, _ int, _ sim.Time) float64 { return b.limit }),
	"throughput_ah": batOnly(func(d *Device, b *battery, _ int, _ sim.Time) float64 {
		return b.ampHours(&d.plant.f, b.drained) + float64(b.cycles)*b.ampHours(&d.plant.f, b.full)
	}),
	"throughput_wh": batOnly(func(_ *Device, b *battery, _ int, _ sim.Time) float64 {
		return (float64(b.drained) + float64(b.cycles)*float64(b.full)) / 1e6 / 3600
	}),
	"bat_temp": batOnly(func(d *Device, b *battery, n int, now sim.Time) float64 {
		return d.noisy(b.temp+0.3*float64(n%4), 50+uint64(n), now)
	}),
	"bat_temp_max": batOnly(func(d *Device, b *battery, _ int, now sim.Time) float64 { return d.noisy(b.temp+0.9, 53, now) }),
	"bat_outlet": batOnly(func(d *Device, b *battery, _ int, now sim.Time) float64 {
		return d.noisy((b.temp+d.plant.f.ambient)/2+1, 55, now)
	}),
	"bat_charger": batOnly(func(d *Device, b *battery, _ int, now sim.Time) float64 {
		return d.noisy(d.plant.f.ambient+5+b.in*0.02, 56, now)
	}),
	"bat_boost": batOnly(func(d *Device, b *battery, _ int, now sim.Time) float64 {
		return d.noisy(d.plant.f.ambient+5+b.out*0.006, 57, now)
	}),
	"bat_oring": batOnly(func(d *Device, b *battery, _ int, now sim.Time) float64 {
		if b.discharging {
			return d.noisy(d.busVolts()+0.05, 58, now)
		}
		return d.noisy(d.plant.f.batVset, 58, now)
	}),
	"service_hours": func(d *Device, _ int, now sim.Time) float64 { return math.Floor((now - d.born).Seconds() / 3600) },
	"shelf_power": func(d *Device, _ int, now sim.Time) float64 {
		if z := d.shelf.zone; z != nil {
			return z.out
		}
		return 0
	},
	"shelf_ac_ok": func(d *Device, _ int, _ sim.Time) float64 {
		if d.mainsLost() {
			return 0
		}
		return 1
	},
}

func (d *Device) nominal() float64 {
	b, f := d.bat, &d.plant.f
	if b.caps {
		return b.cells * f.capHigh
	}
	return b.cells * (f.cellLow + f.cellHigh) / 2
}
