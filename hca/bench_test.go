package hca_test

import (
	"fmt"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/verbs"
	"cnuas/internal/sim"
)

// noCopy is a memory whose copies cost nothing: what is left is the transport.
type noCopy struct{}

func (noCopy) Gather([]byte, []hca.Segment) error    { return nil }
func (noCopy) Scatter([]hca.Segment, [][]byte) error { return nil }

// stream keeps a queue full, as a bandwidth test does, and drives the engine
// like the real-time loop: sweep, run, commit.
type stream struct {
	p    *pair
	b    *hca.Batch
	x    [2]*end
	w    ring.Send
	n    int // posted
	done int
	wc   [16]ring.CQE
	sig  int
}

func newStream(t testing.TB, size int, op uint32, mem hca.Memory) *stream {
	b := hca.NewBatch()
	s := &stream{b: b, p: newPair(t, 1, b, hca.Config{}), sig: 16}
	s.x = s.p.connect(connOpt{path: verbs.Path{PSN: [2]uint32{0xfff000, 5}}, mem: mem})
	s.w = ring.Send{Opcode: op, RemoteAddr: s.x[1].buf.Addr, RKey: s.x[1].buf.MR.RKey(), SGEs: []ring.SGE{s.x[0].buf.SGE(0, size)}}
	return s
}

func (s *stream) round() {
	for {
		s.w.Flags = 0
		if s.n%s.sig == 0 {
			s.w.Flags = ring.FlagSignaled
		}
		if s.w.Opcode == ring.OpSend {
			s.x[1].qp.PostRecv(1, s.x[1].buf.SGE(0, int(s.w.SGEs[0].Len)))
		}
		if s.x[0].qp.Post(&s.w) != nil {
			break
		}
		s.n++
	}
	for _, d := range s.p.dev {
		d.Sweep()
	}
	s.p.run(20 * sim.Microsecond)
	s.b.Commit()
	for i := range s.x {
		for s.x[i].cq.Poll(s.wc[:]) > 0 {
			for _, c := range s.wc {
				if c.Status != 0 {
					panic(fmt.Sprintf("status %d", c.Status))
				}
			}
		}
	}
}

// BenchmarkPacket is the cost of one packet with its share of acknowledges:
// requester, two links' events, responder, completion, and the program's own
// posting and polling, but no copies.
func BenchmarkPacket(b *testing.B) { benchmarkPacket(b) }

// BenchmarkPacketIB is the same over InfiniBand, with a switch between the
// devices: two links more, and credits.
func BenchmarkPacketIB(b *testing.B) {
	overIB = true
	defer func() { overIB = false }()
	benchmarkPacket(b)
}

func benchmarkPacket(b *testing.B) {
	for _, c := range []struct {
		name string
		op   uint32
		size int
	}{
		{"write4K", ring.OpRDMAWrite, 4096}, {"write64K", ring.OpRDMAWrite, 65536}, {"write64", ring.OpRDMAWrite, 64},
		{"send4K", ring.OpSend, 4096}, {"read4K", ring.OpRDMARead, 4096}, {"read64K", ring.OpRDMARead, 65536},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := newStream(b, c.size, c.op, noCopy{})
			count := func() uint64 {
				x, y := s.p.dev[0].Counters(), s.p.dev[1].Counters()
				return x.TxRequests + y.TxResponses
			}
			for range 100 {
				s.round()
			}
			b.ReportAllocs()
			b.ResetTimer()
			start := count()
			for count()-start < uint64(b.N) {
				s.round()
			}
		})
	}
}
