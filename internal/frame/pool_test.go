package frame

import (
	"bytes"
	"testing"
)

func TestPoolReuse(t *testing.T) {
	var p Pool
	f := p.Get()
	f.Head(60)
	f.SetPayload(make([]byte, 10), nil)
	f.Meta.Tag, f.Meta.Host, f.Meta.ICRCDeferred = 7, true, true
	if p.Live() != 1 || p.Made() != 1 {
		t.Fatalf("live %d, made %d", p.Live(), p.Made())
	}
	p.Put(f)
	g := p.Get()
	if g != f || p.Made() != 1 || p.Live() != 1 {
		t.Fatalf("not reused: live %d, made %d", p.Live(), p.Made())
	}
	if g.Data != nil || g.Pay != nil || g.Meta != (Meta{}) {
		t.Errorf("a frame from the pool knows its past: %+v", g.Meta)
	}
	if h := p.Get(); h == g || p.Made() != 2 || p.Live() != 2 {
		t.Errorf("second frame: made %d, live %d", p.Made(), p.Live())
	}
}

func TestClone(t *testing.T) {
	var p Pool
	f := split(t, &p)
	f.Meta.Priority, f.Meta.InPort = 3, 5
	want := f.AppendTo(nil)
	g := p.Clone(f)
	if !bytes.Equal(g.AppendTo(nil), want) || g.Len != f.Len || g.Meta != f.Meta {
		t.Errorf("clone: %x, Len %d, %+v", g.AppendTo(nil), g.Len, g.Meta)
	}
	g.Data[0] ^= 0xff // headers are the clone's own
	if !bytes.Equal(f.AppendTo(nil), want) {
		t.Error("changing the clone's headers changed the original")
	}
	if &g.Pay[0] != &f.Pay[0] {
		t.Error("the payload was copied")
	}
	long := p.Get()
	copy(long.Buf(1500), bytes.Repeat([]byte("x"), 1500))
	c := p.Clone(long)
	if !bytes.Equal(c.Data, long.Data) || &c.Data[0] == &long.Data[0] {
		t.Error("clone of a long frame")
	}
	c.Shift(-Headroom) // has head-room as well
}

// A slab goes back when its last holder lets go, whichever that is.
func TestSlabReferences(t *testing.T) {
	var p Pool
	s := p.GetSlab()
	if len(s.B) != SlabSize || p.LiveSlabs() != 1 {
		t.Fatalf("slab of %d bytes, %d live", len(s.B), p.LiveSlabs())
	}
	f := p.Get()
	f.Head(60)
	f.SetPayload(s.B[:100], s)
	g := p.Clone(f)
	s.Release() // the maker's reference
	p.Put(f)
	if p.LiveSlabs() != 1 {
		t.Fatalf("%d slabs live while a clone holds one", p.LiveSlabs())
	}
	p.Put(g)
	if p.LiveSlabs() != 0 || p.Live() != 0 {
		t.Fatalf("%d slabs, %d frames live at the end", p.LiveSlabs(), p.Live())
	}
	if p.GetSlab() != s {
		t.Error("the slab was not reused")
	}
	s.Release()
	defer func() {
		if recover() == nil {
			t.Error("a slab released twice is not noticed")
		}
	}()
	s.Release()
}

func TestFIFO(t *testing.T) {
	var q FIFO
	fs := [3]Frame{{Len: 64}, {Len: 100}, {Len: 1500}}
	check := func(n int, bytes int64, head *Frame) {
		t.Helper()
		if q.Len() != n || q.Bytes() != bytes || q.Peek() != head {
			t.Fatalf("len %d, bytes %d, head %p; want %d, %d, %p", q.Len(), q.Bytes(), q.Peek(), n, bytes, head)
		}
	}
	check(0, 0, nil)
	if q.Pop() != nil {
		t.Fatal("an empty queue gave a frame")
	}
	q.Push(&fs[0])
	q.Push(&fs[1])
	check(2, 164, &fs[0])
	if q.Pop() != &fs[0] {
		t.Fatal("not the oldest")
	}
	q.PushFront(&fs[0])
	q.Push(&fs[2])
	check(3, 1664, &fs[0])
	for i := range fs {
		if q.Pop() != &fs[i] {
			t.Fatalf("frame %d out of order", i)
		}
	}
	check(0, 0, nil)
	q.PushFront(&fs[2]) // into an empty queue
	q.Push(&fs[1])
	if q.Pop() != &fs[2] || q.Pop() != &fs[1] || q.Pop() != nil {
		t.Fatal("order after PushFront into an empty queue")
	}
	check(0, 0, nil)
}

func TestNoAllocations(t *testing.T) {
	var p Pool
	b := make([]byte, 0, 16384)
	one := split(t, &p)
	pay := one.Pay
	p.Put(one)
	head := unhex(t, roce)[:70]
	var q FIFO
	if n := testing.AllocsPerRun(100, func() {
		f := p.Get()
		copy(f.Head(70), head)
		s := p.GetSlab()
		f.SetPayload(pay, s)
		s.Release()
		f.Meta.ICRCDeferred = true
		f.WireLen()
		q.Push(p.Clone(f))
		p.Put(f)
		g := q.Pop()
		b = g.AppendTo(b[:0])
		p.Put(g)
	}); n != 0 {
		t.Errorf("%v allocations per frame", n)
	}
}
