package ibport_test

import "testing"

// The tests of ports once more with a tunnel in the place of the cable, with
// relaxed and with exact flow control.
func TestOverTunnel(t *testing.T) {
	defer func() { tunnelled, exact = false, false }()
	tunnelled = true
	for _, exact = range []bool{false, true} {
		name := "relaxed"
		if exact {
			name = "exact"
		}
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				name  string
				test  func(*testing.T)
				exact bool // needs the standard's intervals
			}{
				{"Training", TestTraining, false},
				{"Negotiation", TestNegotiation, false},
				{"Cable", TestCable, false},
				{"PortStates", TestPortStates, false},
				{"ArmedToActive", TestArmedToActive, false},
				{"Init", TestInit, false},
				{"SlowReceiver", TestSlowReceiver, false},
				{"FullRate", TestFullRate, false},
				{"Errors", TestErrors, false},
				{"LostFlowControl", TestLostFlowControl, false},
				{"Watchdog", TestWatchdog, true},
				{"LinkIntegrity", TestLinkIntegrity, true},
				{"Overrun", TestOverrun, false},
				{"VL15", TestVL15, false},
			} {
				if exact || !c.exact {
					t.Run(c.name, c.test)
				}
			}
		})
	}
}
