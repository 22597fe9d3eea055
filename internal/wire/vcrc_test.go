package wire

import (
	"math/rand/v2"
	"testing"
)

// The fast VCRC is that of one byte after the other, whatever the length.
func TestVCRCSlicing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 100)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	for n := range b {
		c := ^uint16(0)
		for _, x := range b[:n] {
			c = vcrcTable[byte(c)^x] ^ c>>8
		}
		if got := VCRC(b[:n]); got != ^c {
			t.Errorf("%d bytes: %#x, want %#x", n, got, ^c)
		}
	}
}
