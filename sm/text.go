package sm

import (
	"fmt"
	"strings"

	"cnuas/internal/sim"
)

// Lines is the status as text, a fact a line: "name: value", lists indented by
// two blanks.
func (s *Status) Lines() (l []string) {
	add := func(name, format string, args ...any) { l = append(l, name+": "+fmt.Sprintf(format, args...)) }
	item := func(format string, args ...any) { l = append(l, "  "+fmt.Sprintf(format, args...)) }
	t := &s.Stats
	add("state", "%s for %v, priority %d, port %v", s.State, ago(s.Now, t.Since), s.Priority, s.GUID)
	if s.MasterGUID == 0 {
		add("master", "not known")
	} else {
		add("master", "%v at LID %d", s.MasterGUID, s.MasterLID)
	}
	for i := range s.Remotes {
		r := &s.Remotes[i]
		add("other", "%v at LID %d: %s, priority %d", r.GUID, r.LID, r.Info.SMState, r.Info.Priority)
	}
	add("sweep", "%s; %d heavy, the last took %v with %d errors; %d light, the last took %v", s.Sweeping, t.Heavy, t.LastHeavy, t.SweepErrors, t.Light, t.LastLight)
	if t.LastUp > 0 {
		add("subnet", "%d nodes, %d of them switches; up %s ago", t.Nodes, t.Switches, ago(s.Now, t.LastUp))
	} else {
		add("subnet", "not up yet")
	}
	l = append(l, s.Routing.Lines()...)
	add("SMPs", "%d sent, %d repeated, %d timeouts, %d given up, %d stale answers", t.SMPs, t.Retries, t.Timeouts, t.GaveUp, t.Stale)
	for _, a := range s.Attributes {
		item("%s: %d Get, %d Set", a.Name, a.Get, a.Set)
	}
	add("traps", "%d, %d of them repetitions, %d repressed", t.Traps, t.TrapsAgain, t.Represses)
	for _, x := range s.TrapCounts {
		item("%d (%v): %d", uint16(x.Trap), x.Trap, x.Count)
	}
	add("handovers", "%d in, %d out; %d takeovers, %d polls, %d of them missed", t.HandoversIn, t.HandoversOut, t.Takeovers, t.Polls, t.PollMisses)
	for _, e := range s.Errors {
		times := ""
		if e.Seen > 1 {
			times = fmt.Sprintf(", %d times", e.Seen)
		}
		add("note", "%s (%s ago%s)", e.Text, ago(s.Now, e.At), times)
	}
	return l
}

// Lines is the summary as text, in the form of Status.Lines.
func (r *Routing) Lines() (l []string) {
	switch {
	case r.Engine == "" && r.Fallback == "":
		l = append(l, "routing: none, "+r.Wanted+" is wanted")
	case r.Engine == "":
		l = append(l, fmt.Sprintf("routing: none: %s: %s", r.Wanted, r.Fallback))
	case r.Fallback != "":
		l = append(l, fmt.Sprintf("routing: %s instead of %s: %s", r.Engine, r.Wanted, r.Fallback))
	default:
		l = append(l, "routing: "+r.Engine)
	}
	if r.Engine == "" {
		return l
	}
	l = append(l, fmt.Sprintf("tables: top LID %d of %d, %d blocks, %d of them not acknowledged, %d virtual lanes, %d pairs without a route",
		r.TopLID, r.MaxLID, r.Blocks, r.Stale, r.VLs, r.Unreached))
	l = append(l, fmt.Sprintf("multicast: %d groups, %d blocks", r.Groups, r.MFTBlocks))
	for _, w := range r.Warnings {
		l = append(l, "warning: "+w)
	}
	return l
}

// Lines is what was found as text, in the form of Status.Lines.
func (v *Verification) Lines() (l []string) {
	ok := "ok"
	if !v.OK() {
		ok = "NOT OK"
	}
	l = append(l, fmt.Sprintf("paths: %s; %d lead to their LID by up to %d links between switches, %d do not; %d pairs of end ports apart, %d with a switch; %d not minimal",
		ok, v.Paths, v.MaxHops, v.Broken, v.Unreached, v.Apart, v.Longer))
	for _, t := range v.Text {
		l = append(l, "  "+t)
	}
	if v.CreditLoop == "" {
		return append(l, "credit loops: none")
	}
	return append(l, "credit loops: "+v.CreditLoop)
}

func ago(now, then sim.Time) string { return strings.TrimSpace((now - then).String()) }
