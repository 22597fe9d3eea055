package frame

import (
	"testing"
	"unsafe"

	"cnuas/internal/wire"
)

// ibPacket is a UD send of 16 bytes with pad 1, in pieces.
func ibPacket(p *Pool, lnh wire.LNH) *Frame {
	f := p.Get()
	n := wire.LRHLen + wire.BTHLen + wire.DETHLen
	b := f.Head(n)
	h := wire.LRHFields{VL: 2, SL: 3, LNH: lnh, DLID: 4, SLID: 5, PktLen: (n + 16 + wire.ICRCLen) / 4}
	h.Encode(b)
	t := wire.BTHFields{Opcode: wire.UDSendOnly, Pad: 1, PKey: wire.DefaultPKey}
	t.Encode(b[wire.LRHLen:])
	f.SetPayload(make([]byte, 15), nil)
	f.Meta.ICRCDeferred, f.Meta.Pad = true, 1
	f.WireLenIB()
	return f
}

func TestParseIB(t *testing.T) {
	var p Pool
	f := ibPacket(&p, wire.LNHBTH)
	if f.Len != 50 || !f.ParseIB() {
		t.Fatalf("length %d", f.Len)
	}
	want := IB{DLID: 4, SLID: 5, Blocks: 1, VL: 2, SL: 3, BTH: 8, Flags: IBSMP}
	if f.Meta.IB != want {
		t.Errorf("%+v, want %+v", f.Meta.IB, want)
	}
	f.SetVL(9)
	if f.Meta.IB.VL != 9 || wire.LRH(f.Data).VL() != 9 || wire.LRH(f.Data).LVer() != 0 {
		t.Error("SetVL")
	}
	if r := ibPacket(&p, wire.LNHRaw); !r.ParseIB() || r.Meta.IB.Flags != IBRaw || r.Meta.IB.BTH != 0 {
		t.Errorf("raw: %+v", r.Meta.IB)
	}
	for _, change := range []func(f *Frame){
		func(f *Frame) { f.Len++ },
		func(f *Frame) { f.Data = f.Data[:7] },
		func(f *Frame) { f.Data[0] |= 1 },
	} {
		g := ibPacket(&p, wire.LNHBTH)
		if change(g); g.ParseIB() {
			t.Error("not malformed?")
		}
	}
}

// A frame is one object of 352 bytes; what InfiniBand needs fits in.
func TestFrameSize(t *testing.T) {
	if n := unsafe.Sizeof(Frame{}); n > 352 {
		t.Errorf("a frame has %d bytes, more than its size class of 352", n)
	}
}
