package rtu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"cnuas/internal/sim"
)

// No slave takes another's reply for a request: replies that hold a whole
// request to this slave, CRC included, damaged in every way, with pauses inside.
func TestForeignReplies(t *testing.T) {
	const me, other = 0x91, 0x90
	rnd := rand.New(rand.NewPCG(1, 2))
	inners := [][]byte{adu("91 06 00 10 00 01"), adu("91 03 00 10 00 01"), adu("91 10 00 10 00 01 02 00 01"), adu("00 06 00 10 00 01"), adu("91 41")}
	replies, requests, noises := 0, 0, 0
	for trial := range 40000 {
		inner := inners[rnd.IntN(len(inners))]
		before, after := rnd.IntN(12), rnd.IntN(12)
		if (before+after+len(inner))%2 == 1 {
			after++
		}
		data := slices.Concat(make([]byte, before), inner, make([]byte, after))
		for i := range before {
			data[i] = byte(rnd.Uint32())
		}
		for i := range after {
			// A zero behind a frame makes a longer frame with a right CRC.
			data[before+len(inner)+i] = byte(rnd.Uint32()) | 1
		}
		reply := AppendCRC(append([]byte{other, 3, byte(len(data))}, data...))
		first, last := 3+before, 3+before+len(inner) // of inner in reply
		c := chars(line, then(just(AppendRead(nil, other, 3, 0, uint16(len(data)/2))), sim.Time(5+rnd.IntN(20))*ms, reply))
		c0 := c[8:]
		outside := func() int { // a character that is not the request inside
			for {
				if i := rnd.IntN(len(reply)); i < first || i >= last {
					return i
				}
			}
		}
		hit, damage, dropped := outside(), rnd.IntN(5), 0
		switch damage {
		case 0: // none
		case 1: // a bit error that the CRC shows
			c0[hit].Byte ^= 1 << rnd.IntN(8)
		case 2: // one that parity shows too
			c0[hit].Byte ^= 1 << rnd.IntN(8)
			c0[hit].Err = ParityError
		case 3: // some characters dropped, of those before the request inside
			dropped = min(1+rnd.IntN(8), first)
			c = slices.Delete(c, 8+first-dropped, 8+first)
		case 4: // or of those behind it, but one
			if n := len(reply) - last - 1; n > 0 {
				c = c[:len(c)-rnd.IntN(n)-1]
			}
		}
		// A pause where the slave was slow; but what stands between two pauses
		// of the wire is a frame to everybody.
		if i := 8 + 1 + rnd.IntN(len(c)-9); rnd.IntN(2) == 0 && (dropped == 0 || i != 8+last-dropped) {
			for j := i; j < len(c); j++ {
				c[j].At += 6 * ms
			}
		}
		f := NewFramer(line, sim.Time(rnd.IntN(2))*30*ms)
		f.SetOwn(me, true)
		joint := rnd.IntN(2) == 0 // one framer for both slaves: it knows what the other sends
		f.SetOwn(other, joint)
		drive(f, c, rnd.IntN(2) == 0, func(fr *Frame) {
			switch fr.Kind {
			case Noise:
				noises++
			case Reply:
				replies++
			case Request:
				requests++
				if joint {
					f.Sent(reply)
				}
				if fr.ADU[0] != other {
					t.Errorf("trial %d, damage %d, tolerance %v, joint %v: % x taken for a request out of % x: %v", trial, damage, f.tolerance, joint, fr.ADU, reply, c0)
				}
			}
		})
		if t.Failed() {
			return
		}
	}
	if replies < 5000 || requests < 40000 || noises < 20000 {
		t.Errorf("%d requests, %d replies, %d noises: the trials do not try what they should", requests, replies, noises)
	}
}

// Every request is heard, once and in order: to absent slaves and to those that
// answer, whole or in pieces, with noise between them.
func TestAllRequestsHeard(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for trial := range 300 {
		tolerance := sim.Time(rnd.IntN(2)) * 50 * ms
		apart := tolerance + line.T35() + ms
		var in []burst
		var want []string
		for range 20 {
			addr := []uint8{0x90, 0x91, 0x92, 0}[rnd.IntN(4)]
			fc := []uint8{3, 4, 6, 5, 1}[rnd.IntN(5)]
			r := AppendRead(nil, addr, fc, uint16(rnd.IntN(65536)), uint16(rnd.IntN(120)+1))
			if rnd.IntN(4) == 0 {
				r = AppendWriteRegisters(nil, addr, uint16(rnd.IntN(65536)), make([]uint16, rnd.IntN(100)+1))
			}
			want = append(want, "request "+hex(r))
			gap := apart + sim.Time(rnd.IntN(30))*ms
			for len(r) > 0 {
				n := len(r)
				if tolerance > 0 && rnd.IntN(2) == 0 {
					n = 1 + rnd.IntN(len(r))
				}
				in = append(in, burst{gap, r[:n], 0})
				r, gap = r[n:], sim.Time(rnd.IntN(50))*ms
			}
			switch rnd.IntN(4) {
			case 0: // an exception, the only reply that fits every request
				if addr != 0 {
					in = append(in, burst{5 * ms, AppendCRC([]byte{addr, fc | 0x80, 2}), 0})
				}
			case 1:
				in = append(in, burst{apart, []byte{0, 0xFF, 0x90}[:1+rnd.IntN(3)], 0})
			case 2:
				in = append(in, burst{apart, make([]byte, 1+rnd.IntN(20)), FramingError})
			}
		}
		var got []string
		drive(NewFramer(line, tolerance), chars(line, in), rnd.IntN(2) == 0, func(f *Frame) {
			if f.Kind == Request {
				got = append(got, show(f))
			}
		})
		if !slices.Equal(got, want) {
			t.Logf("trial %d", trial)
			same(t, got, want)
			return
		}
	}
}
