package orv3

import (
	"math"

	"cnuas/internal/sim"
)

// rpu is the state of a pump unit or a valve: what the liquid does.
type rpu struct {
	flow             float64 // l/min asked for
	target           float64 // supply temperature asked for, C
	supply, back     float64 // temperatures, C
	at               sim.Time
	manual, stopped  bool
	duty, fanDuty    float64 // percent, when manual
	set              float64 // of a valve, percent
	pos              float64
	heat             float64 // W
	goalBack, goalUp float64
}

func newRPU(f *figures) *rpu {
	return &rpu{flow: f.rpuFlow, target: f.rpuSupply, supply: f.rpuSupply, back: f.rpuSupply, duty: 60, fanDuty: 50, set: 65, pos: 65}
}

// command is a write to a control register.
func (u *rpu) command(effect string, v float64) {
	switch effect {
	case "flow":
		u.flow = v
	case "coolant":
		u.target = v
	case "pump_duty":
		u.duty = v
	case "fan_duty":
		u.fanDuty = v
	case "setpoint":
		u.set = v
	case "control":
		b := uint64(v)
		u.manual, u.stopped = b&(1<<1) != 0, b&(1<<5) != 0
	}
}

// liters is the flow now, in l/min.
func (d *Device) liters() float64 {
	u := d.rpu
	switch {
	case u.stopped:
		return 0
	case d.has(faultBlocked):
		return 2
	case u.manual:
		return d.plant.f.rpuFlow * u.duty / 60
	case d.has(faultPump):
		return u.flow * 0.85
	}
	return u.flow
}

// cooling moves the liquid's temperatures; false while they are on their way.
func (d *Device) cooling(now sim.Time) bool {
	u, f := d.rpu, &d.plant.f
	dt := (now - u.at).Seconds()
	u.at = now
	k := 1 - math.Exp(-dt/f.rpuTau)
	u.supply += (u.goalUp - u.supply) * k
	u.back += (u.goalBack - u.back) * k
	u.pos += (u.set - u.pos) * k
	u.heat = 0
	for _, s := range d.plant.shelves {
		if z := s.zone; z != nil && z.shelf == s && z.powered {
			u.heat += z.demand * f.rpuShare
		}
	}
	// 1 l/min of water carries 69.8 W per kelvin.
	l := math.Max(d.liters(), 1)
	u.goalUp = u.target + u.heat/60000
	if d.has(faultHot) {
		u.goalUp += 20
	}
	u.goalBack = math.Min(u.goalUp+u.heat/(69.8*l), 95)
	return math.Abs(u.goalUp-u.supply) < settled && math.Abs(u.goalBack-u.back) < settled && math.Abs(u.set-u.pos) < settled
}

func rpuOnly(f func(d *Device, u *rpu, n int, now sim.Time) float64) signal {
	return func(d *Device, n int, now sim.Time) float64 {
		if d.rpu == nil {
			return 0
		}
		return f(d, d.rpu, n, now)
	}
}

func (d *Device) pumpDuty() float64 {
	if d.rpu.stopped {
		return 0
	}
	if d.rpu.manual {
		return d.rpu.duty
	}
	return math.Min(d.rpu.flow, 100)
}

func (d *Device) pumpWatts(n int) float64 {
	if n == 1 && d.has(faultPump) || n > 3 {
		return 0
	}
	x := d.pumpDuty() / 100
	return d.plant.f.rpuPmp * x * x * x
}

func (d *Device) hexDuty() float64 { return math.Min(20+d.rpu.heat/1000, 100) }

func (d *Device) hexFanWatts(n int) float64 {
	if n == 1 && d.has(faultFan) {
		return 0
	}
	x := d.hexDuty() / 100
	return 60 * x * x * x
}

func (d *Device) pumpsWatts() float64 { return d.pumpWatts(1) + d.pumpWatts(2) + d.pumpWatts(3) + 40 }
func (d *Device) hexWatts() float64   { return d.hexFanWatts(1) + 13*d.hexFanWatts(2) + 20 }

