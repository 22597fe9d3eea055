package frame

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"cnuas/internal/wire"
)

// An RC RDMA WRITE Only of 16 bytes as another implementation sent it.
const roce = "123456789abc7cb27d62c1ef0800" + "4500004c000100004011f54cc0a80201c0a80202" +
	"01f412b70038ffa6" + "0a00ffff0000000200000000" + "00000000000012300000000000000010" +
	"000102030405060708090a0b0c0d0e0f" + "ca47470e"

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// split builds the frame above from headers, payload and a deferred ICRC.
func split(t testing.TB, p *Pool) *Frame {
	b := unhex(t, roce)
	f := p.Get()
	copy(f.Head(70), b)
	f.SetPayload(b[70:86], nil)
	f.Meta.ICRCDeferred = true
	f.WireLen()
	return f
}

func TestAppendTo(t *testing.T) {
	var p Pool
	want := unhex(t, roce)
	f := split(t, &p)
	if f.Len != int32(len(want)+wire.FCSLen) {
		t.Errorf("Len %d, want %d", f.Len, len(want)+wire.FCSLen)
	}
	if got := f.AppendTo([]byte("front")); !bytes.Equal(got[5:], want) || string(got[:5]) != "front" {
		t.Errorf("got  %x\nwant %x", got[5:], want)
	}
	whole := p.Get()
	copy(whole.Buf(len(want)), want)
	whole.WireLen()
	if got := whole.AppendTo(nil); !bytes.Equal(got, want) || whole.Len != f.Len {
		t.Errorf("whole frame: got %x, Len %d", got, whole.Len)
	}
	open := f.AppendOpen(nil)
	if !bytes.Equal(open, append(bytes.Clone(want[:len(want)-4]), 0, 0, 0, 0)) {
		t.Errorf("open: got %x", open)
	}
	f.SealICRC(open)
	if !bytes.Equal(open, want) {
		t.Errorf("sealed: got %x", open)
	}
}

func TestAppendToPads(t *testing.T) {
	var p Pool
	for pad := range 4 {
		f := split(t, &p)
		f.Pay = f.Pay[:16-pad]
		f.Meta.Pad = uint8(pad)
		wire.BTH(f.Data[42:]).SetPad(pad)
		f.WireLen()
		b := f.AppendTo(nil)
		n := len(b) - wire.ICRCLen
		if int(f.Len) != len(b)+wire.FCSLen || !bytes.Equal(b[n-pad:n], make([]byte, pad)) {
			t.Errorf("pad %d: Len %d, frame %x", pad, f.Len, b)
		}
		if binary.LittleEndian.Uint32(b[n:]) != wire.ICRC(b[:n], wire.EthernetLen) {
			t.Errorf("pad %d: wrong ICRC in %x", pad, b)
		}
	}
}

func TestWireLenMinimum(t *testing.T) {
	var f Frame
	f.Head(14)
	if f.WireLen(); f.Len != MinLen {
		t.Errorf("Len %d, want %d", f.Len, MinLen)
	}
	f.Head(61)
	if f.WireLen(); f.Len != 65 {
		t.Errorf("Len %d, want 65", f.Len)
	}
}

// A tag pushed into the head-room and popped again leaves the frame as it was.
func TestShift(t *testing.T) {
	var p Pool
	for _, f := range []*Frame{split(t, &p), func() *Frame {
		g := p.Get()
		copy(g.Buf(90), unhex(t, roce))
		return g
	}()} {
		if !f.Parse() || f.Meta.Layers.L3 != 14 {
			t.Fatalf("layers %+v", f.Meta.Layers)
		}
		want := bytes.Clone(f.Data)
		f.Shift(-wire.VLANTagLen)
		wire.PushTag(f.Data, wire.TCI(3, false, 7))
		if !f.Parse() || !f.Meta.Layers.Tagged || f.Meta.Layers.VID != 7 || f.Meta.Layers.L3 != 18 || len(f.Data) != len(want)+4 {
			t.Fatalf("tagged: layers %+v", f.Meta.Layers)
		}
		wire.PopTag(f.Data)
		f.Shift(wire.VLANTagLen)
		if !f.Parse() || f.Meta.Layers.Tagged || !bytes.Equal(f.Data, want) {
			t.Errorf("untagged: layers %+v, data %x", f.Meta.Layers, f.Data)
		}
		f.Shift(-Headroom) // all of it
		f.Shift(Headroom)
		if !bytes.Equal(f.Data, want) {
			t.Errorf("data %x", f.Data)
		}
	}
}

// Parse notices that headers changed only if Data was begun anew or shifted.
func TestParseFailure(t *testing.T) {
	var f Frame
	f.Head(13)
	if f.Parse() {
		t.Error("13 bytes have an Ethernet header")
	}
	copy(f.Head(90), unhex(t, roce))
	if !f.Parse() || !f.Meta.Layers.RoCE {
		t.Errorf("layers %+v", f.Meta.Layers)
	}
}
