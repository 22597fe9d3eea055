//go:build conformance

package conformance

import (
	"testing"
	"time"

	"cnuas/modbus/rtu"
)

// TestWrongLineIsNoise: what a client sends at another setting than a slave's
// is silence to the client, an error in the counters of the slave, and nothing
// that lasts.
func TestWrongLineIsNoise(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for _, l := range []rtu.Line{
		{Baud: 19200, Data: 8, Parity: rtu.Odd, Stop: 1},
		{Baud: 19200, Data: 8, Parity: rtu.None, Stop: 1},
		{Baud: 9600, Data: 8, Parity: rtu.Even, Stop: 1},
		{Baud: 38400, Data: 8, Parity: rtu.Even, Stop: 1},
		{Baud: 57600, Data: 8, Parity: rtu.None, Stop: 2},
	} {
		before := g.counters(10)
		r := openRaw(t, g.TTY("bus0"), l)
		r.write(readOne)
		after := before
		for end := time.Now().Add(5 * time.Second); after.CRCErrors == before.CRCErrors && time.Now().Before(end); after = g.counters(10) {
			time.Sleep(5 * time.Millisecond)
		}
		if got := r.collect(1, 50*time.Millisecond); len(got) > 0 {
			t.Errorf("at %v: % x", l, got)
		}
		r.p.Close()
		if after.CRCErrors == before.CRCErrors || after.Served != before.Served {
			t.Errorf("at %v: %+v, before %+v: want an error and nothing served", l, after, before)
		}
		r = openRaw(t, g.TTY("bus0"), slow)
		if got := r.exchange(readOne, 7); got != oneReply {
			t.Errorf("after %v: %s", l, got)
		}
		r.p.Close()
	}
}
