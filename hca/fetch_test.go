package hca_test

import (
	"bytes"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
)

// counted counts the bytes that a program's memory was asked for.
type counted struct {
	hca.Memory
	gathered int
}

func (c *counted) Gather(dst []byte, src []hca.Segment) error {
	c.gathered += len(dst)
	return c.Memory.Gather(dst, src)
}

// TestSameBytesAreReadOnce: work requests that name the same bytes one after
// the other share one copy of them, and each receiver gets them all.
func TestSameBytesAreReadOnce(t *testing.T) {
	p := newPair(t, 1, nil, hca.Config{})
	ends := p.connect(connOpt{size: 64 << 10, depth: 32})
	a, b := ends[0], ends[1]
	mem := &counted{Memory: a.Program.Arena}
	hca.SwapMemory(a.Context, mem)
	for i := range a.buf.B {
		a.buf.B[i] = byte(i * 7)
	}
	const n, size = 16, 1000
	for i := range n {
		w := &ring.Send{ID: uint64(i), Opcode: ring.OpRDMAWrite, Flags: ring.FlagSignaled, SGEs: []ring.SGE{a.buf.SGE(100, size)},
			RemoteAddr: b.buf.Addr + uint64(i*size), RKey: b.buf.MR.RKey()}
		if i == 8 { // one in between that differs
			w.SGEs = []ring.SGE{a.buf.SGE(101, size)}
		}
		if err := a.qp.Post(w); err != nil {
			t.Fatal(err)
		}
	}
	a.qp.Doorbell()
	p.e.RunUntil(p.e.Now() + 1_000_000_000)
	for i := range n {
		want := a.buf.B[100 : 100+size]
		if i == 8 {
			want = a.buf.B[101 : 101+size]
		}
		if !bytes.Equal(b.buf.B[i*size:(i+1)*size], want) {
			t.Errorf("message %d arrived wrong", i)
		}
	}
	if mem.gathered != 3*size {
		t.Errorf("%d bytes were read for %d messages with three changes of buffer", mem.gathered, n)
	}
	if p.pool.LiveSlabs() > 2 {
		t.Errorf("%d slabs alive", p.pool.LiveSlabs())
	}
}
