package daemon

import (
	"context"
	"fmt"
	"time"

	"cnuas/internal/realtime"
	"cnuas/internal/status"
)

// Bounds of a run that can be believed. They are about what programs could
// observe: time that the fabric lost, events that came late, frames that
// vanished where no emulated device could see them.
const (
	maxSlipShare = 0.02 // of the time in which frames moved: what rates are wrong by
	maxLateShare = 0.5  // of the events
	activeEvents = 1000 // in a second: below, the fabric counts as idle
)

// activity adds up the spans of a second in which frames moved. An idle hour
// must not make an overloaded second look harmless.
type activity struct {
	active       time.Duration // wall
	slip, engine float64       // seconds of simulated time
	events, late uint64
	worst        float64 // highest share of slip in one span
	busy         float64 // share of a core in that span
}

func (a *activity) add(s realtime.Stats) {
	if s.Events < activeEvents {
		return
	}
	a.active += s.Wall
	a.slip += s.Slip.Seconds()
	a.engine += s.Engine.Seconds()
	a.events += s.Events
	a.late += s.Late
	if share := s.SlipShare(); share > a.worst {
		a.worst, a.busy = share, s.Busy()
	}
}

func (a *activity) slipShare() float64 {
	if a.slip+a.engine == 0 {
		return 0
	}
	return a.slip / (a.slip + a.engine)
}

func (a *activity) lateShare() float64 {
	if a.events == 0 {
		return 0
	}
	return float64(a.late) / float64(a.events)
}

// account closes a span every second until ctx ends.
func (d *Daemon) account(ctx context.Context) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			d.closeSpan()
		case <-ctx.Done():
			return
		}
	}
}

func (d *Daemon) closeSpan() activity {
	d.mu.Lock()
	defer d.mu.Unlock()
	st := d.loop.Mark()
	if d.onlyManagement() {
		st.Late = 0 // no program saw it
	}
	d.act.add(st)
	return d.act
}

// onlyManagement tells that in this span a subnet manager of ours was at work and
// no program ran: its sweeps are thousands of events at once, which nobody
// outside waits for. The caller holds the lock.
func (d *Daemon) onlyManagement() bool {
	if !d.spec().HasIB() {
		return false
	}
	var smps uint64
	d.loop.Do(func() { smps = d.fab.SMPs() })
	worked := smps != d.smps
	d.smps = smps
	for _, n := range d.nodes {
		if n.programs() > 0 {
			return false
		}
	}
	return worked
}

// cause tells an engine that was asked for too much from one that did not get
// the processor.
func cause(s *status.Fabric, a activity) string {
	if a.busy < 0.7 {
		return fmt.Sprintf("it used %.0f%% of a core, so other programs kept it from more: a quieter machine helps, or a scale of %.2g", 100*a.busy, faithfulScale(s.Scale, a.worst))
	}
	return fmt.Sprintf("a scale of %.2g or more is faithful", faithfulScale(s.Scale, a.worst))
}

// faithfulScale is the scale at which the share of time that was lost would not
// have been, with a fifth to spare. A second that was lost altogether says only
// that it is a large one.
func faithfulScale(scale, share float64) float64 {
	return scale / (1 - min(share, 0.99)) * 1.2
}

// judge fills in the verdict of a snapshot from what it shows.
func judge(s *status.Fabric, a activity, broken []string) {
	v := &s.Verdict
	if share := a.slipShare(); share > maxSlipShare {
		v.Reasons = append(v.Reasons, fmt.Sprintf(
			"the engine slipped %.1f%% of the time in which frames moved (%.1f%% in the worst second): rates are that much too low by the wall clock; %s",
			100*share, 100*a.worst, cause(s, a)))
	}
	if share := a.lateShare(); share > maxLateShare {
		v.Reasons = append(v.Reasons, fmt.Sprintf("%.1f%% of the events were handled late: latencies seen by programs are too high", 100*share))
	}
	for _, n := range s.Nodes {
		for _, i := range n.Interfaces {
			if i.Ring.TxDropped > 0 {
				v.Reasons = append(v.Reasons, fmt.Sprintf("%d frames of %s's kernel were lost at its ring before the NIC read them", i.Ring.TxDropped, n.Name))
			}
			if i.Ring.RxDropped > 0 {
				v.Reasons = append(v.Reasons, fmt.Sprintf("%d frames for %s's kernel were not taken by it", i.Ring.RxDropped, n.Name))
			}
		}
	}
	v.Reasons = append(v.Reasons, judgeManagement(s)...)
	v.Reasons = append(v.Reasons, judgeIPoIB(s)...)
	if t := s.Tunnels; t != nil && t.Overflow+t.Unsent > 0 {
		v.Reasons = append(v.Reasons, fmt.Sprintf("%d datagrams of tunnels were dropped by the kernel and %d not sent: symbol errors that no fault asked for", t.Overflow, t.Unsent))
	}
	v.Reasons = append(v.Reasons, broken...)
	v.Faithful = len(v.Reasons) == 0
}
