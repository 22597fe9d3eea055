package ibport_test

import (
	"fmt"
	"slices"
	"testing"

	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/ibport/ibtest"
	"cnuas/internal/sim"
	"cnuas/internal/tunnel/datagram"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

const delay = 500 * sim.Nanosecond

// bench is two ends and the wire between them.
type bench struct {
	*testing.T
	e    *sim.Engine
	pool *frame.Pool
	a, b *ibtest.End
	far  *datagram.Link // nil: the link is in memory
}

// tunnelled makes the links of tests tunnels over a network in memory, exact
// lets them keep the standard's intervals of flow control.
var tunnelled, exact bool

func edr(name string) ibport.Config {
	return ibport.Config{Name: name, SpeedsExt: mad.SpeedEDR, GUID: 0x10, ExactFlow: exact}
}

func pair(t *testing.T, ca, cb ibport.Config) *bench {
	x := &bench{T: t, e: sim.NewEngine(1), pool: &frame.Pool{}}
	x.a, x.b = ibtest.NewEnd(x.e, x.pool, ca), ibtest.NewEnd(x.e, x.pool, cb)
	var err error
	if tunnelled {
		x.far, err = datagram.Connect(x.e, x.pool, x.a.Port, x.b.Port, delay)
	} else {
		err = ibport.Connect(x.a.Port, x.b.Port, delay)
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// plugIn puts in the cable that was pulled out of end a: from either end, if
// there is one cable.
func (x *bench) plugIn() {
	if x.far != nil {
		x.a.Port.Link().SetUp(true)
		return
	}
	x.b.Port.Link().SetUp(true)
}

// up trains and activates both ends.
func (x *bench) up() *bench {
	x.Helper()
	x.run(10 * sim.Millisecond)
	x.a.Activate(1)
	x.b.Activate(2)
	x.run(10 * sim.Microsecond)
	for _, n := range []*ibtest.End{x.a, x.b} {
		if n.Port.State() != mad.PortActive || n.Port.PhysState() != mad.PhysLinkUp {
			x.Fatalf("%s is %v, %v", n.Port.Name(), n.Port.State(), n.Port.PhysState())
		}
	}
	return x
}

func (x *bench) run(d sim.Time) { x.e.RunUntil(x.e.Now() + d) }

// done checks that everything is where it belongs when nothing moves any more.
func (x *bench) done() {
	x.Helper()
	x.a.Drop()
	x.b.Drop()
	x.run(100 * sim.Millisecond)
	for _, n := range []*ibtest.End{x.a, x.b} { // flow control goes on over a tunnel
		if x.far != nil {
			n.Port.Link().SetUp(false)
		}
	}
	if n := x.pool.Live(); n != 0 {
		x.Errorf("%d frames are alive at the end", n)
	}
	for _, n := range []*ibtest.End{x.a, x.b} {
		for vl := range uint8(15) {
			if h, _ := n.Port.Held(vl); h != 0 {
				x.Errorf("%s holds %d blocks of VL%d at the end", n.Port.Name(), h, vl)
			}
		}
	}
}

func TestTraining(t *testing.T) {
	x := pair(t, edr("a"), edr("b"))
	x.run(10 * sim.Millisecond)
	for _, n := range []*ibtest.End{x.a, x.b} {
		i := n.Port.Info()
		if i.PortState != mad.PortInit || i.PortPhysicalState != mad.PhysLinkUp || i.LinkWidthActive != mad.Width4X ||
			i.LinkSpeedActive != mad.SpeedQDR || i.LinkSpeedExtActive != mad.SpeedEDR || n.Port.Rate() != 100e9 {
			t.Errorf("%s: %v %v %v %v %v at %v", n.Port.Name(), i.PortState, i.PortPhysicalState, i.LinkWidthActive, i.LinkSpeedActive, i.LinkSpeedExtActive, n.Port.Rate())
		}
		if n.Port.Credits(0) != ibport.DefaultBuffer/64 {
			t.Errorf("%s has %d credits", n.Port.Name(), n.Port.Credits(0))
		}
	}
	x.done()
}

// Width and speed are the best of what both ends have enabled.
func TestNegotiation(t *testing.T) {
	for _, c := range []struct {
		a, b ibport.Config
		rate int64 // 0: no link
	}{
		{ibport.Config{}, edr(""), 32e9},
		{ibport.Config{Widths: 1, SpeedsExt: mad.SpeedEDR}, edr(""), 25e9},
		{ibport.Config{Widths: 15, SpeedsExt: 15}, ibport.Config{Widths: 15, SpeedsExt: 7}, 600e9},
		{ibport.Config{SpeedsExt: mad.SpeedFDR}, ibport.Config{SpeedsExt: 3}, 54545454545},
		{ibport.Config{Speeds: mad.SpeedSDR}, edr(""), 8e9},
		{ibport.Config{Speeds: mad.SpeedSDR}, ibport.Config{Speeds: mad.SpeedDDR}, 0},
		{ibport.Config{Widths: mad.Width1X}, ibport.Config{Widths: mad.Width4X}, 0},
	} {
		x := pair(t, c.a, c.b)
		x.run(sim.Second)
		if got := int64(x.a.Port.Rate()); got != c.rate || int64(x.b.Port.Rate()) != c.rate {
			t.Errorf("%v/%v and %v/%v: %d, want %d", c.a.Widths, c.a.SpeedsExt, c.b.Widths, c.b.SpeedsExt, got, c.rate)
		}
		if c.rate == 0 && x.e.Fired() > 1000 {
			t.Errorf("%d events for a second of vain training", x.e.Fired())
		}
		x.done()
	}
}

// A pulled cable takes both ports down, and they come up again by themselves
// but not to Active.
func TestCable(t *testing.T) {
	x := pair(t, edr("a"), edr("b")).up()
	x.a.States, x.b.States = nil, nil
	x.a.Start(0, &ibtest.Flow{Packet: ibtest.Packet{SLID: 1, DLID: 2, Payload: 4096}, Left: 1000})
	x.run(20 * sim.Microsecond)
	x.a.Port.Link().SetUp(false)
	x.run(10 * sim.Millisecond)
	if x.a.Port.State() != mad.PortDown || x.b.Port.PhysState() != mad.PhysPolling || x.a.Port.Rate() != 0 {
		t.Error("not down")
	}
	x.plugIn()
	x.run(10 * sim.Millisecond)
	want := []mad.PortState{mad.PortDown, mad.PortInit}
	if !slices.Equal(x.a.States, want) || !slices.Equal(x.b.States, want) {
		t.Errorf("states %v and %v", x.a.States, x.b.States)
	}
	before := x.b.Rcvd
	x.a.Activate(1)
	x.b.Activate(2)
	x.run(10 * sim.Millisecond)
	c := x.a.Port.Counters()
	if x.b.Rcvd == before {
		t.Errorf("no packet after the cable is back, %d before", before)
	}
	if got := x.b.Rcvd; got >= 1000 || got < 990 {
		t.Errorf("%d of 1000 packets arrived: more were lost than were on the wire", got)
	}
	if c.LinkDowned != 1 || x.b.Port.Counters().LinkDowned != 1 {
		t.Errorf("LinkDowned %d", c.LinkDowned)
	}
	x.done()
}

// What a subnet manager may set, and what becomes of both ends.
func TestPortStates(t *testing.T) {
	x := pair(t, edr("a"), edr("b"))
	x.run(10 * sim.Millisecond)
	set := func(s mad.PortState, ph mad.PhysState) mad.Status {
		a := x.a.Port.Info()
		a.PortState, a.PortPhysicalState = s, ph
		return x.a.Port.Set(&a)
	}
	check := func(what string, a, b mad.PortState) {
		t.Helper()
		x.run(5 * sim.Millisecond)
		if x.a.Port.State() != a || x.b.Port.State() != b {
			t.Fatalf("%s: %v and %v, want %v and %v", what, x.a.Port.State(), x.b.Port.State(), a, b)
		}
	}
	for _, s := range []mad.PortState{mad.PortActive, mad.PortInit, 5} {
		if set(s, 0) != mad.StatusInvalidField {
			t.Errorf("Init to %v was accepted", s)
		}
	}
	check("invalid", mad.PortInit, mad.PortInit)
	set(mad.PortArmed, 0)
	check("armed", mad.PortArmed, mad.PortInit)
	if set(mad.PortArmed, 0) != 0 || set(mad.PortActive, 0) != 0 || set(mad.PortArmed, 0) == 0 {
		t.Error("Armed, Active, then Armed again")
	}
	check("active", mad.PortActive, mad.PortInit)
	if set(mad.PortNoChange, mad.PhysLinkUp) == 0 || set(mad.PortArmed, mad.PhysPolling) == 0 {
		t.Error("illegal together")
	}
	set(mad.PortNoChange, mad.PhysDisabled)
	check("disabled", mad.PortDown, mad.PortDown)
	if x.a.Port.PhysState() != mad.PhysDisabled || x.b.Port.PhysState() != mad.PhysPolling {
		t.Errorf("disabled: %v, %v", x.a.Port.PhysState(), x.b.Port.PhysState())
	}
	set(mad.PortNoChange, mad.PhysPolling)
	check("polling", mad.PortInit, mad.PortInit)
	set(mad.PortDown, 0)
	x.run(sim.Microsecond)
	if x.a.Port.State() != mad.PortDown || x.b.Port.State() != mad.PortDown {
		t.Error("PortState Down did not take the link down")
	}
	check("retrained", mad.PortInit, mad.PortInit)
	x.done()
}

// An armed port becomes active with the first data packet.
func TestArmedToActive(t *testing.T) {
	x := pair(t, edr("a"), edr("b"))
	x.run(10 * sim.Millisecond)
	x.a.Activate(1)
	ibtest.Set(x.b.Port, mad.PortArmed, nil)
	x.run(10 * sim.Microsecond)
	if x.b.Port.State() != mad.PortArmed {
		t.Fatal(x.b.Port.State())
	}
	k := ibtest.Packet{SLID: 1, DLID: 2, Payload: 100}
	x.a.Send(0, k.Make(x.pool))
	x.run(10 * sim.Microsecond)
	if x.b.Port.State() != mad.PortActive || x.b.Rcvd != 1 {
		t.Errorf("%v, %d packets", x.b.Port.State(), x.b.Rcvd)
	}
	x.done()
}

// Data for a port in Init is lost, on VL15 it is not.
func TestInit(t *testing.T) {
	x := pair(t, edr("a"), edr("b"))
	x.run(10 * sim.Millisecond)
	x.a.Activate(1)
	k := ibtest.Packet{SLID: 1, DLID: 2, Payload: 100}
	x.a.Send(0, k.Make(x.pool))
	m := make(mad.SMP, mad.PacketLen)
	(&mad.Header{Class: mad.ClassSubnDirected, Method: mad.MethodGet, Attr: mad.AttrNodeInfo}).Encode(mad.Packet(m))
	x.b.Keep = true
	x.a.Send(wire.VL15, ibtest.NewMAD(x.pool, 0xffff, 0xffff, 0, mad.Packet(m)))
	x.run(10 * sim.Microsecond)
	if x.b.Rcvd != 0 || len(x.b.MADs) != 1 || x.b.Port.Counters().RcvInactive != 1 {
		t.Errorf("%d packets, %d MADs", x.b.Rcvd, len(x.b.MADs))
	}
	x.done()
}

// The time of a packet to the picosecond: bytes and delimiters at the data
// rate, the delay, and the latency of a port.
func TestTimes(t *testing.T) {
	for _, c := range []struct {
		cut  bool
		want sim.Time // after the beginning of the first of two packets of 4122 bytes
	}{
		{false, 4124*80 + 500_000 + 7000},
		{true, 61*80 + 500_000 + 7000},
	} {
		cb := edr("b")
		cb.Latency, cb.CutThrough = 7*sim.Nanosecond, c.cut
		x := pair(t, edr("a"), cb).up()
		x.b.Keep = true
		start := x.e.Now()
		x.a.Start(0, &ibtest.Flow{Packet: ibtest.Packet{SLID: 1, DLID: 2, Payload: 4096}, Left: 2})
		x.run(10 * sim.Microsecond)
		var want []string
		for i := range 2 {
			want = append(want, fmt.Sprintf("%d 4122 1>2 vl0", start+c.want+sim.Time(i)*4124*80))
		}
		if !slices.Equal(x.b.Log, want) {
			t.Errorf("cut-through %v: %v, want %v", c.cut, x.b.Log, want)
		}
		x.done()
	}
}
