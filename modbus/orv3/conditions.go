package orv3

import "cnuas/internal/sim"

// conditions are the truths that assume/flags.csv names.
var conditions = map[string]condition{
	"true":           func(*Device, int, sim.Time) bool { return true },
	"ac_lost":        func(d *Device, _ int, _ sim.Time) bool { return d.mainsLost() },
	"bulk_low":       func(d *Device, _ int, now sim.Time) bool { return d.psu != nil && d.bulk(now) < 0.8*d.plant.f.bulk },
	"pfc_fail":       func(d *Device, _ int, _ sim.Time) bool { return d.has(faultPFC) },
	"dcdc_fail":      func(d *Device, _ int, _ sim.Time) bool { return d.has(faultDCDC) },
	"fan_fail":       func(d *Device, _ int, _ sim.Time) bool { return d.has(faultFan) },
	"comm_fault":     func(d *Device, _ int, _ sim.Time) bool { return d.has(faultComm) },
	"end_of_life":    func(d *Device, _ int, _ sim.Time) bool { return d.has(faultAged) },
	"charger_fail":   func(d *Device, _ int, _ sim.Time) bool { return d.has(faultCharger) },
	"bat_fail":       func(d *Device, _ int, _ sim.Time) bool { return d.has(faultPack) },
	"hot":            func(d *Device, _ int, _ sim.Time) bool { return d.psu != nil && d.psu.temp > d.plant.f.hotAlarm },
	"outlet_hot":     func(d *Device, _ int, _ sim.Time) bool { return d.psu != nil && d.outletTemp() > d.plant.f.outletAlarm },
	"inlet_hot":      func(d *Device, _ int, _ sim.Time) bool { return d.plant.f.ambient > d.plant.f.inletAlarm },
	"output_on":      func(d *Device, _ int, _ sim.Time) bool { return d.psu != nil && d.psu.on },
	"discharging":    func(d *Device, _ int, _ sim.Time) bool { return d.bat != nil && d.bat.discharging },
	"charging":       func(d *Device, _ int, _ sim.Time) bool { return d.bat != nil && d.bat.charging },
	"full":           func(d *Device, _ int, _ sim.Time) bool { return d.bat != nil && d.bat.soc() >= 0.995 },
	"empty":          func(d *Device, _ int, _ sim.Time) bool { return d.bat != nil && d.bat.soc() <= 2*d.plant.f.empty },
	"terminated":     func(d *Device, _ int, _ sim.Time) bool { return d.bat != nil && d.bat.blocked },
	"bat_hot":        func(d *Device, _ int, _ sim.Time) bool { return d.bat != nil && d.bat.temp > d.plant.f.batHot },
	"alarm":          func(d *Device, _ int, now sim.Time) bool { return d.Alarm(now) },
	"leak":           func(d *Device, _ int, _ sim.Time) bool { return d.has(faultLeak) },
	"blocked":        func(d *Device, _ int, _ sim.Time) bool { return d.has(faultBlocked) },
	"pump_fail":      func(d *Device, _ int, _ sim.Time) bool { return d.has(faultPump) },
	"rpu_fan_fail":   func(d *Device, _ int, _ sim.Time) bool { return d.has(faultFan) },
	"hex_fan_fail":   func(d *Device, _ int, _ sim.Time) bool { return d.has(faultFan) },
	"coolant_hot":    func(d *Device, _ int, _ sim.Time) bool { return d.rpu != nil && d.rpu.supply > d.rpu.target+10 },
	"rpu_stopped":    func(d *Device, _ int, _ sim.Time) bool { return d.rpu != nil && d.rpu.stopped },
	"slot_bit":       func(d *Device, n int, _ sim.Time) bool { return (d.slot.Number-1)>>n&1 != 0 },
	"shelf_bit":      func(d *Device, n int, _ sim.Time) bool { return d.shelf.number()>>n&1 != 0 },
	"module_present": func(d *Device, n int, _ sim.Time) bool { m := d.shelf.module(n + 1); return m != nil && m.in },
	"module_planned": func(d *Device, n int, _ sim.Time) bool { return d.shelf.module(n+1) != nil },
	"module_comm": func(d *Device, n int, _ sim.Time) bool {
		m := d.shelf.module(n + 1)
		return m != nil && m.in && m.has(faultComm)
	},
	"module_alert": func(d *Device, n int, now sim.Time) bool {
		m := d.shelf.module(n + 1)
		return m != nil && m.in && m.Alarm(now)
	},
	"module_missing": func(d *Device, _ int, _ sim.Time) bool {
		for _, m := range d.shelf.modules {
			if !m.in {
				return true
			}
		}
		return false
	},
	"converter_fail": func(d *Device, _ int, _ sim.Time) bool { return d.has(faultConverter | faultPFC | faultDCDC) },
	"charge_blocked": func(d *Device, _ int, _ sim.Time) bool {
		return d.bat != nil && (d.bat.temp > d.plant.f.batHot || d.has(faultCharger|faultPack))
	},
	"discharge_blocked": func(d *Device, _ int, _ sim.Time) bool { return d.bat != nil && d.can() == 0 },
	"time_alarm": func(d *Device, _ int, now sim.Time) bool {
		return d.bat != nil && d.bat.discharging && d.runTime(now) < d.plant.f.timeAlarm
	},
	"capacity_alarm":  func(d *Device, _ int, _ sim.Time) bool { return d.bat != nil && d.bat.soc() < d.plant.f.capacityAlarm },
	"redundancy_lost": func(d *Device, _ int, _ sim.Time) bool { z := d.shelf.zone; return z != nil && z.lost },
	"overload": func(d *Device, _ int, _ sim.Time) bool {
		z := d.shelf.zone
		return z != nil && d.psu != nil && d.psu.on && (z.over != never || !z.powered)
	},
	"output_low": func(d *Device, _ int, _ sim.Time) bool {
		z := d.shelf.zone
		return z != nil && d.psu != nil && d.psu.mains && !z.powered
	},
}

// mainsLost is the loss of mains of a PSU, or of all of a battery's shelf.
func (d *Device) mainsLost() bool {
	if d.psu != nil {
		return !d.psu.mains
	}
	z := d.shelf.zone
	if z == nil {
		return false
	}
	for _, u := range z.psus {
		if u.psu.mains {
			return false
		}
	}
	return len(z.psus) > 0
}

// number of a shelf among those of its kind, from 1 on.
func (s *shelf) number() int {
	n := 0
	for _, x := range s.plant.shelves {
		if x.kind == s.kind {
			n++
		}
		if x == s {
			break
		}
	}
	return n
}
