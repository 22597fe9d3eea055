package hca_test

import (
	"encoding/binary"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// FuzzReceiveIB is FuzzReceive over InfiniBand, for every service: a port gets
// an arbitrary packet, once as it is, and once behind headers that are right.
func FuzzReceiveIB(f *testing.F) {
	const (
		global = 1 << iota
		deferred
		sealedICRC
		group
		apart // the payload is not in one piece with the headers
	)
	f.Add([]byte{}, byte(0), byte(0), uint32(200), uint16(0xffff), uint32(0))
	f.Add(make([]byte, 100), byte(0), byte(wire.RCWriteFirst), uint32(200), uint16(0xffff), uint32(deferred))
	f.Add(make([]byte, 28), byte(0), byte(wire.RCCompareSwap), uint32(200), uint16(0xffff), uint32(sealedICRC|global))
	f.Add(make([]byte, 16), byte(0), byte(wire.RCReadRequest), uint32(199), uint16(0xffff), uint32(sealedICRC))
	f.Add(make([]byte, 4), byte(0), byte(wire.RCAcknowledge), uint32(100), uint16(0xffff), uint32(sealedICRC))
	f.Add(make([]byte, 300), byte(0), byte(wire.RCReadRespFirst), uint32(101), uint16(0xffff), uint32(deferred|apart))
	f.Add(make([]byte, 100), byte(1), byte(wire.UDSendOnly), uint32(0), uint16(0xffff), uint32(deferred|group|global))
	f.Add(make([]byte, 264), byte(1), byte(wire.UDSendOnly), uint32(0), uint16(1), uint32(deferred|apart))
	f.Add(make([]byte, 264), byte(3), byte(wire.UDSendOnly), uint32(0), uint16(0xffff), uint32(deferred|apart))
	f.Add(make([]byte, 264), byte(4), byte(wire.UDSendOnly), uint32(0), uint16(0xffff), uint32(sealedICRC))
	f.Add(make([]byte, 256), byte(2), byte(wire.UCSendFirst), uint32(200), uint16(0xffff), uint32(sealedICRC))
	f.Fuzz(func(t *testing.T, b []byte, to, op byte, psn uint32, pkey uint16, flags uint32) {
		if len(b) > 4096 {
			b = b[:4096]
		}
		typ := []hca.QPType{hca.RC, hca.UD, hca.UC, hca.UD, hca.UD}[to%5]
		p := nativePeer(t, typ, nil)
		var box madBox
		p.dev.SetMADSink(&box)
		port := p.ib.ca.Port(1)
		p.recv(1, 0, 100)
		p.recv(2, 4096, 1000)
		dst := p.qp.Num()
		switch {
		case to%5 >= 3:
			dst = uint32(to%5) - 3
		case typ == hca.UD && flags&group != 0:
			if err := p.qp.Attach(mgid, mlid); err != nil {
				t.Fatal(err)
			}
			dst = 0xffffff
		case typ == hca.RC:
			p.read(1, 600)
			p.write(2, 600, ring.FlagSignaled)
		}
		p.advance(2 * sim.Microsecond)
		give := func(b, pay []byte, pad int, deferred bool) {
			x := p.pool.Get()
			copy(x.Buf(len(b)), b)
			x.Pay = pay
			x.Meta.ICRCDeferred, x.Meta.Pad = deferred, uint8(pad)
			x.WireLenIB()
			port.Receive(0, x)
			p.advance(2 * sim.Microsecond)
		}
		give(b, nil, 0, false)
		give(b, nil, 0, true)
		pad := -len(b) & 3
		h := wire.LRHFields{LNH: wire.LNHBTH, SLID: 9, DLID: 1}
		if dst == 0 {
			h.VL = 15
		}
		whole := make([]byte, 8, 4400)
		if flags&global != 0 {
			h.LNH = wire.LNHGRH
			whole = whole[:48]
			g := wire.GRHFields{PayLen: 12 + len(b) + pad + 4, NxtHdr: wire.NextHeaderIBA, SGID: wire.MakeGID(wire.DefaultGIDPrefix, 0x900), DGID: wire.MakeGID(wire.DefaultGIDPrefix, 0x101)}
			if dst == 0xffffff {
				g.DGID = wire.GID(mgid)
			}
			g.Encode(whole[8:])
		}
		if dst == 0xffffff {
			h.DLID = mlid
		}
		h.PktLen = (len(whole) + 12 + len(b) + pad + 4) / 4
		h.Encode(whole)
		at := len(whole)
		whole = whole[:at+12]
		k := wire.BTHFields{Opcode: wire.Opcode(op), Pad: uint8(pad), PKey: pkey, DestQP: dst, AckReq: psn&1 != 0, PSN: psn & 0xffffff}
		k.Encode(whole[at:])
		switch {
		case flags&deferred != 0 && flags&apart != 0:
			n := min(wire.Opcode(op).HeaderLen(), 12+len(b))
			whole = append(whole, b[:max(n-12, 0)]...)
			give(whole, b[max(n-12, 0):], pad, true)
		case flags&deferred != 0:
			give(append(whole, b...), nil, pad, true)
		default:
			whole = append(append(whole, b...), make([]byte, pad)...)
			crc := uint32(0)
			if flags&sealedICRC != 0 {
				crc = wire.ICRCNative(whole)
			}
			give(binary.LittleEndian.AppendUint32(whole, crc), nil, 0, false)
		}
		if out := p.out(); out != "" && typ != hca.RC && dst > 1 {
			t.Errorf("an unreliable queue pair answers: %s", out)
		}
		for vl := range uint8(port.VLs()) {
			if held, _ := port.Held(vl); held != 0 {
				t.Errorf("the port holds %d blocks of VL %d", held, vl)
			}
		}
		p.Context.Close()
		p.advance(sim.Second)
		p.dev.ReleaseSlab()
		if p.pool.Live() != 0 || p.pool.LiveSlabs() != 0 {
			t.Errorf("%d frames and %d slabs alive", p.pool.Live(), p.pool.LiveSlabs())
		}
	})
}

// TestIBStagedDropped: the packet that waited for credits when the port went
// down is dropped, counted, and sent again when the port is back.
func TestIBStagedDropped(t *testing.T) {
	p := nativePeer(t, hca.RC, nil)
	port := p.ib.ca.Port(1)
	held := p.ib.end
	held.Hook, held.Service = nil, sim.Millisecond
	p.write(1, 40000, 0)
	p.write(1, 40000, ring.FlagSignaled) // 314 packets; the peer has room for 200
	p.advance(50 * sim.Microsecond)
	sent := port.Counters().XmitPkts
	if c := port.Credits(0); c >= 5 || sent >= 314 {
		t.Fatalf("%d packets were sent, %d credits left", sent, c)
	}
	port.Link().SetUp(false)
	if c := port.Counters(); c.XmitDiscards != 1 {
		t.Errorf("%d discarded", c.XmitDiscards)
	}
	if c := p.dev.Counters(); c.TxLinkDown == 0 || c.TxFrames < sent+c.TxLinkDown {
		t.Errorf("%+v after %d", c, sent)
	}
	p.Context.Close()
	p.advance(sim.Second)
	p.dev.ReleaseSlab()
	if p.pool.Live() != 0 || p.pool.LiveSlabs() != 0 {
		t.Errorf("%d frames and %d slabs alive", p.pool.Live(), p.pool.LiveSlabs())
	}
}

// TestIBRelist: what waits moves when the lanes change: queue pairs, the packet
// at the head, datagrams of the kernel and MADs.
func TestIBRelist(t *testing.T) {
	p := nativePeer(t, hca.RC, func(a *hca.QPAttr) { a.AV.SL = 1 })
	port := p.ib.ca.Port(1)
	p.ib.end.Hook = nil
	p.ib.end.Keep = true
	p.ib.end.Service = 100 * sim.Microsecond // VL 1 is without credits for long
	for range 24 {
		p.write(1, 4096, 0)
	}
	q := must[*hca.DatagramQP](t)(p.dev.OpenDatagram(1, func(*hca.Datagram) {}))
	p.advance(20 * sim.Microsecond)
	sent := len(p.ib.end.Log)
	for range 3 {
		if err := q.Send(&hca.Datagram{Addr: hca.MADAddress{QPN: 5, LID: 9, SL: 1}, Data: bytesOf(4096, 1)}); err != nil {
			t.Fatal(err)
		}
		if err := p.dev.SendMAD(1, &hca.MADAddress{QPN: 1, LID: 9, SL: 1}, gmp(mad.MethodSend, 1)); err != nil {
			t.Fatal(err)
		}
	}
	p.advance(sim.Microsecond)
	var m mad.SLtoVL
	port.SL2VL(0, &m)
	m.VL[1] = 2
	port.SetSL2VL(0, &m)
	p.advance(sim.Microsecond)
	before := port.Counters()
	p.advance(50 * sim.Millisecond)
	after := port.Counters()
	if n := after.LanePkts[1] - before.LanePkts[1]; n != 0 || after.LanePkts[2] < 6 {
		t.Errorf("%d packets more on the old lane, %d on the new one; %d were sent before", n, after.LanePkts[2], sent)
	}
	q.Close()
	p.Context.Close()
	p.advance(sim.Second)
	p.dev.ReleaseSlab()
	if p.pool.Live() != 0 || p.pool.LiveSlabs() != 0 {
		t.Errorf("%d frames and %d slabs alive", p.pool.Live(), p.pool.LiveSlabs())
	}
}
