package switching

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// calls records what a Buffer asks for.
type calls struct{ log []string }

func (c *calls) Stop(port, prio int)   { c.log = append(c.log, fmt.Sprintf("stop %d/%d", port, prio)) }
func (c *calls) Resume(port, prio int) { c.log = append(c.log, fmt.Sprintf("go %d/%d", port, prio)) }
func (c *calls) take() string          { s := strings.Join(c.log, " "); c.log = nil; return s }

const lossy, safe = 0, 3

// small is a buffer for two ports: 1000 bytes to share, 300 of headroom for
// each port's priority 3.
func small(t *testing.T, c Class) (*Buffer, *calls) {
	var class [Priorities]Class
	for i := range class {
		class[i] = Class{Alpha: 1}
	}
	c.Lossless = true
	class[safe] = c
	h := make([][Priorities]int64, 2)
	h[0][safe], h[1][safe], h[0][lossy] = 300, 300, 999 // the last does not count
	fc := &calls{}
	b, err := NewBuffer(1600, class, h, fc)
	if err != nil {
		t.Fatal(err)
	}
	return b, fc
}

func TestBufferStatic(t *testing.T) {
	b, fc := small(t, Class{Xoff: 400, Xon: 200})
	if b.Shared() != 1000 {
		t.Fatalf("shared %d, want 1000", b.Shared())
	}
	for i, c := range []struct {
		do   string // + admit, - release
		size int32
		want string // calls; "!" a drop
		held string // shared headroom
	}{
		{"+", 200, "", "200 0"},
		{"+", 200, "", "400 0"},           // exactly Xoff
		{"+", 100, "stop 0/3", "400 100"}, // above it: headroom
		{"+", 200, "", "400 300"},         // headroom to the byte
		{"+", 1, "!", "400 300"},          // beyond
		{"-", 200, "", "400 100"},         // headroom is freed first
		{"-", 200, "", "300 0"},           // what is left of it, then shared
		{"+", 100, "", "400 0"},           // stopped senders' frames go to shared again
		{"-", 199, "", "201 0"},
		{"-", 1, "go 0/3", "200 0"}, // exactly Xon
		{"-", 200, "", "0 0"},
	} {
		if c.do == "-" {
			b.Release(0, safe, c.size)
		} else if r, ok := b.Admit(0, safe, c.size, 0); !ok {
			if r != DropHeadroomExceeded {
				t.Errorf("step %d: reason %v", i, r)
			}
			fc.log = append(fc.log, "!")
		}
		s, h := b.Held(0, safe)
		if got := fc.take(); got != c.want || fmt.Sprintf("%d %d", s, h) != c.held {
			t.Errorf("step %d: %q, held %d %d, want %q, %s", i, got, s, h, c.want, c.held)
		}
	}
	if held, head := b.Peaks(0, safe); held != 700 || head != 300 || b.Peak() != 700 || b.Occupancy() != 0 {
		t.Errorf("peaks %d %d %d, occupancy %d", held, head, b.Peak(), b.Occupancy())
	}
}

func TestBufferDynamic(t *testing.T) {
	b, fc := small(t, Class{Alpha: 1, XonOffset: 100})
	for range 5 { // T = 1000 - Q: 500 is reached when Q is 500
		if _, ok := b.Admit(0, safe, 100, 0); !ok {
			t.Fatal("dropped")
		}
	}
	if s, h := b.Held(0, safe); s != 500 || h != 0 || fc.take() != "" {
		t.Errorf("held %d %d at T %d", s, h, b.Threshold(safe))
	}
	b.Admit(0, safe, 100, 0)
	if s, h := b.Held(0, safe); s != 500 || h != 100 || fc.take() != "stop 0/3" {
		t.Errorf("held %d %d: the sixth frame is above the threshold", s, h)
	}
	b.Release(0, safe, 100)
	b.Release(0, safe, 50) // 450 held, T 550: not above 550-100
	if got := fc.take(); got != "go 0/3" {
		t.Errorf("calls %q", got)
	}
}

func TestBufferLossy(t *testing.T) {
	b, _ := small(t, Class{Xoff: 900, Xon: 1})
	b.class[lossy].Limit = 350
	for _, c := range []struct {
		size   int32
		queued int64
		want   string
	}{
		{100, 250, "ok"},          // the static limit to the byte
		{100, 251, "queue_limit"}, //
		{1001, 0, "buffer_full"},  // more than there is
		{400, 0, "queue_limit"},   // static
		{300, 0, "ok"},            // 400 used
		{100, 100, "ok"},          // 500 used
		{100, 200, "ok"},          // 600 used
		{200, 0, "ok"},            // 800 used
		{150, 51, "queue_limit"},  // alpha 1: 200 free
		{150, 50, "ok"},           //
		{51, 0, "buffer_full"},    // 50 free
		{50, 0, "ok"},             // full
	} {
		r, ok := b.Admit(1, lossy, c.size, c.queued)
		got := "ok"
		if !ok {
			got = r.String()
		}
		if got != c.want {
			t.Errorf("%d bytes into a queue of %d with %d free: %s, want %s", c.size, c.queued, b.shared-b.used, got, c.want)
		}
	}
	// A full shared buffer leaves lossless frames their headroom.
	if _, ok := b.Admit(0, safe, 300, 0); !ok {
		t.Error("the headroom was not kept free")
	}
	// Frames of the switch itself have no headroom.
	if r, ok := b.Admit(-1, safe, 60, 0); ok || r != DropBufferFull {
		t.Errorf("own frame: %v %v", r, ok)
	}
}

