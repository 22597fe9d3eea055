package usbredir

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// TestMessages is a table of bytes and what they mean, both ways.
func TestMessages(t *testing.T) {
	for _, c := range []struct {
		name, wire string
		wide       bool
		m          Message
	}{
		{"reset", "03000000 00000000 00000000", false, Message{Type: Reset}},
		{"reset, wide", "03000000 00000000 0000000000000000", true, Message{Type: Reset}},
		{"set configuration", "06000000 01000000 2a000000 01", false, Message{SetConfiguration, 42, []byte{1}}},
		{"cancel", "15000000 00000000 efcdab8967452301", true, Message{Type: CancelDataPacket, ID: 0x0123456789abcdef}},
		{"get device descriptor", "64000000 0a000000 0700000000000000 80068000 00010000 1200", true, Message{ControlPacket, 7,
			ControlBody{Endpoint: 0x80, Setup: Setup{RequestType: 0x80, Request: 6, Value: 0x100, Length: 18}}.Append(nil)}},
		{"set baud rate", "64000000 0a000000 08000000 00034000 38c10100 0000", false, Message{ControlPacket, 8,
			ControlBody{Setup: Setup{RequestType: 0x40, Request: 3, Value: 0xc138, Index: 1}}.Append(nil)}},
		{"bulk out", "65000000 0a000000 0900000000000000 0200 0200 00000000 abcd", true, Message{BulkPacket, 9,
			BulkBody{Endpoint: 2, Length: 2, Data: []byte{0xab, 0xcd}}.Append(nil)}},
		{"bulk in, stalled", "65000000 08000000 0900000000000000 8104 0000 00000000", true, Message{BulkPacket, 9,
			BulkBody{Endpoint: 0x81, Status: Stall}.Append(nil)}},
		{"connect", "01000000 0a000000 00000000 02000000 0304 1160 0008", false, Message{Type: DeviceConnect,
			Body: ConnectBody{Speed: HighSpeed, Vendor: 0x403, Product: 0x6011, Version: 0x800}.Append(nil, Own)}},
		{"connect, old peer", "01000000 08000000 00000000 02000000 0304 1160", false, Message{Type: DeviceConnect,
			Body: ConnectBody{Speed: HighSpeed, Vendor: 0x403, Product: 0x6011, Version: 0x800}.Append(nil, 0)}},
	} {
		wire := unhex(c.wire)
		if got := AppendMessage(nil, c.m, c.wide); !bytes.Equal(got, wire) {
			t.Errorf("%s: % x\nwant % x", c.name, got, wire)
		}
		r := NewReader(bytes.NewReader(wire))
		if c.wide {
			r.Wide()
		}
		m, err := r.Next()
		if err != nil || m.Type != c.m.Type || m.ID != c.m.ID || !bytes.Equal(m.Body, c.m.Body) {
			t.Errorf("%s: %+v, %v", c.name, m, err)
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("%s: at the end %v", c.name, err)
		}
	}
}

func TestHello(t *testing.T) {
	h := HelloBody{Version: strings.Repeat("v", 80), Caps: Own}
	b := h.Append(nil)
	got, err := ParseHello(b)
	if want := (HelloBody{strings.Repeat("v", 63), Own}); err != nil || got != want || len(b) != 68 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := ParseHello(b[:64]); err != nil || got.Caps != 0 {
		t.Errorf("no capabilities: %+v, %v", got, err)
	}
	if got, err := ParseHello(append(b, 1, 2, 3, 4)); err != nil || got.Caps != Own {
		t.Errorf("more words: %+v, %v", got, err)
	}
	if _, err := ParseHello(b[:63]); !errors.Is(err, ErrProtocol) {
		t.Errorf("short: %v", err)
	}
}

func TestInfoRoundTrip(t *testing.T) {
	fs := []Interface{{0, 255, 255, 255}, {1, 3, 1, 2}}
	if got, err := ParseInterfaces(appendInterfaces(nil, fs)); err != nil || !cmp.Equal(got, fs) {
		t.Errorf("%v, %v", got, err)
	}
	es := []Endpoint{{0x02, BulkTransfer, 0, 0, 512}, {0x04, BulkTransfer, 0, 1, 64}, {0x81, BulkTransfer, 0, 0, 512}, {0x8f, InterruptTransfer, 9, 1, 8}}
	b := appendEndpoints(nil, es, 64, Own)
	if got, err := ParseEndpoints(b); err != nil || !cmp.Equal(got, es) {
		t.Errorf("%v, %v", got, err)
	}
	if len(b) != 160 || b[0] != 0 || b[16] != 0 || b[1] != 255 || b[96] != 64 || b[128] != 64 {
		t.Errorf("% x", b)
	}
	for i := range es {
		es[i].MaxPacket = 0
	}
	if got, err := ParseEndpoints(appendEndpoints(nil, es, 64, 0)); err != nil || !cmp.Equal(got, es) {
		t.Errorf("old peer: %v, %v", got, err)
	}
}

// TestLengths: a length is refused before memory is taken for it.
func TestLengths(t *testing.T) {
	for _, c := range []struct {
		wire string
		want error
	}{
		{"65000000 ffff0000 00000000", io.ErrUnexpectedEOF},
		{"65000000 09000100 00000000", io.ErrUnexpectedEOF},
		{"65000000 0a000100 00000000", ErrProtocol},
		{"65000000 ffffffff 00000000", ErrProtocol},
		{"00000000 01040000 00000000", ErrProtocol},
		{"00000000 00040000 00000000", io.ErrUnexpectedEOF},
		{"03000000 0000", io.ErrUnexpectedEOF},
		{"", io.EOF},
	} {
		if _, err := NewReader(bytes.NewReader(unhex(c.wire))).Next(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.wire, err, c.want)
		}
	}
}

// FuzzReader: any bytes are messages or an error, and messages go back to the
// same bytes.
func FuzzReader(f *testing.F) {
	f.Add(unhex("03000000 00000000 00000000"), false)
	f.Add(unhex("65000000 0a000000 0900000000000000 0200 0200 00000000 abcd"), true)
	f.Fuzz(func(t *testing.T, b []byte, wide bool) {
		r := NewReader(bytes.NewReader(b))
		if wide {
			r.Wide()
		}
		var back []byte
		for {
			m, err := r.Next()
			if err != nil {
				break
			}
			back = AppendMessage(back, m, wide)
			ParseHello(m.Body)
			ParseInterfaces(m.Body)
			ParseEndpoints(m.Body)
			ParseConnect(m.Body)
			if c, err := ParseControl(m.Body); err == nil && !bytes.Equal(c.Append(nil), m.Body) {
				t.Errorf("control % x", m.Body)
			}
			if p, err := ParseBulk(m.Body); err == nil && !bytes.Equal(p.Append(nil), m.Body) {
				t.Errorf("bulk % x", m.Body)
			}
		}
		if !bytes.HasPrefix(b, back) {
			t.Errorf("% x became % x", b, back)
		}
	})
}
