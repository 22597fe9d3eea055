package wire

import (
	"bytes"
	"testing"
)

func TestLRH(t *testing.T) {
	f := LRHFields{VL: 15, SL: 9, LNH: LNHGRH, DLID: 0xc001, PktLen: 0x7ff, SLID: 0x1234}
	b := bytes.Repeat([]byte{0xff}, LRHLen)
	f.Encode(b)
	if got := hexOf(b); got != "f093c00107ff1234" {
		t.Errorf("got %s", got)
	}
	set := map[string]func(LRH){
		"3fffffffffffffff": func(h LRH) { h.SetVL(3) },
		"ff5fffffffffffff": func(h LRH) { h.SetSL(5) },
		"ffff0102ffffffff": func(h LRH) { h.SetDLID(0x0102) },
		"fffffffff848ffff": func(h LRH) { h.SetPktLen(72) },
		"ffffffffffff0102": func(h LRH) { h.SetSLID(0x0102) },
	}
	for want, fn := range set {
		h := LRH(bytes.Repeat([]byte{0xff}, LRHLen))
		fn(h)
		if got := hexOf(h); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	h := LRH(b)
	h.SetPktLen(72)
	if h.WireLen() != 290 {
		t.Errorf("a MAD has %d bytes on the wire", h.WireLen())
	}
}

func TestLID(t *testing.T) {
	for l, want := range map[LID][2]bool{0: {}, 1: {true, false}, 0xbfff: {true, false}, 0xc000: {false, true}, 0xfffe: {false, true}, 0xffff: {}} {
		if l.Unicast() != want[0] || l.Multicast() != want[1] {
			t.Errorf("%#x: unicast %v, multicast %v", uint16(l), l.Unicast(), l.Multicast())
		}
	}
	g := MakeGID(DefaultGIDPrefix, 0x100001)
	if g.String() != "fe80::10:1" || g.Prefix() != DefaultGIDPrefix || g.GUID() != 0x100001 || g.Multicast() || g.GUID().String() != "0x0000000000100001" {
		t.Errorf("%v %x %v", g, g.Prefix(), g.GUID())
	}
}

func TestSmallIBHeaders(t *testing.T) {
	tests := []struct {
		name, want string
		encode     func([]byte)
	}{
		{"RWH", "000088cc", func(b []byte) { RWH(b).Encode(0x88cc) }},
		{"RDETH", "00abcdef", func(b []byte) { RDETH(b).Encode(0xffabcdef) }},
		{"XRCETH", "00abcdef", func(b []byte) { XRCETH(b).Encode(0xffabcdef) }},
		{"GRH", "6123456701001b40" + "fe800000000000000000000000100001" + "ff12401bffff00000000000000000001", func(b []byte) {
			(&GRHFields{TClass: 0x12, FlowLabel: 0x34567, PayLen: 256, NxtHdr: NextHeaderIBA, HopLmt: 64,
				SGID: MakeGID(DefaultGIDPrefix, 0x100001), DGID: MakeGID(0xff12401bffff0000, 1)}).Encode(b)
		}},
	}
	for _, tt := range tests {
		b := bytes.Repeat([]byte{0x5a}, len(tt.want)/2)
		tt.encode(b)
		if got := hexOf(b); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
	if RDETH(unhex(t, "00abcdef")).EEContext() != 0xabcdef || XRCETH(unhex(t, "00abcdef")).XRCSRQ() != 0xabcdef || RWH(unhex(t, "000088cc")).EtherType() != 0x88cc {
		t.Error("small headers")
	}
}

func TestIBLayers(t *testing.T) {
	frames, _ := erfFrames(t, "ib_erf21.pcap")
	var l IBLayers
	if !l.Parse(frames[6]) || !l.Global || l.BTH != 48 || l.Payload != 60 || !l.Transport || l.Opcode != RCSendOnly || l.Raw || l.WireLen() != len(frames[6]) {
		t.Errorf("RC SEND Only with GRH: %+v", l)
	}
	if m := l.Message(frames[6]); len(m) == 0 || len(m) > len(frames[6])-60-6 {
		t.Errorf("message of %d bytes", len(m))
	}
	if !l.Parse(frames[7]) || !l.SMP || l.BTH != 8 || l.Payload != 28 || l.VL != VL15 || len(l.Message(frames[7])) != 256 || l.DLID != LIDPermissive {
		t.Errorf("SMP: %+v, message of %d bytes", l, len(l.Message(frames[7])))
	}
	raw := unhex(t, "00000001000300020000889200000000"[:32])
	if !l.Parse(raw) || !l.Raw || l.BTH != 0 || l.Message(raw) != nil {
		t.Errorf("raw: %+v", l)
	}
	if l.Parse(raw[:7]) || l.Parse(unhex(t, "0100000100030002")) {
		t.Error("no whole LRH, or version 1, and parsed")
	}
	cut := frames[7][:20]
	if !l.Parse(cut) || l.Transport || l.BTH != 8 || l.Message(cut) != nil {
		t.Errorf("cut: %+v", l)
	}
}

// A raw packet has no ICRC.
func TestSealRaw(t *testing.T) {
	b := make([]byte, LRHLen+RWHLen+4+VCRCLen)
	(&LRHFields{LNH: LNHRaw, DLID: 1, SLID: 2, PktLen: 4}).Encode(b)
	RWH(b[8:]).Encode(0x88cc)
	copy(b[12:], "data")
	if !SealIB(b) || string(b[12:16]) != "data" {
		t.Errorf("sealed %x", b)
	}
	if icrc, vcrc := CheckIB(b); !icrc || !vcrc {
		t.Error("not right")
	}
	if SealIB(b[:len(b)-1]) || SealIB(nil) {
		t.Error("a packet of another length than it says was sealed")
	}
}

func TestCN(t *testing.T) {
	var b [CNLen]byte
	of := LRHFields{SL: 3, DLID: 7, SLID: 12}
	EncodeCN(b[:], &of, 0x8001, 0x123456, 2)
	if got := hexOf(b[:20]); got != "2032000c0006000780008001401234560000000000000000"[:40] {
		t.Errorf("got %s", got)
	}
	if icrc, vcrc := CheckIB(b[:]); !icrc || !vcrc {
		t.Error("CRCs")
	}
	var l IBLayers
	if !l.Parse(b[:]) || !l.Transport || l.Opcode != CN || len(l.Message(b[:])) != 0 {
		t.Errorf("%+v", l)
	}
}

func FuzzIBLayers(f *testing.F) {
	frames, _ := erfFrames(f, "ib_erf21.pcap")
	for _, b := range frames {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var l IBLayers
		if l.Parse(b) != (len(b) >= LRHLen && b[0]&15 == 0) {
			t.Fatalf("%x: %+v", b, l)
		}
		l.Message(b)
		ICRCNative(b)
		VCRC(b)
		CheckIB(b)
		if h := LRH(b); h.Valid() {
			var out [LRHLen]byte
			x := h.Fields()
			x.Encode(out[:])
			in := [LRHLen]byte(b)
			in[1] &^= 0x0c // reserved
			in[4] &= 0x07
			if in != out {
				t.Fatalf("parsed %x, emitted %x", in, out)
			}
		}
		if h := GRH(b); h.Valid() {
			var out [GRHLen]byte
			x := h.Fields()
			x.Encode(out[:])
			if !bytes.Equal(out[:], b[:GRHLen]) {
				t.Fatalf("parsed %x, emitted %x", b[:GRHLen], out)
			}
		}
		if l.Transport && (int(l.Payload) > len(b) || l.Payload < l.BTH+BTHLen) {
			t.Fatalf("offsets outside: %+v", l)
		}
		if c := append([]byte(nil), b...); SealIB(c) {
			if i, v := CheckIB(c); !i || !v {
				t.Fatalf("%x: sealed and not right", c)
			}
		}
	})
}

func TestIBNoAllocations(t *testing.T) {
	frames, _ := erfFrames(t, "ib_erf21.pcap")
	b := append([]byte(nil), frames[7]...)
	var l IBLayers
	fl := FlowFields{VL: 1, FCTBS: 5, FCCL: 9}
	if n := testing.AllocsPerRun(100, func() {
		l.Parse(b)
		SealIB(b)
		CheckIB(b)
		LRH(b).Fields()
		var x [FlowLen]byte
		fl.Encode(x[:])
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkIBParse(b *testing.B) {
	frames, _ := erfFrames(b, "ib_erf21.pcap")
	var l IBLayers
	for b.Loop() {
		l.Parse(frames[2])
	}
}

func BenchmarkVCRC4096(b *testing.B) {
	p := make([]byte, 4096)
	b.SetBytes(4096)
	for b.Loop() {
		VCRC(p)
	}
}
