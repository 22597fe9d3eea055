package rtu

import (
	"slices"
	"strings"
	"testing"
)

// objects reads a stream of 2Bh/0Eh to its end, as a client does.
func objects(t *testing.T, s *Slave, code uint8) (ids []uint8, level uint8, replies int) {
	t.Helper()
	next := uint8(0)
	for {
		req := AppendDeviceID(nil, 0x90, code, next)
		out := s.Serve(0, req, nil)
		if len(out) > MaxADU {
			t.Fatalf("a reply of %d bytes", len(out))
		}
		if n, ok := ReplyLen(out); !ok || n != len(out) {
			t.Fatalf("% x: length %d %v", out, n, ok)
		}
		d, ex, err := ParseReply(req, out)
		if ex != OK || err != nil {
			t.Fatal(ex, err)
		}
		replies++
		level = d[1]
		b := d[5:]
		for range d[4] {
			ids = append(ids, b[0])
			b = b[2+int(b[1]):]
		}
		if len(b) > 0 {
			t.Fatalf("% x behind the objects", b)
		}
		if d[2] == 0 {
			return ids, level, replies
		}
		next = d[3]
	}
}

func TestDeviceIDStreams(t *testing.T) {
	long := strings.Repeat("x", 100)
	m := newModel()
	for _, id := range []uint8{3, 6, 0x7F, 0x80, 0x90, 0xFF} {
		m.objects[id] = long
	}
	s := NewSlave(0x90, m, AllOptions())
	for _, c := range []struct {
		code    uint8
		want    []uint8
		replies int
	}{
		{1, []uint8{0, 1, 2}, 1},
		{2, []uint8{0, 1, 2, 3, 6, 0x7F}, 2},
		{3, []uint8{0, 1, 2, 3, 6, 0x7F, 0x80, 0x90, 0xFF}, 3},
	} {
		ids, level, n := objects(t, s, c.code)
		if !slices.Equal(ids, c.want) || level != 0x83 || n != c.replies {
			t.Errorf("code %d: %v, level %02x, %d replies", c.code, ids, level, n)
		}
	}
	// A regular object is not in the basic stream: that begins anew.
	out := s.Serve(0, adu("90 2B 0E 01 03"), nil)
	if out[7] != 3 || out[8] != 0 {
		t.Errorf("% x", out)
	}
	out = s.Serve(0, adu("90 2B 0E 04 FF"), nil)
	if hex(out) != hex(AppendCRC(append(hx("90 2B 0E 04 83 00 00 01 FF 64"), long...))) {
		t.Errorf("% x", out)
	}
	delete(m.objects, 0x80)
	delete(m.objects, 0x90)
	delete(m.objects, 0xFF)
	if _, level, _ := objects(t, s, 3); level != 0x82 {
		t.Errorf("level %02x of a device with regular objects", level)
	}
	// What does not fit one reply is cut.
	m.objects[1] = strings.Repeat("y", 255)
	if ids, _, n := objects(t, s, 1); !slices.Equal(ids, []uint8{0, 1, 2}) || n != 3 {
		t.Errorf("%v in %d replies", ids, n)
	}
	m.id = make([]byte, 251)
	if out = s.Serve(0, adu("90 11"), nil); len(out) != MaxADU {
		t.Errorf("11h of 251 bytes: %d bytes", len(out))
	}
	m.id = make([]byte, 252)
	if out = s.Serve(0, adu("90 11"), nil); hex(out) != hex(adu("90 91 04")) {
		t.Errorf("11h of 252 bytes: % x", out)
	}
}

// A device without any object answers an empty stream.
func TestDeviceIDEmpty(t *testing.T) {
	m := newModel()
	clear(m.objects)
	s := NewSlave(0x90, m, AllOptions())
	if out := s.Serve(0, adu("90 2B 0E 01 00"), nil); hex(out) != hex(adu("90 2B 0E 01 81 00 00 00")) {
		t.Errorf("% x", out)
	}
}
