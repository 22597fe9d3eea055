package wire

import (
	"bytes"
	"testing"
)

func FuzzEthernet(f *testing.F) {
	f.Add(unhex(f, "ffffffffffff0200000000010806"))
	f.Add(unhex(f, "0200000000020200000000018100e0640800"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h := Ethernet(b)
		if !h.Valid() {
			return
		}
		out := make(Ethernet, EthernetLen)
		out.Encode(h.Dst(), h.Src(), h.Type())
		if !bytes.Equal(out, b[:EthernetLen]) || out.Multicast() != Group(h.Dst()) {
			t.Fatalf("parsed %x, emitted %x", b[:EthernetLen], out)
		}
		v := VLAN(b)
		if !v.Valid() {
			return
		}
		if TCI(v.PCP(), v.DEI(), v.VID()) != v.TCI() {
			t.Fatalf("tag %04x: pcp %d, dei %v, vid %d", v.TCI(), v.PCP(), v.DEI(), v.VID())
		}
		// Taking the tag off and putting it back gives the same frame.
		tci, again := v.TCI(), bytes.Clone(b)
		PopTag(again)
		if p := Ethernet(again[VLANTagLen:]); p.Dst() != h.Dst() || p.Src() != h.Src() || p.Type() != v.Type() {
			t.Fatalf("untagged %x", again)
		}
		PushTag(again, tci)
		if !bytes.Equal(again, b) {
			t.Fatalf("popped and pushed %x, was %x", again, b)
		}
		v.SetTCI(tci ^ 0xffff)
		if v.TCI() != tci^0xffff {
			t.Fatal("SetTCI")
		}
	})
}

func FuzzARP(f *testing.F) {
	f.Add(unhex(f, "0001080006040001"+"020000000001"+"0a000001"+"000000000000"+"0a000002"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h := ARP(b)
		if !h.Valid() {
			return
		}
		x := ARPFields{Op: h.Op(), SenderMAC: h.SenderMAC(), SenderIP: h.SenderIP(), TargetMAC: h.TargetMAC(), TargetIP: h.TargetIP()}
		out := make(ARP, ARPLen)
		x.Encode(out)
		if !bytes.Equal(out, b[:ARPLen]) {
			t.Fatalf("parsed %x, emitted %x", b[:ARPLen], out)
		}
	})
}

func TestPFCEncode(t *testing.T) {
	p := PFC{Enable: 0x88}
	p.Time[3], p.Time[7] = 0xffff, 0
	b := bytes.Repeat([]byte{0xcc}, PFCLen)
	p.Encode(b, [6]byte{2, 0, 0, 0, 0, 1})
	want := "0180c2000001" + "020000000001" + "8808" + "0101" + "0088" + "000000000000ffff" + "0000000000000000"
	if got := hexOf(b[:34]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !bytes.Equal(b[34:], make([]byte, PFCLen-34)) {
		t.Error("the pad is not zero")
	}
}

func FuzzPFC(f *testing.F) {
	p := PFC{Enable: 8, Time: [8]uint16{3: 0x1234}}
	b := make([]byte, PFCLen)
	p.Encode(b, [6]byte{2})
	f.Add(b)
	f.Add(b[:33])
	f.Fuzz(func(t *testing.T, b []byte) {
		var p PFC
		if !p.Decode(b) {
			return
		}
		out := make([]byte, PFCLen)
		p.Encode(out, Ethernet(b).Src())
		if !bytes.Equal(out[17:34], b[17:34]) || !bytes.Equal(out[6:16], b[6:16]) {
			t.Fatalf("parsed %x, emitted %x", b, out)
		}
		var q PFC
		if !q.Decode(out) || q != p {
			t.Fatalf("emitted %+v, parsed %+v", p, q)
		}
	})
}
