package ib

import (
	"testing"

	"cnuas/internal/frame"
	"cnuas/internal/ibagent"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// settle lets everything end and checks what must hold whatever was sent.
func (n *managed) settle() {
	n.Helper()
	n.run(2 * sim.Millisecond) // a forwarding loop that was set up turns all that time
	for _, s := range n.sw {
		if err := s.Conservation(); err != nil {
			n.Error(err)
		}
	}
	// Packets may wait for ever for a port that was given a wrong number of
	// credits; a cable that is pulled ends that.
	for _, s := range n.sw {
		for i := 1; i <= s.NumPorts(); i++ {
			if l := s.Port(i).Link(); l.Peer() != nil {
				l.SetUp(false)
			}
		}
	}
	n.run(400000 * sim.Second) // 16 times the longest subnet timeout, for traps
	if l := n.pool.Live(); l != 0 {
		n.Errorf("%d frames are alive at the end", l)
	}
}

// FuzzPackets sends any bytes at a switch as packets, credits or not.
func FuzzPackets(f *testing.F) {
	f.Add([]byte{0x00, 0x02, 0, 2, 0, 7, 0, 1, 4, 0, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, uint8(0), uint8(3))
	f.Add([]byte{0x0f, 0xff, 0, 0, 0, 0}, uint8(1), uint8(9))
	f.Add([]byte{}, uint8(0), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, kind, times uint8) {
		n := newManaged(t)
		n.bringUp()
		for range int(times%16) + 1 {
			x := n.pool.Get()
			copy(x.Buf(min(len(b), 5000)), b)
			x.WireLenIB()
			switch {
			case kind&1 != 0: // a flow control packet
				var fc [wire.FlowLen]byte
				copy(fc[:], b)
				copy(x.Buf(wire.FlowLen), fc[:])
				x.Len, x.Meta.IB.Flags = wire.FlowLen, frame.IBLink
			case kind&2 != 0 && len(x.Data) >= wire.LRHLen && len(x.Data)%4 == 0: // of the right length
				wire.LRH(x.Data).SetPktLen(len(x.Data) / 4)
			}
			n.ca[0].P.Link().SendControl(x)
			k := packetTo(1, 2)
			n.ca[0].SendLID(1, k.Make(n.pool))
		}
		n.settle()
	})
}

// FuzzMADs sends any MAD, to QP0 and QP1, to a switch and an adapter.
func FuzzMADs(f *testing.F) {
	for i, m := range capturedMADs(f, "opensm_bringup_ft2x2x8.pcap") {
		if i%20 == 0 {
			f.Add([]byte(m), uint8(i), uint16(102))
		}
	}
	for _, id := range []mad.AttrID{mad.AttrPortCounters, mad.AttrPortVLOpPackets} {
		m := make(mad.Packet, mad.PacketLen)
		(&mad.Header{Class: mad.ClassPerf, Method: set, Attr: id}).Encode(m)
		m.Data()[1] = 0xff
		f.Add([]byte(m), uint8(1), uint16(101))
	}
	f.Fuzz(func(t *testing.T, b []byte, kind uint8, lid uint16) {
		n := newManaged(t)
		n.bringUp()
		for range int(kind%4) + 1 {
			x, m := ibagent.NewMAD(n.pool, kind&16 == 0)
			copy(m, b)
			from, to := wire.LID(1), wire.LID(lid)
			if kind&32 != 0 {
				from, to = wire.LIDPermissive, wire.LIDPermissive
			}
			ibagent.Address(x, from, to, kind>>4)
			if kind&64 != 0 {
				n.ca[0].Agent.Send(1, x)
			} else {
				n.ca[0].SendLID(1, x)
			}
			n.run(20 * sim.Microsecond)
		}
		n.settle()
	})
}
