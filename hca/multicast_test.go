package hca_test

import (
	"errors"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/internal/frame"
	"cnuas/internal/sim"
)

var (
	group4 = hca.GID{10: 0xff, 11: 0xff, 12: 239, 13: 0x81, 14: 2, 15: 3}
	group6 = hca.GID{0: 0xff, 1: 0x0e, 12: 1, 13: 2, 14: 3, 15: 4}
)

// TestMulticast: every attached queue pair gets a copy of its own, those of the
// sender's device too, and nobody else.
func TestMulticast(t *testing.T) {
	for _, c := range []struct {
		name  string
		group hca.GID
		gid   uint8
		mac   [6]byte
		block bool
		own   int // copies for the sender itself
	}{
		{"IPv4", group4, 1, [6]byte{0x01, 0x00, 0x5e, 0x01, 2, 3}, false, 1},
		{"IPv6", group6, 0, [6]byte{0x33, 0x33, 1, 2, 3, 4}, false, 1},
		{"blocked", group4, 1, [6]byte{0x01, 0x00, 0x5e, 0x01, 2, 3}, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t, 1, nil, hca.Config{})
			x := []*end{p.udEnd(0, c.block), p.udEnd(0, c.block), p.udEnd(0, false), p.udEnd(1, false), p.udEnd(1, false), p.udEnd(1, false)}
			for _, i := range []int{0, 1, 3, 4} { // 2 and 5 are strangers
				if err := x[i].qp.Attach(c.group, 0); err != nil {
					t.Fatal(err)
				}
			}
			for i := range x {
				x[i].qp.PostRecv(uint64(i), x[i].buf.SGE(1<<20, 4096))
			}
			var mac [6]byte
			p.port[1].rx = func(f *frame.Frame) *frame.Frame { mac = [6]byte(f.Data[:6]); return f }
			ah := must[*hca.AH](t)(x[0].Context.CreateAH(x[0].PD, hca.AddressVector{SGIDIndex: c.gid, DGID: c.group}))
			fill(x[0].buf.B[:1000], 3)
			x[0].qp.PostSend(&ring.Send{ID: 77, Opcode: ring.OpSend, Flags: ring.FlagSignaled, QPN: 0xffffff, QKey: 0x11, AH: ah.Num(), SGEs: []ring.SGE{x[0].buf.SGE(0, 1000)}})
			p.run(100 * sim.Microsecond)
			if mac != c.mac {
				t.Errorf("sent to % x, want % x", mac, c.mac)
			}
			for i, want := range []int{c.own, 1, 0, 1, 1, 0} {
				got := 0
				for _, w := range x[i].poll() {
					if w.Opcode != ring.WCRecv {
						continue
					}
					got++
					if w.Status != 0 || w.ByteLen != 1040 || w.SrcQP != x[0].qp.Num() || string(x[i].buf.B[1<<20+40:][:1000]) != string(x[0].buf.B[:1000]) {
						t.Errorf("queue pair %d: %+v", i, w)
					}
				}
				if got != want {
					t.Errorf("queue pair %d has %d copies, want %d", i, got, want)
				}
			}
			if err := x[1].qp.Destroy(); !errors.Is(err, hca.ErrBusy) {
				t.Errorf("destroyed while attached: %v", err)
			}
			if err := x[1].qp.Detach(c.group, 0); err != nil || x[1].qp.Detach(c.group, 0) == nil {
				t.Errorf("detach: %v, or twice", err)
			}
			if err := x[1].qp.Destroy(); err != nil {
				t.Error(err)
			}
			for _, y := range x {
				y.Context.Close()
			}
			p.drain()
		})
	}
}

// TestAttach: what may be attached to what.
func TestAttach(t *testing.T) {
	p := newPeerOf(t, hca.UD, nil)
	for _, g := range []hca.GID{group4, group6, group4} {
		if err := p.qp.Attach(g, 0); err != nil {
			t.Error(err)
		}
	}
	for _, g := range []hca.GID{{}, v4gid(3), llgid(3)} {
		if err := p.qp.Attach(g, 0); !errors.Is(err, hca.ErrInvalid) {
			t.Errorf("%v: %v", g, err)
		}
	}
	if err := newPeer(t, nil).qp.Attach(group4, 0); !errors.Is(err, hca.ErrInvalid) {
		t.Errorf("RC: %v", err)
	}
	for _, av := range []hca.AddressVector{
		{SGIDIndex: 1, DGID: group6}, {SGIDIndex: 0, DGID: group4}, {SGIDIndex: 1, DGID: llgid(2)}, {SGIDIndex: 1},
	} {
		if _, err := p.Context.CreateAH(p.PD, av); !errors.Is(err, hca.ErrInvalid) {
			t.Errorf("handle %+v: %v", av, err)
		}
	}
	if _, err := p.Context.CreateAH(p.PD, hca.AddressVector{SGIDIndex: 99, DGID: group4}); !errors.Is(err, hca.ErrNoGID) {
		t.Errorf("no such GID: %v", err)
	}
	// A connection cannot lead to a group.
	q := newPeer(t, nil)
	q.modify(hca.Reset)
	a := hca.QPAttr{State: hca.Init, Port: 1}
	if err := q.qp.Modify(&a, toInit); err != nil {
		t.Fatal(err)
	}
	a = hca.QPAttr{State: hca.RTR, PathMTU: 1, DestQPN: 5, AV: hca.AddressVector{SGIDIndex: 1, DGID: group4}}
	if err := q.qp.Modify(&a, toRTR); !errors.Is(err, hca.ErrInvalid) {
		t.Errorf("connection to a group: %v", err)
	}
}
