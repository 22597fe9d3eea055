package hca_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/verbs"
	"cnuas/internal/dissect"
	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// lines dissects what passes a port, as a capture would show it.
type lines struct {
	t *testing.T
	l []string
}

// Observe implements link.Observer.
func (o *lines) Observe(_ *link.Port, d link.Direction, _ sim.Time, f *frame.Frame) {
	if f.Meta.IB.Flags&frame.IBLink != 0 {
		return
	}
	b := append(f.AppendOpen(nil), 0, 0)
	wire.SealIB(b)
	s := dissect.LineIB(b, len(b))
	if strings.Contains(s, "BAD") || strings.Contains(s, "[") || len(b) != int(f.Len) {
		o.t.Errorf("length %d: %s", f.Len, s)
	}
	o.l = append(o.l, fmt.Sprintf("%v %s", d, s))
}

// TestIBFramesGolden: one packet of every kind that an adapter sends and
// receives, as the project's own dissector reads it.
func TestIBFramesGolden(t *testing.T) {
	n := newIBNet(t, 1)
	n.star(2)
	n.up(sm.Config{})
	p := n.pairOf(0, 1)
	x := p.connect(connOpt{path: verbs.Path{MTU: 1, PSN: [2]uint32{100, 200}, SL: 2}})
	g := p.connect(connOpt{path: verbs.Path{MTU: 1, PSN: [2]uint32{300, 400}, Global: true}})
	o := &lines{t: t}
	n.ca[0].Port(1).Link().AddObserver(o)
	section := func(s string) { o.l = append(o.l, "-- "+s) }
	wait := func() { n.run(50 * sim.Microsecond) }
	for i, w := range []ring.Send{
		{Opcode: ring.OpSend}, {Opcode: ring.OpSendImm, Imm: [4]byte{3: 7}, Flags: ring.FlagSolicited}, {Opcode: ring.OpRDMAWrite}, {Opcode: ring.OpRDMAWriteImm, Imm: [4]byte{3: 9}},
		{Opcode: ring.OpRDMARead}, {Opcode: ring.OpFetchAdd, CompareAdd: 3}, {Opcode: ring.OpCompareSwap, CompareAdd: 3, Swap: 4},
	} {
		for _, size := range []int{600, 5} {
			if w.Opcode >= ring.OpCompareSwap {
				if size = 8; i < 5 {
					continue
				}
			}
			section(fmt.Sprintf("RC operation %d, %d bytes", w.Opcode, size))
			x[1].qp.PostRecv(1, x[1].buf.SGE(0, 1000))
			w.Flags |= ring.FlagSignaled
			w.RemoteAddr, w.RKey, w.SGEs = x[1].buf.Addr, x[1].buf.MR.RKey(), []ring.SGE{x[0].buf.SGE(0, size)}
			if err := x[0].qp.PostSend(&w); err != nil {
				t.Fatal(err)
			}
			wait()
		}
	}
	for _, c := range x[0].poll() {
		if c.Status != 0 {
			t.Errorf("%+v", c)
		}
	}
	section("RC with a GRH")
	w := writeOf(g, 300)
	g[0].qp.PostSend(&w)
	wait()
	section("access refused")
	w = writeOf(x, 10)
	w.RKey = 1
	x[0].qp.PostSend(&w)
	wait()
	section("UD")
	a, b := p.udEnd(0, false), p.udEnd(1, false)
	b.qp.PostRecv(1, b.buf.SGE(0, 4096))
	ah := must[*hca.AH](t)(a.Context.CreateAH(a.PD, p.vector(1)))
	a.qp.PostSend(&ring.Send{Opcode: ring.OpSendImm, QPN: b.qp.Num(), QKey: 0x11, AH: ah.Num(), SGEs: []ring.SGE{a.buf.SGE(0, 50)}})
	wait()
	section("multicast")
	ah = must[*hca.AH](t)(a.Context.CreateAH(a.PD, hca.AddressVector{DLID: mlid, Global: true, DGID: mgid, SL: 1, FlowLabel: 5, TrafficClass: 6, HopLimit: 1}))
	a.qp.PostSend(&ring.Send{Opcode: ring.OpSend, QPN: 0xffffff, QKey: 0x11, AH: ah.Num(), SGEs: []ring.SGE{a.buf.SGE(0, 51)}})
	wait()
	section("MADs")
	p.dev[0].SendMAD(1, &hca.MADAddress{QPN: 1, QKey: wire.QP1QKey, LID: p.dev[1].IB().LID()}, gmp(mad.MethodSend, 1))
	p.dev[0].SendMAD(1, &hca.MADAddress{QPN: 1, QKey: wire.QP1QKey, LID: p.dev[1].IB().LID(), GRH: true, GID: p.dev[1].GIDs()[0].GID, HopLimit: 1}, gmp(mad.MethodSend, 2))
	m := make(mad.Packet, 256)
	(&mad.Header{Class: mad.ClassSubnLID, Method: mad.MethodGet, TID: 9, Attr: mad.AttrNodeInfo}).Encode(m)
	p.dev[0].SendMAD(0, &hca.MADAddress{LID: p.dev[1].IB().LID()}, m)
	wait()
	got := []byte(strings.Join(o.l, "\n") + "\n")
	const file = "testdata/ibframes.txt"
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
