package verbs_test

import (
	"errors"
	"fmt"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/verbs"
	"cnuas/internal/frame"
	"cnuas/internal/sim"
)

// Example sends eight bytes from one queue pair of a device to another.
func Example() {
	e := sim.NewEngine(1)
	d := hca.New(e, &frame.Pool{}, nil, hca.Config{Name: "rxe0"})
	d.SetGID(1, hca.GIDEntry{GID: hca.GID{10: 0xff, 11: 0xff, 12: 10, 15: 1}, Valid: true})
	p, _ := verbs.Open(d, 1<<16)
	cq, _ := p.NewCQ(16, nil)
	caps := hca.QPCap{MaxSendWR: 4, MaxRecvWR: 4, MaxSendSGE: 1, MaxRecvSGE: 1}
	a, _ := p.NewQP(cq, cq, caps, true)
	b, _ := p.NewQP(cq, cq, caps, true)
	if err := verbs.Connect(a, b, verbs.Path{}); err != nil {
		fmt.Println(err)
	}
	buf, _ := p.Buffer(64, hca.AccessLocalWrite)
	copy(buf.B, "8 bytes.")
	b.PostRecv(1, buf.SGE(32, 8))
	a.PostSend(&ring.Send{ID: 2, Opcode: ring.OpSend, SGEs: []ring.SGE{buf.SGE(0, 8)}})
	e.RunUntil(sim.Millisecond)
	var wc [4]ring.CQE
	for _, c := range wc[:cq.Poll(wc[:])] {
		fmt.Println(c.ID, c.Status, c.ByteLen)
	}
	fmt.Printf("%s\n", buf.B[32:40])
	// Output:
	// 1 0 8
	// 2 0 8
	// 8 bytes.
}

func TestArena(t *testing.T) {
	a := verbs.NewArena(256)
	x, b := a.Alloc(10)
	y, _ := a.Alloc(10)
	if x != verbs.ArenaBase || y != x+64 {
		t.Errorf("addresses %#x %#x", x, y)
	}
	if err := a.Scatter([]hca.Segment{{Addr: x, Len: 3}, {Addr: y, Len: 2}}, [][]byte{[]byte("ab"), []byte("cde")}); err != nil || string(b[:3]) != "abc" {
		t.Errorf("%v, %q", err, b[:3])
	}
	dst := make([]byte, 5)
	if err := a.Gather(dst, []hca.Segment{{Addr: y, Len: 2}, {Addr: x, Len: 3}}); err != nil || string(dst) != "deabc" {
		t.Errorf("%v, %q", err, dst)
	}
	for _, s := range []hca.Segment{{Addr: 0, Len: 1}, {Addr: x + 255, Len: 2}, {Addr: ^uint64(0), Len: 1}} {
		if a.Gather(make([]byte, s.Len), []hca.Segment{s}) == nil {
			t.Errorf("%+v is in the arena", s)
		}
	}
	a.Fault = func(hca.Segment, bool) error { return errors.New("no page") }
	if a.Gather(dst[:1], []hca.Segment{{Addr: x, Len: 1}}) == nil {
		t.Error("Fault is not asked")
	}
}