func TestBufferOwnFrames(t *testing.T) {
	b, fc := small(t, Class{Xoff: 100, Xon: 50})
	if _, ok := b.Admit(-1, safe, 500, 0); !ok || b.Occupancy() != 500 || fc.take() != "" {
		t.Error("the switch's own frame stops nobody")
	}
	b.Release(-1, safe, 500)
	if b.Occupancy() != 0 {
		t.Error("not released")
	}
}

func TestBufferNeverStopsAnEmptySender(t *testing.T) {
	b, fc := small(t, Class{Xoff: 10, Xon: 5})
	if _, ok := b.Admit(0, safe, 301, 0); ok || fc.take() != "" {
		t.Error("a sender that holds nothing was stopped: nothing would let it go on")
	}
}

func TestBufferTooSmall(t *testing.T) {
	var class [Priorities]Class
	class[safe].Lossless = true
	_, err := NewBuffer(600, class, [][Priorities]int64{{safe: 300}, {safe: 300}}, &calls{})
	if err == nil || !strings.Contains(err.Error(), "600") {
		t.Errorf("error %v", err)
	}
}

func TestReleasePanicsOnMoreThanHeld(t *testing.T) {
	b, _ := small(t, Class{Xoff: 10, Xon: 5})
	defer func() {
		if recover() == nil {
			t.Error("negative occupancy was accepted")
		}
	}()
	b.Release(0, lossy, 1)
}

// TestBufferAtRandom makes a million steps and checks what must always hold.
func TestBufferAtRandom(t *testing.T) {
	type held struct {
		port, prio int
		n          int32
	}
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 1))
		b, fc := small(t, Class{Alpha: 0.5, XonOffset: 50})
		var all []held
		stopped := map[[2]int]bool{}
		for range 250_000 {
			if len(all) == 0 || rng.IntN(2) == 0 {
				x := held{rng.IntN(3) - 1, []int{lossy, safe}[rng.IntN(2)], int32(1 + rng.IntN(120))}
				if _, ok := b.Admit(x.port, x.prio, x.n, 0); ok {
					all = append(all, x)
				}
			} else {
				i := rng.IntN(len(all))
				x := all[i]
				all[i] = all[len(all)-1]
				all = all[:len(all)-1]
				b.Release(x.port, x.prio, x.n)
			}
			for _, c := range fc.log {
				var p, q int
				stop := c[0] == 's'
				if stop {
					fmt.Sscanf(c, "stop %d/%d", &p, &q)
				} else {
					fmt.Sscanf(c, "go %d/%d", &p, &q)
				}
				if k := [2]int{p, q}; stopped[k] == stop || q != safe {
					t.Fatalf("%s although stopped is %v", c, stopped[k])
				} else {
					stopped[k] = stop
				}
			}
			fc.log = fc.log[:0]
			var sum int64
			for _, x := range all {
				sum += int64(x.n)
			}
			if sum != b.Occupancy() || b.used > b.shared || b.inHead > 600 {
				t.Fatalf("held %d, counted %d, used %d, headroom %d", sum, b.Occupancy(), b.used, b.inHead)
			}
		}
		for _, x := range all {
			b.Release(x.port, x.prio, x.n)
		}
		if b.Occupancy() != 0 || b.Stopped(0)|b.Stopped(1) != 0 {
			t.Errorf("drained: %d bytes, stopped %b %b", b.Occupancy(), b.Stopped(0), b.Stopped(1))
		}
	}
}

func TestDropReasons(t *testing.T) {
	seen := map[string]bool{}
	for r := range NumDropReasons {
		if s := r.String(); s == "" || seen[s] || strings.HasPrefix(s, "drop_") {
			t.Errorf("reason %d is called %q", r, s)
		} else {
			seen[s] = true
		}
	}
	if NumDropReasons.String() != "drop_17" {
		t.Errorf("%s", NumDropReasons)
	}
	n := 0
	for r := range NumDropReasons {
		if r.Congestion() {
			n++
		}
	}
	if n != 4 {
		t.Errorf("%d reasons of congestion, want 4", n)
	}
	var c PortCounters
	c.Drops[1][DropTTL], c.Drops[2][DropTTL], c.Drops[2][DropMTU] = 2, 3, 4
	if c.Dropped(DropTTL) != 5 || c.TotalDrops() != 9 {
		t.Errorf("sums %d %d", c.Dropped(DropTTL), c.TotalDrops())
	}
}
