package uverbs

import (
	"math/rand/v2"
	"testing"

	"cnuas/hca/uverbs/memfile"
)

// FuzzIoctl gives the handler arbitrary bytes as a program's memory.
func FuzzIoctl(f *testing.F) {
	p := &fakeProgram{mem: make([]byte, 1<<14)}
	for i := range methods {
		p.request(methods[i].object, methods[i].id, valid(&methods[i])...)
		f.Add(append([]byte(nil), p.mem[:512]...))
	}
	r := newRig(f, Limits{Objects: 64, Channels: 8, RingBytes: 1 << 22})
	f.Fuzz(func(t *testing.T, mem []byte) {
		c := r.open(t)
		defer c.close()
		p := &fakeProgram{mem: append(append([]byte(nil), mem...), make([]byte, 1<<14)...)}
		defer p.close()
		for range 3 {
			_ = c.do(p, base)
			r.srv.do(func() { r.srv.Sweep() })
		}
	})
}

// TestHostileProgram sends many random commands, mostly well formed, with
// handles that exist or not, scribbles over its queues between them and rings.
// Another program's objects stay as they are, and nothing is left at the end.
func TestHostileProgram(t *testing.T) {
	r := newRig(t, Limits{Objects: 300, Channels: 20, RingBytes: 1 << 24})
	victim := r.open(t)
	vp := &fakeProgram{mem: make([]byte, 1<<16)}
	defer vp.close()
	cq := func() error {
		return victim.do(vp, vp.request(kindCQ, 0, attr{id: 0}, attr{id: 1, len: 4, data: 10}, attr{id: 2, len: 8, data: 1},
			attr{id: 4, len: 4}, attr{id: 6, len: 4, data: base + 8192}))
	}
	if err := cq(); err != nil {
		t.Fatal(err)
	}
	n := 40000
	if testing.Short() {
		n = 4000
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 4 {
		hostile(t, r, rnd, n/4)
	}
	if len(victim.objects) != 1 {
		t.Errorf("the other program has %d objects", len(victim.objects))
	}
	if err := cq(); err != nil {
		t.Errorf("the other program's next command: %v", err)
	}
	victim.close()
	if n := r.dev.QPs(); n != 0 {
		t.Errorf("%d queue pairs are left", n)
	}
	if n := r.pool.Live(); n != 0 {
		t.Errorf("%d frames are left", n)
	}
}

func hostile(t *testing.T, r *rig, rnd *rand.Rand, n int) {
	c := r.open(t)
	defer c.close()
	p := &fakeProgram{mem: make([]byte, 1<<16)}
	defer p.close()
	done := 0
	for range n {
		m := &methods[rnd.IntN(len(methods))]
		attrs := valid(m)
		for i := range attrs {
			spoil(rnd, m.spec(attrs[i].id), &attrs[i], c, p)
		}
		for _, s := range m.attrs {
			if s.optional && rnd.IntN(2) == 0 {
				a := attr{id: s.id}
				switch s.kind {
				case attrIn, attrOut:
					a.len, a.data = int(s.max), base+12288
				case attrConst:
					a.len = 8
				}
				spoil(rnd, &s, &a, c, p)
				attrs = append(attrs, a)
			}
		}
		body(rnd, p.mem[4096:])
		p.noWrite = rnd.IntN(20) == 0
		if c.do(p, p.request(m.object, m.id, attrs...)) == nil {
			done++
		}
		if rnd.IntN(4) == 0 {
			r.srv.do(func() { scribble(rnd, c); r.srv.Sweep(); r.eng.RunUntil(r.eng.Now() + 1e6) })
		}
	}
	if done < n/50 {
		t.Errorf("only %d of %d commands succeeded: they test nothing", done, n)
	}
}

// spoil sets an attribute's number to something interesting.
func spoil(rnd *rand.Rand, s *attrSpec, a *attr, c *context, p *fakeProgram) {
	switch s.kind {
	case attrObject:
		a.data = uint64(rnd.IntN(int(c.handle) + 3))
		for h, o := range c.objects { // mostly one that exists
			if o.kind == s.object && rnd.IntN(3) > 0 {
				a.data = uint64(h)
				break
			}
		}
	case attrConst:
		a.data = []uint64{0, 1, 2, 3, 4, 5, 9, 0xb, 0x11, 0x13, 0x17, 0x19, 0x1a, 0x1e, 0x1f, 0x21, 0x22, 0x80000001, rnd.Uint64()}[rnd.IntN(19)]
	case attrIn:
		if s.max <= 8 {
			a.data = uint64(rnd.IntN(40))
			if rnd.IntN(8) == 0 {
				a.data = rnd.Uint64()
			}
		}
	case attrFD:
		if len(p.fds) > 0 {
			a.data = uint64(p.fds[rnd.IntN(len(p.fds))])
		}
	}
	if rnd.IntN(40) == 0 {
		a.len = rnd.IntN(1 << 16)
	}
	if rnd.IntN(40) == 0 {
		a.data = rnd.Uint64()
	}
}

// body fills the bytes that attributes point to with small words, which are
// handles, sizes and masks, and a few large ones.
func body(rnd *rand.Rand, b []byte) {
	for i := 0; i < 256; i += 4 {
		v := uint32(rnd.IntN(64))
		if rnd.IntN(16) == 0 {
			v = rnd.Uint32()
		}
		le.PutUint32(b[i:], v)
	}
	if rnd.IntN(3) == 0 { // an address that can be reached, for AHs and groups
		for _, at := range []int{0, 24} {
			copy(b[at:], []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, byte(10 + 229*rnd.IntN(2)), 0, 0, byte(rnd.IntN(3))})
		}
		b[44], b[53], b[54] = 1, 1, 1
	}
}

// scribble writes into the program's queues, indexes included.
func scribble(rnd *rand.Rand, c *context) {
	for _, o := range c.objects {
		for _, q := range []*queue{o.sq, o.rq} {
			if q == nil || rnd.IntN(2) == 0 {
				continue
			}
			for range 8 {
				q.mem[rnd.IntN(len(q.mem))] = byte(rnd.Uint32())
			}
			le.PutUint32(q.mem[128:], rnd.Uint32())
			if rnd.IntN(4) == 0 {
				le.PutUint32(q.mem[256:], rnd.Uint32())
			}
		}
	}
	if rnd.IntN(8) == 0 {
		c.file.dirMem[rnd.IntN(memfile.DirectorySize)] = byte(rnd.Uint32())
	}
}
