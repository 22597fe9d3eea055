package hca_test

import (
	"math/bits"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/verbs"
	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/sim"
)

// port is the least NIC: a device behind a link port.
type port struct {
	*link.Port
	dev *hca.Device
	// rx, if not nil, may change or take (nil) what arrives.
	rx func(f *frame.Frame) *frame.Frame
}

func (p *port) Receive(_ int, f *frame.Frame) {
	if p.rx != nil {
		if f = p.rx(f); f == nil {
			return
		}
	}
	p.dev.Receive(f)
}

func (p *port) Dequeue(int) *frame.Frame {
	for m := p.dev.Ready(); m != 0; m &= m - 1 {
		if f := p.dev.Next(bits.TrailingZeros8(m)); f != nil {
			return f
		}
	}
	return nil
}

func (p *port) LinkChanged(_ int, up bool) { p.dev.LinkChanged(up) }

// pair is two devices on one link.
type pair struct {
	t    testing.TB
	e    *sim.Engine
	pool *frame.Pool
	port [2]*port
	dev  [2]*hca.Device
	net  *ibnet // InfiniBand
}

func v4gid(last byte) hca.GID {
	return hca.GID{10: 0xff, 11: 0xff, 12: 10, 13: 0, 14: 0, 15: last}
}

func llgid(last byte) hca.GID {
	return hca.GID{0: 0xfe, 1: 0x80, 8: 2, 11: 0xff, 12: 0xfe, 15: last}
}

// testDevice returns a device with GIDs, number n.
func testDevice(e *sim.Engine, pool *frame.Pool, b *hca.Batch, n byte, c hca.Config) *hca.Device {
	c.Name = "rxe0"
	c.MAC = [6]byte{2, 0, 0, 0, 0, n}
	c.KeySeed[0] = n
	for i := range c.Priority {
		c.Priority[i] = uint8(i >> 3)
	}
	d := hca.New(e, pool, b, c)
	d.SetGID(0, hca.GIDEntry{GID: llgid(n), Valid: true})
	d.SetGID(1, hca.GIDEntry{GID: v4gid(n), Valid: true})
	return d
}

func newPair(t testing.TB, seed uint64, b *hca.Batch, c hca.Config) *pair {
	if overIB {
		return newIBPair(t, seed, b, c)
	}
	p := &pair{t: t, e: sim.NewEngine(seed), pool: &frame.Pool{}}
	for i := range p.dev {
		d := testDevice(p.e, p.pool, b, byte(i+1), c)
		x := &port{dev: d}
		x.Port = link.NewPort(p.e, p.pool, x, 0, []string{"a", "b"}[i])
		d.SetKick(x.Kick)
		p.dev[i], p.port[i] = d, x
	}
	if err := link.Connect(p.port[0].Port, p.port[1].Port, link.Config{Rate: 100 * link.Gbps, Delay: 300 * sim.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	return p
}

// end is one end of a connection.
type end struct {
	*verbs.Program
	cq  *verbs.CQ
	qp  *verbs.QP
	buf *verbs.Buffer
}

type connOpt struct {
	path   verbs.Path
	size   int
	depth  int
	acc    [2]hca.Access // of the buffers
	sigAll bool
	mem    hca.Memory // in place of the arena
}

const allAccess = hca.AccessLocalWrite | hca.AccessRemoteWrite | hca.AccessRemoteRead | hca.AccessRemoteAtomic

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// connect makes a connection between the devices.
func (p *pair) connect(o connOpt) [2]*end {
	p.t.Helper()
	if o.size == 0 {
		o.size = 1 << 20
	}
	if o.depth == 0 {
		o.depth = 128
	}
	var ends [2]*end
	for i := range ends {
		x := &end{Program: must[*verbs.Program](p.t)(verbs.Open(p.dev[i], o.size+1<<16))}
		if o.mem != nil {
			x.Context.Close()
			x.Context = p.dev[i].Open(o.mem, nil)
			x.PD = must[*hca.PD](p.t)(x.Context.AllocPD())
		}
		x.cq = must[*verbs.CQ](p.t)(x.NewCQ(4*o.depth, nil))
		x.qp = must[*verbs.QP](p.t)(x.NewQP(x.cq, x.cq, hca.QPCap{MaxSendWR: uint32(o.depth), MaxRecvWR: uint32(o.depth), MaxSendSGE: 32, MaxRecvSGE: 32, MaxInline: 512}, o.sigAll))
		acc := o.acc[i]
		if acc == 0 {
			acc = allAccess
		}
		x.buf = must[*verbs.Buffer](p.t)(x.Buffer(o.size, acc))
		ends[i] = x
	}
	if err := verbs.Connect(ends[0].qp, ends[1].qp, o.path); err != nil {
		p.t.Fatal(err)
	}
	return ends
}

// vector is the address of a device.
func (p *pair) vector(i int) hca.AddressVector {
	if p.net != nil {
		return hca.AddressVector{DLID: p.dev[i].IB().LID()}
	}
	return hca.AddressVector{SGIDIndex: 1, DGID: p.dev[i].GIDs()[1].GID, DMAC: p.dev[i].Config().MAC}
}

// run lets the time pass.
func (p *pair) run(d sim.Time) { p.e.RunUntil(p.e.Now() + d) }

// poll takes every completion.
func (x *end) poll() (out []ring.CQE) {
	var wc [16]ring.CQE
	for n := x.cq.Poll(wc[:]); n > 0; n = x.cq.Poll(wc[:]) {
		out = append(out, wc[:n]...)
	}
	return out
}

// fill writes a pattern that depends on the position and on seed.
func fill(b []byte, seed uint32) {
	x := seed*2654435761 + 1
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
}

// settle runs until nothing moves and checks that no frame is left.
func (p *pair) drain() {
	p.t.Helper()
	for i := 0; p.e.Pending() > 0 && i < 1000; i++ {
		p.run(100 * sim.Millisecond)
	}
	for _, d := range p.dev {
		d.ReleaseSlab()
	}
	if n := p.pool.Live(); n != 0 {
		p.t.Errorf("%d frames are alive after the end", n)
	}
	if n := p.pool.LiveSlabs(); n != 0 {
		p.t.Errorf("%d slabs are alive after the end", n)
	}
	if p.net != nil {
		p.net.idle()
	}
}

type frameT = frame.Frame

func connectLoop(a, b *verbs.QP) error { return verbs.Connect(a, b, verbs.Path{}) }

func pathMTU(code uint8) verbs.Path { return verbs.Path{MTU: code} }

// writeOf is a signalled WRITE of n bytes from one end to the other.
func writeOf(x [2]*end, n int) ring.Send {
	return ring.Send{ID: 1, Opcode: ring.OpRDMAWrite, Flags: ring.FlagSignaled, RemoteAddr: x[1].buf.Addr, RKey: x[1].buf.MR.RKey(), SGEs: []ring.SGE{x[0].buf.SGE(0, n)}}
}
