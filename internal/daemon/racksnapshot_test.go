package daemon

import (
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/status"
	"cnuas/modbus/bus"
	"cnuas/modbus/orv3"

	"github.com/google/go-cmp/cmp"
)

func modules(states ...string) (l []orv3.ModuleState) {
	for i, s := range states {
		l = append(l, orv3.ModuleState{Name: "shelf1/psu" + string(rune('1'+i)), Plugged: s != "unplugged", State: s})
	}
	return l
}

func TestShelfState(t *testing.T) {
	for _, c := range []struct {
		shelf orv3.ShelfState
		want  string
	}{
		{orv3.ShelfState{Role: orv3.RolePSU, Powered: true, Modules: modules("on", "on")}, "on"},
		{orv3.ShelfState{Role: orv3.RolePSU, Powered: true, Modules: modules("on", "no mains", "on")}, "2 on, 1 no mains"},
		{orv3.ShelfState{Role: orv3.RolePSU, Modules: modules("no mains")}, "down"},
		{orv3.ShelfState{Role: orv3.RoleBBU, Modules: modules("discharging", "unplugged")}, "1 discharging, 1 unplugged"},
		{orv3.ShelfState{Role: orv3.RoleRPU, Modules: modules("on")}, "on"},
	} {
		if s := shelfState(&c.shelf); s != c.want {
			t.Errorf("%q, want %q", s, c.want)
		}
	}
}

func TestAlerts(t *testing.T) {
	sick := modules("on", "on", "unplugged", "on")
	sick[0].Alarm, sick[0].Flags = true, []string{"Fan_Alarm"}
	sick[3].Alarm, sick[3].Flags = true, []string{"Fan_Alarm"}
	for _, c := range []struct {
		what  string
		shelf orv3.ShelfState
		want  []string
	}{
		{"well", orv3.ShelfState{Role: orv3.RolePSU, Powered: true, Modules: modules("on", "on")}, nil},
		{"down", orv3.ShelfState{Role: orv3.RolePSU, Modules: modules("no mains")}, []string{"the busbar of shelf1 is down: 2 nodes are without power (programs in them go on all the same)"}},
		{"on battery", orv3.ShelfState{Role: orv3.RolePSU, Powered: true, RedundancyLost: true, Load: 800, Modules: modules("no mains", "no mains")}, []string{"shelf1 has no AC: batteries carry its 800 W"}},
		{"sick", orv3.ShelfState{Role: orv3.RolePSU, Powered: true, RedundancyLost: true, Modules: sick}, []string{
			"shelf1 has lost its redundancy: power comes from 3 of its 4 modules", "shelf1: unplugged: psu3", "shelf1: alarm Fan_Alarm: psu1, psu4"}},
		{"hot", orv3.ShelfState{Role: orv3.RolePSU, Powered: true, RedundancyLost: true, Load: 800, Modules: modules("hot", "no mains")}, []string{
			"no module of shelf1 gives power: batteries carry its 800 W"}},
		{"with batteries", orv3.ShelfState{Role: orv3.RolePSU, Powered: true, RedundancyLost: true, Modules: modules("on, battery charging", "unplugged")}, []string{
			"shelf1 has lost its redundancy: power comes from 1 of its 2 modules", "shelf1: unplugged: psu2"}},
		{"loaded", orv3.ShelfState{Role: orv3.RolePSU, Powered: true, RedundancyLost: true, Modules: modules("on", "on")}, []string{
			"shelf1 has lost its redundancy: with one module less it does not carry its load"}},
		{"battery", orv3.ShelfState{Role: orv3.RoleBBU, Modules: modules("full")}, nil},
	} {
		s := status.RackShelf{Name: "shelf1", Feeds: []string{"h1", "h2"}, State: shelfState(&c.shelf)}
		if d := cmp.Diff(c.want, alerts(&s, &c.shelf, s.Feeds)); d != "" {
			t.Errorf("%s: %s", c.what, d)
		}
	}
}

// A node that another shelf feeds as well is not without power.
func TestDarkNodes(t *testing.T) {
	shelves := []status.RackShelf{{Name: "a", Feeds: []string{"h1", "h2"}}, {Name: "b", Feeds: []string{"h2"}}, {Name: "c"}}
	states := []orv3.ShelfState{{Role: orv3.RolePSU}, {Role: orv3.RolePSU, Powered: true}, {Role: orv3.RolePSU}}
	var got []string
	say := func() {
		for i := range shelves {
			got = append(got, alerts(&shelves[i], &states[i], dark(shelves, states, i))...)
		}
	}
	say()
	shelves[0].Feeds = shelves[1].Feeds
	say()
	if d := cmp.Diff([]string{
		"the busbar of a is down: node h1 is without power (programs in them go on all the same)", "the busbar of c is down",
		"the busbar of a is down: its nodes draw from others", "the busbar of c is down"}, got); d != "" {
		t.Error(d)
	}
}

func TestFaultText(t *testing.T) {
	for _, c := range []struct {
		f    bus.Fault
		want string
	}{
		{bus.Fault{Kind: bus.Silent, Prob: 1}, "silent"},
		{bus.Fault{Kind: bus.Drop, Prob: 0.01}, "drop, probability 0.01"},
		{bus.Fault{Kind: bus.Late, Station: "shelf1/psu2", Prob: 1, Delay: 200 * sim.Millisecond}, "late at shelf1/psu2, by 200.000ms"},
		{bus.Fault{Kind: bus.Noise, Burst: 2 * sim.Millisecond, Every: 50 * sim.Millisecond}, "noise, bursts of 2.000ms every 50.000ms"},
	} {
		if s := faultText(&c.f); s != c.want {
			t.Errorf("%q, want %q", s, c.want)
		}
	}
}
