package wire

import (
	"bytes"
	"testing"
)

func TestBTHEncode(t *testing.T) {
	f := BTHFields{
		Opcode: RCWriteOnlyImm, Solicited: true, MigReq: true, Pad: 3, TVer: 0, PKey: 0xffff,
		DestQP: 0x123456, AckReq: true, PSN: 0xabcdef,
	}
	b := bytes.Repeat([]byte{0xaa}, BTHLen)
	f.Encode(b)
	want := []byte{0x0b, 0xf0, 0xff, 0xff, 0x00, 0x12, 0x34, 0x56, 0x80, 0xab, 0xcd, 0xef}
	if !bytes.Equal(b, want) {
		t.Errorf("got %x, want %x", b, want)
	}
	if got := BTH(b).Fields(); got != f {
		t.Errorf("got %+v, want %+v", got, f)
	}
}

// Every setter changes its own bits and no others.
func TestBTHSetters(t *testing.T) {
	set := map[string]func(BTH){
		"01ffffffffffffffffffffff": func(b BTH) { b.SetOpcode(RCSendMiddle) },
		"ff7fffffffffffffffffffff": func(b BTH) { b.SetSolicited(false) },
		"ffbfffffffffffffffffffff": func(b BTH) { b.SetMigReq(false) },
		"ffdfffffffffffffffffffff": func(b BTH) { b.SetPad(1) },
		"fff0ffffffffffffffffffff": func(b BTH) { b.SetTVer(0) },
		"ffff1234ffffffffffffffff": func(b BTH) { b.SetPKey(0x1234) },
		"ffffffff7fffffffffffffff": func(b BTH) { b.SetFECN(false) },
		"ffffffffbfffffffffffffff": func(b BTH) { b.SetBECN(false) },
		"ffffffffff010203ffffffff": func(b BTH) { b.SetDestQP(0xff010203) },
		"ffffffffffffffff7fffffff": func(b BTH) { b.SetAckReq(false) },
		"ffffffffffffffffff030201": func(b BTH) { b.SetPSN(0x030201) },
	}
	for want, f := range set {
		b := BTH(bytes.Repeat([]byte{0xff}, BTHLen))
		f(b)
		if got := hexOf(b); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func FuzzBTH(f *testing.F) {
	f.Add([]byte{0x0a, 0x40, 0xff, 0xff, 0, 0, 0, 0x11, 0x80, 0, 0, 1})
	f.Add(bytes.Repeat([]byte{0xff}, BTHLen))
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		b := BTH(data)
		if !b.Valid() {
			if len(data) >= BTHLen {
				t.Fatal("long enough and not valid")
			}
			return
		}
		x := b.Fields()
		var out [BTHLen]byte
		x.Encode(out[:])
		if got := BTH(out[:]).Fields(); got != x {
			t.Fatalf("emitted %+v, parsed %+v", x, got)
		}
		in := [BTHLen]byte(data)
		in[4] &= 0xc0 // reserved bits
		in[8] &= 0x80
		if out != in {
			t.Fatalf("parsed %x, emitted %x", in, out)
		}
		if n := x.Opcode.HeaderLen(); x.Opcode.Known() != (n != 0) || n > BTHLen+AtomicETHLen {
			t.Fatalf("%v: header length %d", x.Opcode, n)
		}
	})
}
