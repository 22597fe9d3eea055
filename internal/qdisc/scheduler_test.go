package qdisc

import "testing"

func share(s *Scheduler, ready uint8, size [8]int, rounds int) (got [8]int) {
	for range rounds {
		i := s.Pick(ready)
		s.Charge(i, size[i])
		got[i] += size[i]
	}
	return
}

func TestShares(t *testing.T) {
	big := [8]int{4200, 4200, 4200, 4200, 4200, 4200, 4200, 4200}
	for _, c := range []struct {
		name  string
		cfg   Config
		ready uint8
		size  [8]int
		want  [8]float64
	}{
		{"equal", Config{}, 0b1001, big, [8]float64{0: .5, 3: .5}},
		{"equal bytes although sizes differ", Config{}, 0b1001, [8]int{0: 100, 3: 4200}, [8]float64{0: .5, 3: .5}},
		{"one to three", Config{Weight: [8]uint16{0: 1, 3: 3}}, 0b1001, big, [8]float64{0: .25, 3: .75}},
		{"strict starves", Config{Strict: 1 << 6}, 0b1001001, big, [8]float64{6: 1}},
		{"highest strict first", Config{Strict: 0xff}, 0b1001, big, [8]float64{3: 1}},
		{"strict idle", Config{Strict: 1 << 6}, 0b1001, big, [8]float64{0: .5, 3: .5}},
		{"alone", Config{}, 0b1, big, [8]float64{0: 1}},
	} {
		var s Scheduler
		s.Init(c.cfg)
		got := share(&s, c.ready, c.size, 20000)
		sum := 0
		for _, n := range got {
			sum += n
		}
		for i, w := range c.want {
			if f := float64(got[i]) / float64(sum); f < w-.02 || f > w+.02 {
				t.Errorf("%s: priority %d has share %.3f, want %.2f", c.name, i, f, w)
			}
		}
	}
}

func TestAloneThenTogether(t *testing.T) {
	var s Scheduler
	s.Init(Config{})
	size := [8]int{4200, 0, 0, 4200}
	share(&s, 0b0001, size, 10000)
	got := share(&s, 0b1001, size, 100)
	if got[0] < 45*4200 || got[0] > 55*4200 {
		t.Errorf("priority 0 sent %d of 100 frames after it had been alone", got[0]/4200)
	}
}

func TestEmpty(t *testing.T) {
	var s Scheduler
	s.Init(Config{})
	if s.Pick(0) != -1 {
		t.Error("picked from nothing")
	}
}
