package hca_test

import (
	"fmt"
	"testing"

	"cnuas/hca"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// slow is a reaction point that lets one packet go in 10 us.
type slow struct{ cnps int }

func (s *slow) Notified(sim.Time)                 { s.cnps++ }
func (s *slow) Sent(now sim.Time, _ int) sim.Time { return now + 10*sim.Microsecond }

// TestReactionPoint: it hears of CNPs and spaces the packets of its queue
// pair; acknowledges do not wait.
func TestReactionPoint(t *testing.T) {
	p := newPair(t, 1, nil, hca.Config{})
	x := p.connect(connOpt{path: pathMTU(1)})
	r := &slow{}
	x[0].qp.SetReactionPoint(r)
	var at []sim.Time
	p.port[1].rx = func(f *frameT) *frameT {
		if wire.BTH(f.Data[42:]).Opcode() <= wire.RCWriteOnlyImm {
			at = append(at, p.e.Now())
		}
		return f
	}
	w := writeOf(x, 1000)
	if err := x[0].qp.PostSend(&w); err != nil {
		t.Fatal(err)
	}
	p.run(sim.Millisecond)
	if len(at) != 4 {
		t.Fatalf("%d packets", len(at))
	}
	for i := 1; i < len(at); i++ {
		if d := at[i] - at[i-1]; d < 9900*sim.Nanosecond || d > 10100*sim.Nanosecond {
			t.Errorf("packets %v apart", d)
		}
	}
	if c := x[0].poll(); len(c) != 1 || c[0].Status != 0 {
		t.Errorf("completions %s", fmt.Sprint(c))
	}
	p.drain()
}
