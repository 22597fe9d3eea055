package capture

import (
	"bytes"
	"fmt"
	"testing"

	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// end is a device with one port that sends what it is given.
type end struct {
	pool *frame.Pool
	q    frame.FIFO
}

func (e *end) Receive(_ int, f *frame.Frame) { e.pool.Put(f) }
func (e *end) Dequeue(int) *frame.Frame      { return e.q.Pop() }

// Both ends of a link are captured: data and MAC control frames, each once as
// sent and once as received, at the times of the wire.
func TestCaptureLink(t *testing.T) {
	run := func() ([]byte, int) {
		var pool frame.Pool
		e := sim.NewEngine(1)
		a, b := &end{pool: &pool}, &end{pool: &pool}
		pa, pb := link.NewPort(e, &pool, a, 0, "a:1"), link.NewPort(e, &pool, b, 0, "b:1")
		if err := link.Connect(pa, pb, link.Config{Rate: 100 * link.Gbps, Delay: 300 * sim.Nanosecond}); err != nil {
			t.Fatal(err)
		}
		s := NewSession(Config{Base: base})
		for _, p := range []*link.Port{pa, pb} {
			p.AddObserver(s.Tap(p.Name))
		}
		a.q.Push(writeFrame(&pool, make([]byte, 1024)))
		pa.Kick()
		pause := pool.Get()
		(&wire.PFC{Enable: 1 << 3, Time: [8]uint16{3: 0xffff}}).Encode(pause.Head(wire.PFCLen), [6]byte{2})
		pause.WireLen()
		pb.SendControl(pause)
		e.RunUntil(sim.Millisecond)
		return finished(t, s), pool.Live()
	}
	stream, live := run()
	if again, _ := run(); !bytes.Equal(stream, again) {
		t.Error("two runs gave different captures")
	}
	if live != 0 {
		t.Errorf("%d frames alive", live)
	}
	n := decode(t, stream)
	got := ""
	for _, r := range n.records {
		got += fmt.Sprintf("%s %d %v %d\n", n.ports[r.Port], r.Dir, r.Time, r.OrigLen)
	}
	// A 64-byte frame with its overhead of 20 takes 84 x 80 ps, one of 1098 + 4
	// takes 1122 x 80 ps.
	want := "a:1 0 0ps 1098\n" + "b:1 0 0ps 60\n" + "a:1 1 306.720ns 60\n" + "b:1 1 389.760ns 1098\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	var p wire.PFC
	if !p.Decode(n.records[1].Data) || p.Enable != 8 || p.Time[3] != 0xffff {
		t.Errorf("pause frame: %+v", p)
	}
}
