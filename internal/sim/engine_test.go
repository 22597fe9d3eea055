package sim

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"testing"
)

type recorder struct{ got []string }

func (r *recorder) HandleEvent(now Time, op uint32, arg uint64) {
	r.got = append(r.got, fmt.Sprintf("%d/%d/%d", now, op, arg))
}

func TestOrder(t *testing.T) {
	e := NewEngine(1)
	a, b := e.NewProc(), e.NewProc()
	r := &recorder{}
	b.At(10, r, 1, 0)
	a.At(10, r, 2, 0)
	b.At(5, r, 3, 0)
	a.At(10, r, 4, 0)
	e.RunUntil(20)
	want := "[5/3/0 10/2/0 10/4/0 10/1/0]"
	if got := fmt.Sprint(r.got); got != want {
		t.Errorf("order %s, want %s: time, then process, then sequence", got, want)
	}
	if e.Now() != 20 {
		t.Errorf("now %v, want 20", e.Now())
	}
}

func TestHeapAgainstSort(t *testing.T) {
	e := NewEngine(1)
	p := e.NewProc()
	rng := rand.New(rand.NewPCG(1, 2))
	r := &recorder{}
	var want []int
	for range 5000 {
		v := rng.IntN(2000)
		want = append(want, v)
		p.At(Time(v), r, 0, 0)
	}
	sort.Ints(want)
	e.RunUntil(Forever - 1)
	for i, v := range want {
		if r.got[i] != fmt.Sprintf("%d/0/0", v) {
			t.Fatalf("event %d is %s, want time %d", i, r.got[i], v)
		}
	}
}

func TestRunSomeAndAdvance(t *testing.T) {
	e := NewEngine(1)
	p := e.NewProc()
	r := &recorder{}
	for i := range 3 {
		p.At(Time(10+i), r, uint32(i), 0)
	}
	e.Advance(50)
	if e.Now() != 10 {
		t.Errorf("Advance went to %v past the event at 10", e.Now())
	}
	if !e.RunSome(50, 2) || e.Now() != 11 {
		t.Errorf("RunSome(2): now %v, %d handled", e.Now(), len(r.got))
	}
	if e.RunSome(50, 2) || e.Now() != 50 {
		t.Errorf("RunSome must report no more and move to 50, now %v", e.Now())
	}
}

func TestPastPanics(t *testing.T) {
	e := NewEngine(1)
	p := e.NewProc()
	e.RunUntil(100)
	defer func() {
		if recover() == nil {
			t.Error("an event in the past was accepted")
		}
	}()
	p.At(99, &recorder{}, 0, 0)
}

func TestTimer(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*Timer, *Engine)
		want string
	}{
		{"expires", func(x *Timer, e *Engine) { x.Reset(10) }, "[10/7/9]"},
		{"later", func(x *Timer, e *Engine) { x.Reset(10); x.Reset(30) }, "[30/7/9]"},
		{"earlier", func(x *Timer, e *Engine) { x.Reset(30); x.Reset(10) }, "[10/7/9]"},
		{"stopped", func(x *Timer, e *Engine) { x.Reset(10); x.Stop() }, "[]"},
		{"stop and start", func(x *Timer, e *Engine) { x.Reset(10); x.Stop(); x.Reset(20) }, "[20/7/9]"},
		{"twice", func(x *Timer, e *Engine) { x.Reset(10); e.RunUntil(15); x.Reset(20) }, "[10/7/9 20/7/9]"},
		{"earlier then later", func(x *Timer, e *Engine) { x.Reset(30); x.Reset(10); x.Reset(30) }, "[30/7/9]"},
	} {
		e := NewEngine(1)
		r := &recorder{}
		var x Timer
		x.Init(e.NewProc(), r, 7, 9)
		c.do(&x, e)
		e.RunUntil(100)
		if got := fmt.Sprint(r.got); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if x.Armed() {
			t.Errorf("%s: still armed", c.name)
		}
	}
}

func TestRandStreamsAreReproducible(t *testing.T) {
	draw := func(seed uint64) [4]uint64 {
		e := NewEngine(seed)
		a, b := e.NewProc(), e.NewProc()
		x, y := a.NewRand(1), b.NewRand(1)
		return [4]uint64{x.Uint64(), x.Uint64(), y.Uint64(), a.NewRand(2).Uint64()}
	}
	if draw(5) != draw(5) {
		t.Error("same seed, different streams")
	}
	if draw(5) == draw(6) {
		t.Error("different seeds, same streams")
	}
	d := draw(5)
	if d[0] == d[2] || d[0] == d[3] {
		t.Error("streams of different processes or purposes coincide")
	}
}

type again struct{ p *Proc }

func (a *again) HandleEvent(now Time, op uint32, arg uint64) { a.p.At(now+100, a, op, arg) }

func TestSchedulingAllocatesNothing(t *testing.T) {
	e := NewEngine(1)
	for i := range 100 {
		a := &again{p: e.NewProc()}
		a.p.At(Time(i), a, 0, 0)
	}
	e.RunUntil(10_000)
	end := e.Now()
	if n := testing.AllocsPerRun(100, func() { end += 1000; e.RunUntil(end) }); n != 0 {
		t.Errorf("%v allocations per 1000 events, want 0", n)
	}
}

func BenchmarkPushPop(b *testing.B) {
	e := NewEngine(1)
	for i := range 1000 {
		a := &again{p: e.NewProc()}
		a.p.At(Time(i), a, 0, 0)
	}
	for b.Loop() {
		e.RunSome(Forever-1, 1)
	}
}
