package cm_test

import (
	"net/netip"
	"testing"

	"cnuas/hca"
	"cnuas/hca/cm"
	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
)

func TestIPHeader(t *testing.T) {
	var b [cm.IPHeaderLen]byte
	h := cm.IPHeader{Port: 0x1234, Src: netip.MustParseAddr("10.0.0.2"), Dst: netip.MustParseAddr("10.0.0.1")}
	h.Encode(b[:])
	want := [cm.IPHeaderLen]byte{1: 0x40, 2: 0x12, 3: 0x34, 16: 10, 19: 2, 32: 10, 35: 1}
	if b != want {
		t.Errorf("%x, want %x", b, want)
	}
	var g cm.IPHeader
	if !g.Decode(b[:]) || g != h {
		t.Errorf("%+v", g)
	}
	h = cm.IPHeader{Port: 7, Src: netip.MustParseAddr("fd00::2"), Dst: netip.MustParseAddr("fe80::1")}
	h.Encode(b[:])
	if b[1] != 0x60 || b[4] != 0xfd || b[20] != 0xfe || !g.Decode(b[:]) || g != h {
		t.Errorf("%x %+v", b, g)
	}
	for _, bad := range [][]byte{nil, b[:35], append([]byte{1}, b[1:]...), append([]byte{0, 0x50}, b[2:]...), append([]byte{0, 0x60, 0, 0, 0xff}, b[5:]...)} {
		if g.Decode(bad) {
			t.Errorf("%x decoded", bad)
		}
	}
	if s := cm.ServiceID(cm.PortSpaceTCP, 18515); s != 0x0000000001064853 {
		t.Errorf("service ID %#x", s)
	}
	if s, p, ok := cm.SplitServiceID(0x1064853); s != cm.PortSpaceTCP || p != 18515 || !ok {
		t.Error(s, p, ok)
	}
}

func FuzzIPHeader(f *testing.F) {
	f.Add([]byte{1: 0x40, 35: 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		var h, g cm.IPHeader
		if !h.Decode(b) {
			return
		}
		var c [cm.IPHeaderLen]byte
		h.Encode(c[:])
		if !g.Decode(c[:]) || g != h {
			t.Errorf("%+v became %+v", h, g)
		}
	})
}

// FuzzReceive: no message can break a manager, or make it keep anything for
// ever. Each two bytes choose a message by its attribute and change it.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{0x10, 0, 0x13, 1, 0x14, 2, 0x15, 3, 0x16, 4, 0x12, 5, 0x17, 0, 0x18, 0, 0x19, 1}, []byte{1, 2, 3})
	f.Add([]byte{0x90, 0, 0x92, 0, 0x15, 0}, []byte{0xff})
	f.Fuzz(func(t *testing.T, script, noise []byte) {
		n := newNetwork(t, true)
		a, p := n.pair()
		p.hold = len(noise)%2 == 1
		n.connect(a)
		n.run(sim.Millisecond)
		for i := 0; i+1 < len(script) && i < 64; i += 2 {
			var b [mad.PacketLen]byte
			h := mad.Header{Class: mad.ClassComm, Method: mad.MethodSend, Attr: mad.AttrID(script[i] & 0x1f), TID: uint64(i)}
			h.Encode(b[:])
			copy(b[24+int(script[i+1])%200:], noise)
			d := mad.Packet(b[:]).Data()
			if script[i]&0x80 != 0 && a.conn != nil && p.conn != nil { // it names a connection
				x, y := a.conn.LocalID(), p.conn.LocalID()
				d[0], d[1], d[2], d[3] = byte(x>>24), byte(x>>16), byte(x>>8), byte(x)
				d[4], d[5], d[6], d[7] = byte(y>>24), byte(y>>16), byte(y>>8), byte(y)
			}
			to := int(script[i]) >> 6 & 1
			n.mgr[to].Receive(&hca.MADAddress{QPN: 1, GRH: true, GID: gid(1 - to)}, b[:])
			n.run(sim.Time(script[i+1]) * sim.Millisecond)
		}
		n.mgr[0].Close()
		n.mgr[1].Close()
		n.run(200 * sim.Second)
		if n.eng.Pending() != 0 || n.mgr[0].Conns()+n.mgr[1].Conns() != 0 {
			t.Errorf("%d events, %d and %d connections", n.eng.Pending(), n.mgr[0].Conns(), n.mgr[1].Conns())
		}
	})
}
