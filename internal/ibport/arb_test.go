package ibport_test

import (
	"testing"

	"cnuas/internal/ibport/ibtest"
	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
)

// arb sends four lanes without end and returns the packets of each in 10 ms.
func arb(t *testing.T, limit uint8, high, low []mad.VLArbEntry) [4]float64 {
	c := edr("a")
	c.VLArbHigh, c.VLArbLow = 64, 64
	x := pair(t, c, edr("b")).up()
	set := func(block int, l []mad.VLArbEntry) {
		var a mad.VLArbitration
		copy(a.Entry[:], l)
		if !x.a.Port.SetVLArb(block, &a) {
			t.Fatal("no such block")
		}
		var b mad.VLArbitration
		if x.a.Port.VLArb(block, &b); a != b {
			t.Error("not read back")
		}
	}
	set(mad.VLArbHighFirst, high)
	set(mad.VLArbLowFirst, low)
	ibtest.Set(x.a.Port, 0, func(a *mad.PortInfo) { a.VLHighLimit = limit })
	for vl := range uint8(4) {
		x.a.Start(vl, &ibtest.Flow{Packet: ibtest.Packet{SLID: 1, DLID: 2, SL: vl, Payload: []int{4096, 4096, 1024, 256}[vl]}, Left: -1})
	}
	x.run(sim.Millisecond)
	c0 := x.a.Port.Counters()
	x.run(10 * sim.Millisecond)
	c1 := x.a.Port.Counters()
	var share [4]float64
	all := float64(c1.XmitData - c0.XmitData)
	for i := range share {
		share[i] = float64(c1.LaneData[i]-c0.LaneData[i]) / all
	}
	x.done()
	return share
}

// tab is a table from pairs of lane and weight.
func tab(v ...uint8) (l []mad.VLArbEntry) {
	for i := 0; i < len(v); i += 2 {
		l = append(l, mad.VLArbEntry{VL: v[i], Weight: v[i+1]})
	}
	return l
}

func near(a, b, d float64) bool { return a-b < d && b-a < d }

func TestArbitration(t *testing.T) {
	for _, c := range []struct {
		name      string
		limit     uint8
		high, low []mad.VLArbEntry
		want      [4]float64
	}{
		{"an entry may overdraw by a packet", 0, nil, tab(0, 40, 1, 80, 2, 40, 3, 40), [4]float64{.232, .464, .177, .126}},
		{"by large weight", 0, nil, tab(0, 255, 1, 128, 2, 64, 3, 64), [4]float64{.506, .253, .129, .112}},
		{"a lane twice", 0, nil, tab(0, 132, 1, 132, 0, 132, 2, 0, 1, 0), [4]float64{2. / 3, 1. / 3, 0, 0}},
		{"high without limit", 255, tab(1, 1), tab(0, 200, 2, 200), [4]float64{0, 1, 0, 0}},
		{"high one packet at a time", 0, tab(1, 1), tab(0, 1), [4]float64{.5, .5, 0, 0}},
		{"high 3 x 4 KiB", 3, tab(1, 1), tab(0, 1), [4]float64{.25, .75, 0, 0}},
		{"two of high, two of low", 1, tab(1, 66, 0, 66), tab(2, 66, 3, 66), [4]float64{.451, .451, .051, .047}},
	} {
		got := arb(t, c.limit, c.high, c.low)
		for i := range got {
			if !near(got[i], c.want[i], 0.01) {
				t.Errorf("%s: shares %.3f, want %.3f", c.name, got, c.want)
				break
			}
		}
	}
}

// A lane without credits does not hold up the others, and its wait is counted
// by lane only.
func TestStarvedLane(t *testing.T) {
	x := pair(t, edr("a"), edr("b")).up()
	var other uint64
	x.b.Hook = nil
	x.b.Service = 100 * sim.Microsecond
	x.a.Start(0, &ibtest.Flow{Packet: data(4096), Left: -1})
	x.run(sim.Millisecond)
	other = x.b.Rcvd
	if x.a.Port.Credits(0) > 66 {
		t.Fatal("not starved")
	}
	x.a.Start(1, &ibtest.Flow{Packet: ibtest.Packet{SLID: 1, DLID: 2, SL: 1, Payload: 4096}, Left: 5})
	x.run(3 * sim.Microsecond)
	if c := x.a.Port.Counters(); c.LanePkts[1] != 5 {
		t.Errorf("%d packets of the other lane (%d before)", c.LanePkts[1], other)
	}
	x.a.Drop()
	x.run(100 * sim.Millisecond)
	x.done()
}

func TestSL2VL(t *testing.T) {
	x := pair(t, edr("a"), edr("b"))
	p := x.a.Port
	for sl := range uint8(16) {
		if p.VLOf(0, sl) != sl%4 {
			t.Errorf("SL%d: VL%d", sl, p.VLOf(0, sl))
		}
	}
	ibtest.Set(p, 0, func(a *mad.PortInfo) { a.OperationalVLs = mad.VL0to1 })
	if p.VLOf(0, 3) != 1 || p.VLs() != 2 || p.Operational(2) {
		t.Error("does not follow OperationalVLs")
	}
	s := mad.SLtoVL{VL: [16]uint8{3: 15, 4: 9}}
	if !p.SetSL2VL(0, &s) || p.SetSL2VL(1, &s) || p.VLOf(0, 3) != 15 || p.VLOf(0, 4) != 9 {
		t.Error("not set")
	}
	x.done()
}
