package fabric

import (
	"fmt"
	"reflect"

	"cnuas/internal/sim"
	"cnuas/internal/status"
	"cnuas/internal/wire/mad"
)

// SMStatus tells of the subnet managers that run.
func (f *Fabric) SMStatus() []status.SM {
	var l []status.SM
	for _, s := range f.sms {
		l = append(l, s.status(false))
	}
	return l
}

// SMReport is SMStatus with every path of a master's routes followed. That takes
// as long as computing them, once for each sweep: a second of thousands of nodes,
// in which the engine does nothing else. Above most nodes it is left out.
func (f *Fabric) SMReport(most int) []status.SM {
	l := []status.SM{}
	for _, s := range f.sms {
		x := s.m.Subnet()
		l = append(l, s.status(x != nil && len(x.Nodes) <= most))
	}
	return l
}

func (s *SubnetManager) status(verify bool) status.SM {
	x := s.m.Status()
	t := &x.Stats
	r := status.SM{
		Port: s.port.Name(), GUID: x.GUID.String(), LID: uint16(s.port.Port().LID()), State: x.State, Priority: x.Priority,
		MasterLID: uint16(x.MasterLID), Phase: x.Sweeping,
		Wanted: x.Routing.Wanted, Engine: x.Routing.Engine, Fallback: x.Routing.Fallback,
		Nodes: t.Nodes, Switches: t.Switches, MaxLID: uint16(t.MaxLID),
		HeavySweeps: t.Heavy, LightSweeps: t.Light, SweepErrors: t.SweepErrors, LastHeavyMS: ms(t.LastHeavy), FirstUpMS: ms(t.FirstUp),
		SMPs: t.SMPs, Retries: t.Retries, Timeouts: t.Timeouts, GaveUp: t.GaveUp, Attributes: []status.SMAttribute{},
		Traps: t.Traps, TrapCounts: map[string]uint64{}, Takeovers: t.Takeovers, SA: map[string]uint64{}, Notes: []string{},
		Lines: x.Lines(),
	}
	if x.MasterGUID != 0 {
		r.MasterGUID = x.MasterGUID.String()
	}
	for _, a := range x.Attributes {
		r.Attributes = append(r.Attributes, status.SMAttribute{Name: a.Name, Get: a.Get, Set: a.Set})
	}
	for _, c := range x.TrapCounts {
		r.TrapCounts[c.Trap.String()] = c.Count
	}
	for _, e := range x.Errors {
		r.Notes = append(r.Notes, e.Text)
	}
	a := s.sa.Stats()
	r.Lines = append(r.Lines, fmt.Sprintf("administration: %d requests, %d of them refused, %d records in answers; %d groups with %d members, %d services, %d subscribers",
		a.Requests, a.Errors, a.Records, a.Groups, a.Members, a.Services, a.Subscribers))
	v := reflect.ValueOf(a)
	for i := range v.NumField() {
		n := uint64(0)
		if f := v.Field(i); f.CanUint() {
			n = f.Uint()
		} else if f.CanInt() {
			n = uint64(f.Int())
		}
		if n != 0 {
			r.SA[snake(v.Type().Field(i).Name)] = n
		}
	}
	if verify {
		r.Lines = append(r.Lines, s.m.Subnet().Verify().Lines()...)
	} else if r.Nodes > 0 && r.State == mad.SMMaster.String() {
		r.Lines = append(r.Lines, "paths: not followed in a subnet of this size; --verify does")
	}
	return r
}

func ms(t sim.Time) float64 { return float64(t) / float64(sim.Millisecond) }