const rackVolts = 48.6 // of the 48 V feed to pumps and fans

var rpuSignals = map[string]signal{
	"flow":          rpuOnly(func(d *Device, _ *rpu, _ int, now sim.Time) float64 { return d.noisy(d.liters(), 70, now) }),
	"flow_target":   rpuOnly(func(_ *Device, u *rpu, _ int, _ sim.Time) float64 { return u.flow }),
	"supply":        rpuOnly(func(d *Device, u *rpu, _ int, now sim.Time) float64 { return d.noisy(u.supply, 71, now) }),
	"supply_target": rpuOnly(func(_ *Device, u *rpu, _ int, _ sim.Time) float64 { return u.target }),
	"return":        rpuOnly(func(d *Device, u *rpu, _ int, now sim.Time) float64 { return d.noisy(u.back, 72, now) }),
	"p_outlet": rpuOnly(func(d *Device, _ *rpu, _ int, now sim.Time) float64 {
		x := d.liters()
		return d.noisy(110+0.022*x*x, 73, now)
	}),
	"p_inlet":   rpuOnly(func(d *Device, _ *rpu, _ int, now sim.Time) float64 { return d.noisy(105, 74, now) }),
	"p_filter":  rpuOnly(func(d *Device, _ *rpu, _ int, now sim.Time) float64 { return d.noisy(8, 75, now) }),
	"p_static":  rpuOnly(func(d *Device, _ *rpu, _ int, now sim.Time) float64 { return d.noisy(103, 76, now) }),
	"rpu_power": rpuOnly(func(d *Device, _ *rpu, _ int, now sim.Time) float64 { return d.noisy(d.pumpsWatts(), 77, now) }),
	"hex_power": rpuOnly(func(d *Device, _ *rpu, _ int, now sim.Time) float64 { return d.noisy(d.hexWatts(), 78, now) }),
	"hex_amps": rpuOnly(func(d *Device, _ *rpu, _ int, now sim.Time) float64 {
		return d.noisy(d.hexWatts(), 78, now) / rackVolts
	}),
	"aalc_power": rpuOnly(func(d *Device, _ *rpu, _ int, now sim.Time) float64 {
		return d.noisy(d.pumpsWatts(), 77, now) + d.noisy(d.hexWatts(), 78, now)
	}),
	"vrack":     rpuOnly(func(d *Device, _ *rpu, _ int, now sim.Time) float64 { return d.noisy(rackVolts, 79, now) }),
	"pump_duty": rpuOnly(func(d *Device, _ *rpu, _ int, _ sim.Time) float64 { return d.pumpDuty() }),
	"pump_rpm": rpuOnly(func(d *Device, _ *rpu, n int, now sim.Time) float64 {
		if n == 1 && d.has(faultPump) || n > 3 {
			return 0
		}
		return d.noisy(60*d.pumpDuty(), 80+uint64(n), now)
	}),
	"pump_bad": rpuOnly(func(d *Device, _ *rpu, n int, _ sim.Time) float64 {
		if n <= 1 && d.has(faultPump) {
			return 1
		}
		return 0
	}),
	"pump_hours": rpuOnly(func(d *Device, _ *rpu, n int, now sim.Time) float64 {
		if n > 3 {
			return 0
		}
		return math.Floor((now - d.born).Seconds() / 3600)
	}),
	"pump_watts": rpuOnly(func(d *Device, _ *rpu, n int, now sim.Time) float64 {
		return d.noisy(d.pumpWatts(n), 84+uint64(n), now)
	}),
	"pump_amps": rpuOnly(func(d *Device, _ *rpu, n int, now sim.Time) float64 {
		return d.noisy(d.pumpWatts(n), 84+uint64(n), now) / rackVolts
	}),
	"board_watts": rpuOnly(func(d *Device, _ *rpu, _ int, now sim.Time) float64 { return d.noisy(20, 88, now) }),
	"board_amps":  rpuOnly(func(d *Device, _ *rpu, _ int, now sim.Time) float64 { return d.noisy(20, 88, now) / rackVolts }),
	"board_temp":  rpuOnly(func(d *Device, _ *rpu, _ int, now sim.Time) float64 { return d.noisy(d.plant.f.ambient+12, 89, now) }),
	"rpu_fan": rpuOnly(func(d *Device, _ *rpu, n int, now sim.Time) float64 {
		if d.has(faultFan) {
			return 0
		}
		return d.noisy(4200, 90+uint64(n), now)
	}),
	"rpu_fan_bad": rpuOnly(func(d *Device, _ *rpu, _ int, _ sim.Time) float64 {
		if d.has(faultFan) {
			return 1
		}
		return 0
	}),
	"hex_duty": rpuOnly(func(d *Device, _ *rpu, _ int, _ sim.Time) float64 { return d.hexDuty() }),
	"hex_fan": rpuOnly(func(d *Device, _ *rpu, n int, now sim.Time) float64 {
		if n == 1 && d.has(faultFan) {
			return 0
		}
		return d.noisy(90*d.hexDuty(), 100+uint64(n), now)
	}),
	"hex_fan_watts": rpuOnly(func(d *Device, _ *rpu, n int, now sim.Time) float64 {
		return d.noisy(d.hexFanWatts(n), 120+uint64(n), now)
	}),
	"hex_fan_amps": rpuOnly(func(d *Device, _ *rpu, n int, now sim.Time) float64 {
		return d.noisy(d.hexFanWatts(n), 120+uint64(n), now) / rackVolts
	}),
	"capacity_w": rpuOnly(func(d *Device, u *rpu, _ int, now sim.Time) float64 {
		return math.Max(69.8*d.liters()*(u.back-u.supply), 0)
	}),
	"air_out": rpuOnly(func(d *Device, u *rpu, n int, now sim.Time) float64 {
		return d.noisy(d.plant.f.ambient+1+(u.back-d.plant.f.ambient)*0.6, 140+uint64(n), now)
	}),
	"humidity": rpuOnly(func(d *Device, _ *rpu, _ int, now sim.Time) float64 { return d.noisy(42, 160, now) }),
	"leak_volt": rpuOnly(func(d *Device, _ *rpu, _ int, now sim.Time) float64 {
		if d.has(faultLeak) {
			return d.noisy(0.4, 161, now)
		}
		return d.noisy(2.8, 161, now)
	}),
	"valve_temp":     rpuOnly(func(d *Device, u *rpu, _ int, now sim.Time) float64 { return d.noisy(u.supply, 162, now) }),
	"valve_set":      rpuOnly(func(_ *Device, u *rpu, _ int, _ sim.Time) float64 { return u.set }),
	"valve_pos":      rpuOnly(func(_ *Device, u *rpu, _ int, _ sim.Time) float64 { return u.pos }),
	"valve_angle":    rpuOnly(func(_ *Device, u *rpu, _ int, _ sim.Time) float64 { return u.pos / 100 * math.Pi / 2 }),
	"valve_volt":     rpuOnly(func(_ *Device, u *rpu, _ int, _ sim.Time) float64 { return u.pos / 10 }),
	"valve_set_flow": rpuOnly(func(_ *Device, u *rpu, _ int, _ sim.Time) float64 { return 2 * u.set }),
	"valve_flow":     rpuOnly(func(d *Device, _ *rpu, _ int, now sim.Time) float64 { return d.noisy(d.valveFlow(), 163, now) }),
	"valve_flow_pct": rpuOnly(func(d *Device, _ *rpu, _ int, now sim.Time) float64 { return d.noisy(d.valveFlow(), 163, now) / 2 }),
}

// valveFlow is the flow through a valve, in l/min.
func (d *Device) valveFlow() float64 {
	if d.has(faultBlocked) {
		return 0
	}
	return 2 * d.rpu.pos
}
