package nic

import (
	"testing"

	"cnuas/internal/link"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// FuzzReceive gives the NIC arbitrary frames from the wire and from the kernel.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{}, false)
	f.Add(append(append(myMAC[:], peerMAC[:]...), 8, 0, 0x45), true)
	var p [wire.PFCLen]byte
	(&wire.PFC{Enable: 0xff, Time: [8]uint16{1, 2, 3}}).Encode(p[:], peerMAC)
	f.Add(p[:], false)
	b := newBench(f, Config{}, 10*link.Gbps)
	rxe, _ := congested(f, Congestion{CNPDSCP: 48, Interval: sim.Nanosecond, Flows: 3})
	rxe.p.see = nil
	for _, k := range []kernelPacket{{op: wire.RCSendOnly, tos: ce}, {op: wire.RCAcknowledge, pay: 4}, {op: wire.CNP, pay: 16}, {op: wire.RCReadRequest, v6: true, vid: 5, tos: ce}} {
		for _, k.in = range []bool{false, true} {
			g := k.build(rxe)
			f.Add(g.AppendTo(nil), !k.in)
			rxe.pool.Put(g)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, kernel bool) {
		if len(data) > 9216 {
			return
		}
		for _, b := range []*bench{b, rxe} {
			g := b.pool.Get()
			copy(g.Buf(len(data)), data)
			g.WireLen()
			if kernel {
				b.n.FromHost(g)
			} else {
				b.p.port.SendControl(g)
			}
			b.run(20 * sim.Microsecond)
			b.h.got, b.k.got = nil, nil
			if err := b.n.Conservation(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
