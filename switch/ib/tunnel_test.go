package ib

import "testing"

// The tests of the switch once more with tunnels in the place of cables.
func TestOverTunnel(t *testing.T) {
	defer func() { tunnelled = false }()
	tunnelled = true
	for _, c := range []struct {
		name string
		test func(*testing.T)
	}{
		{"Victim", TestVictim},
		{"Incast", func(t *testing.T) { incast(t) }},
		{"Marking", TestMarking},
		{"Forwarding", TestForwarding},
		{"Partitions", TestPartitions},
		{"Multicast", TestMulticast},
		{"LinkDown", TestLinkDown},
		{"HOQ", TestHOQ},
		{"Lifetime", TestLifetime},
		{"FasterOutput", TestFasterOutput},
		{"TwoSwitches", TestTwoSwitches},
		{"OpensmBringUp", TestOpensmBringUp},
		{"BringUp", TestBringUp},
		{"DirectedRoute", TestDirectedRoute},
		{"CombinedRoutes", TestCombinedRoutes},
		{"SMPErrors", TestSMPErrors},
		{"SMPTables", TestSMPTables},
		{"MKey", TestMKey},
		{"Trap", TestTrap},
		{"WatchdogTrap", TestWatchdogTrap},
		{"ChangeTrap", TestChangeTrap},
		{"Performance", TestPerformance},
		{"SMInfo", TestSMInfo},
	} {
		t.Run(c.name, c.test)
	}
}
