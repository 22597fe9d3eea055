package tunnel

import (
	"bytes"
	"encoding/hex"
	"testing"

	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/ibport/ibtest"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// The examples of docs/TUNNEL.md.
const (
	exampleState = "49420103000000070002fed212345678000001ff" + "050303020abcdef000c80000" + "0002c90300a1b2c4"
	exampleFlow  = "494201020100000700024c9212345678000002a1" + "00101220801d"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestHeader(t *testing.T) {
	h := Header{Type: TypeFlow, VL: 1, To: 7, From: 2, Session: 0x12345678, Seq: 0x2a1}
	b := unhex(t, exampleFlow)
	clear(b[:HeaderLen])
	h.Encode(b)
	if hex.EncodeToString(b) != exampleFlow {
		t.Errorf("%x, want %s", b, exampleFlow)
	}
	var d Header
	if err := d.Decode(b); err != nil || d != h {
		t.Errorf("%+v, %v", d, err)
	}
	for _, c := range []struct {
		at   int
		to   byte
		want error
	}{
		{0, 'X', ErrMagic}, {1, 'X', ErrMagic}, {2, 0, ErrVersion}, {2, 2, ErrVersion}, {3, 0, ErrType}, {3, 4, ErrType},
		{4, 9, ErrCheck}, {10, 9, ErrCheck}, {16, 9, ErrCheck},
	} {
		x := bytes.Clone(b)
		x[c.at] = c.to
		if err := d.Decode(x); err != c.want {
			t.Errorf("byte %d is %d: %v, want %v", c.at, c.to, err, c.want)
		}
	}
	if d.Decode(b[:HeaderLen-1]) != ErrShort || d.Decode(nil) != ErrShort {
		t.Error("a short header is valid")
	}
	h.Session = 0
	h.Encode(b)
	if d.Decode(b) != ErrSession {
		t.Error("session 0 is valid")
	}
}

func TestState(t *testing.T) {
	s := State{LinkState: ibport.LinkState{Phys: mad.PhysLinkUp, Widths: 3, Speeds: 3, Exts: 2}, Heard: 0x0abcdef0, Heartbeat: 200, GUID: 0x0002c90300a1b2c4}
	b := make([]byte, StateLen)
	s.Encode(b)
	var h Header
	if err := h.Decode(unhex(t, exampleState)); err != nil || h != (Header{Type: TypeState, To: 7, From: 2, Session: 0x12345678, Seq: 0x1ff}) {
		t.Errorf("%+v, %v", h, err)
	}
	if want := exampleState[2*HeaderLen:]; hex.EncodeToString(b) != want {
		t.Errorf("%x, want %s", b, want)
	}
	var d State
	if !d.Decode(b) || d != s || !d.Decode(append(b, 1, 2, 3)) || d != s {
		t.Errorf("%+v", d)
	}
	if d.Decode(b[:StateLen-1]) {
		t.Error("a short state is valid")
	}
	for _, c := range [][2]byte{{0, 7}, {0, 255}, {8, 0xff}} {
		x := bytes.Clone(b)
		x[c[0]] = c[1]
		if d.Decode(x) {
			t.Errorf("byte %d is %d: valid", c[0], c[1])
		}
	}
	b[8], b[9] = 0, MinHeartbeat-1
	if d.Decode(b) {
		t.Error("a heartbeat of 9 ms is valid")
	}
}

// A packet is sealed with both CRCs, and opened to what it was.
func TestPacket(t *testing.T) {
	pool := &frame.Pool{}
	for n := range 70 {
		k := ibtest.Packet{SLID: 1, DLID: 2, SL: 3, Payload: n}
		f := k.Make(pool)
		f.SetVL(3)
		b := seal(nil, f)
		icrc, vcrc := wire.CheckIB(b)
		if !icrc || !vcrc || len(b) != int(f.Len) {
			t.Fatalf("payload %d: CRCs %v and %v, %d bytes of %d", n, icrc, vcrc, len(b), f.Len)
		}
		g := open(pool, b, 3)
		if g == nil || g.Len != f.Len || g.Meta.IB != f.Meta.IB || g.Meta.Pad != f.Meta.Pad || !g.Meta.ICRCDeferred || !bytes.Equal(seal(nil, g), b) {
			t.Fatalf("payload %d: %+v", n, g)
		}
		pool.Put(g)
		if open(pool, b, 2) != nil || open(pool, b[:len(b)-1], 3) != nil || open(pool, append(b, 0), 3) != nil {
			t.Errorf("payload %d: a wrong lane or length", n)
		}
		for i := range b {
			b[i] ^= 4
			if open(pool, b, 3) != nil {
				t.Errorf("payload %d: spoilt in byte %d", n, i)
			}
			b[i] ^= 4
		}
		// A wrong ICRC goes on to the end of the path as it is.
		i := len(b) - wire.VCRCLen - 1
		b[i] ^= 1
		c := wire.VCRC(b[:i+1])
		b[i+1], b[i+2] = byte(c), byte(c>>8)
		if g = open(pool, b, 3); g == nil || g.Meta.ICRCDeferred || !bytes.Equal(seal(nil, g), b) {
			t.Errorf("payload %d: the wrong ICRC did not stay: %+v", n, g)
		}
		pool.Put(g)
		pool.Put(f)
	}
	if pool.Live() != 0 {
		t.Errorf("%d frames are alive", pool.Live())
	}
}

func TestFlow(t *testing.T) {
	pool := &frame.Pool{}
	b := unhex(t, exampleFlow)[HeaderLen:]
	f := openFlow(pool, b, 1)
	if f == nil {
		t.Fatal("the example is no flow control packet")
	}
	if x := wire.Flow(f.Data).Fields(); x != (wire.FlowFields{VL: 1, FCTBS: 16, FCCL: 0x220}) || !bytes.Equal(seal(nil, f), b) {
		t.Errorf("%+v", x)
	}
	if openFlow(pool, b, 0) != nil || openFlow(pool, b[:5], 1) != nil || openFlow(pool, append(b, 0), 1) != nil {
		t.Error("a wrong lane or length")
	}
	b[3]++
	if openFlow(pool, b, 1) != nil {
		t.Error("a wrong LPCRC")
	}
}

func FuzzCodec(f *testing.F) {
	f.Add(unhex(f, exampleState))
	f.Add(unhex(f, exampleFlow))
	pool := &frame.Pool{}
	k := ibtest.Packet{SLID: 1, DLID: 2, Payload: 33}
	f.Add(append(make([]byte, HeaderLen), seal(nil, k.Make(pool))...))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h, h2 Header
		if h.Decode(b) == nil {
			x := make([]byte, HeaderLen)
			h.Encode(x)
			if h2.Decode(x) != nil || h2 != h {
				t.Errorf("%+v becomes %+v", h, h2)
			}
		}
		if len(b) < HeaderLen {
			return
		}
		p := b[HeaderLen:]
		var s, s2 State
		if s.Decode(p) {
			x := make([]byte, StateLen)
			s.Encode(x)
			if !s2.Decode(x) || s2 != s {
				t.Errorf("%+v becomes %+v", s, s2)
			}
		}
		for _, g := range []*frame.Frame{open(pool, p, b[4]), openFlow(pool, p, b[4])} {
			if g != nil {
				if x := seal(nil, g); !bytes.Equal(x, p) {
					t.Errorf("%x becomes %x", p, x)
				}
				pool.Put(g)
			}
		}
	})
}
