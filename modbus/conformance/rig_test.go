//go:build conformance

package conformance

import (
	"context"
	"fmt"
	"testing"

	"cnuas/internal/rack"
	"cnuas/internal/sim"
	"cnuas/internal/topology"
	"cnuas/modbus/bus"
	"cnuas/modbus/rtu"
)

var (
	slow = rtu.Line{Baud: 19200, Data: 8, Parity: rtu.Even, Stop: 1}
	fast = rtu.Line{Baud: 115200, Data: 8, Parity: rtu.Even, Stop: 1}
	// plain is fast without parity: pyserial does not tell a pseudo terminal of
	// parity (see docs/MODBUS.md).
	plain = rtu.Line{Baud: 115200, Data: 8, Parity: rtu.None, Stop: 1}
)

// rig is a rack that runs, with segments bus0 and echo, which hears itself.
type rig struct {
	*rack.Rack
	t    testing.TB
	bus  *bus.Segment
	slav map[uint8]*bus.Station // of bus0, by address
}

// newRig puts on bus0 full devices at address 10 (slow), 13 (slow), 20 (fast),
// 30 (plain) and 250 (slow), and one with registers only at 11 (slow). The
// segment echo has a full device at 10 (fast).
func newRig(t testing.TB) *rig {
	t.Helper()
	g := emptyRig(t, topology.RackSegment{Name: "bus0", Line: slow}, topology.RackSegment{Name: "echo", Line: fast, Echo: true})
	g.Do(func() {
		for _, x := range []struct {
			addr uint8
			line rtu.Line
		}{{10, slow}, {13, slow}, {20, fast}, {30, plain}, {250, slow}} {
			g.add(x.addr, x.line, rtu.NewSlave(x.addr, newDevice(), rtu.AllOptions()))
		}
		g.add(11, slow, rtu.NewSlave(11, registers{newDevice()}, rtu.Options{}))
		g.Segment("echo").AddSlave("slave10", fast, rtu.NewSlave(10, newDevice(), rtu.AllOptions()))
	})
	g.run()
	return g
}

func emptyRig(t testing.TB, segs ...topology.RackSegment) *rig {
	t.Helper()
	r, err := rack.New(&topology.Rack{Segments: segs}, rack.Options{Dir: t.TempDir(), Seed: 1, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	return &rig{Rack: r, t: t, bus: r.Segment(segs[0].Name), slav: map[uint8]*bus.Station{}}
}

func (g *rig) add(addr uint8, l rtu.Line, s *rtu.Slave) {
	g.slav[addr] = g.bus.AddSlave(fmt.Sprintf("slave%d", addr), l, s)
}

// run starts the rack and ends it with the test.
func (g *rig) run() {
	ctx, cancel := context.WithCancel(g.t.Context())
	ended := make(chan error)
	go func() { ended <- g.Run(ctx) }()
	g.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			g.t.Error(err)
		}
		if err := g.Close(); err != nil {
			g.t.Error(err)
		}
	})
}

// counters of the slave engine at an address.
func (g *rig) counters(addr uint8) (c rtu.Counters) {
	g.Do(func() {
		g.bus.Counters() // the wire, up to now
		c = g.slav[addr].Slave().Counters()
	})
	return c
}

// segment's counters now.
func (g *rig) segment() (c bus.Counters) {
	g.Do(func() { c = g.bus.Counters() })
	return c
}

// inject starts a fault on bus0.
func (g *rig) inject(f bus.Fault) {
	g.t.Helper()
	var err error
	g.Do(func() { _, err = g.bus.Inject(f) })
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *rig) clear() { g.Do(func() { g.bus.ClearFaults() }) }

// now is the time of the rack's engine.
func (g *rig) now() (t sim.Time) {
	g.Do(func() { t = g.bus.Now() })
	return t
}
