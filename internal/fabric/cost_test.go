package fabric

import (
	"testing"

	"cnuas/hca/ring"
	"cnuas/internal/sim"
	"cnuas/internal/topology"
)

// BenchmarkPacket is what a packet of 4 KiB costs the engine over one switch, on
// either fabric, copies included: requester, two links, switch and responder.
func BenchmarkPacket(b *testing.B) {
	for _, kind := range []string{"roce", "ib"} {
		b.Run(kind, func(b *testing.B) {
			const n, size = 8, 65536
			w := &world{t: &testing.T{}}
			s, err := topology.Load("../../scripts/bench/ib-roce.toml")
			if err != nil {
				b.Fatal(err)
			}
			if w.f, err = Build(s, Options{}); err != nil {
				b.Fatal(err)
			}
			w.announce()
			w.f.Engine.RunUntil(2 * sim.Second) // the subnet is up
			var fl *flow
			if kind == "ib" {
				fl = w.addIB("i1", "i2", n, size, 0)
			} else {
				fl = w.add("h1", "h2", n, size)
			}
			w.start()
			fired := w.f.Engine.Fired()
			b.ResetTimer()
			packets := 0
			for packets < b.N {
				for fl.done < n {
					w.f.Engine.RunUntil(w.f.Engine.Now() + 10*sim.Microsecond)
				}
				if fl.status.Status != 0 {
					b.Fatalf("status %d", fl.status.Status)
				}
				packets += n * size / 4096
				fl.done = 0
				for i := range n {
					err := fl.qp.Post(&ring.Send{ID: uint64(i), Opcode: ring.OpRDMAWrite, Flags: ring.FlagSignaled,
						SGEs: []ring.SGE{fl.src.SGE(i*size, size)}, RemoteAddr: fl.dst.Addr + uint64(i*size), RKey: fl.dst.MR.RKey()})
					if err != nil {
						b.Fatal(err)
					}
				}
				fl.qp.Doorbell()
			}
			b.ReportMetric(float64(w.f.Engine.Fired()-fired)/float64(packets), "events/op")
		})
	}
}
