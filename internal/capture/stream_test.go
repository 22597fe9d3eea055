package capture

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"cnuas/internal/link"
	"cnuas/internal/sim"
)

// encode writes n as a stream.
func encode(n *note) []byte {
	b := appendHeader(nil, n.head)
	for i, name := range n.ports {
		b = appendPort(b, uint16(i), name, n.link(i))
	}
	for _, r := range n.records {
		var h [packetHead]byte
		putPacketHead(&h, uint16(r.Port), r.Dir, r.Time, r.OrigLen, len(r.Data), len(r.Comment))
		b = append(append(append(b, h[:]...), r.Comment...), r.Data...)
	}
	for _, s := range n.stats {
		b = appendStats(b, s)
	}
	return appendEnd(b)
}

func example() *note {
	return &note{
		head:  Header{Base: base, SnapLen: 128, Filter: "udp port 4791"},
		ports: []string{"s1:1", ""}, links: []LinkType{Ethernet, Ethernet},
		records: []Record{
			{Port: 0, Dir: link.Rx, Time: 5 * sim.Microsecond, OrigLen: 9, Data: []byte{1, 2, 3}, Comment: "note"},
			{Port: 1, Dir: link.Tx, Time: 6 * sim.Microsecond, OrigLen: 0, Data: []byte{}},
		},
		stats: []Stats{{0, 1, 2}, {1, 3, 4}},
	}
}

func TestStreamRoundTrip(t *testing.T) {
	want, got := example(), new(note)
	for i := range want.records {
		r := &want.records[i]
		r.Wall = base.Add(time.Duration(r.Time.Nanoseconds()))
	}
	// One byte at a time, as a socket may deliver it.
	if err := Decode(iotest.OneByteReader(bytes.NewReader(encode(want))), got); err != nil {
		t.Fatal(err)
	}
	got.flushes = 0
	if !got.head.Base.Equal(base) {
		t.Errorf("base %v", got.head.Base)
	}
	got.head.Base = base
	for i := range got.records {
		if !got.records[i].Wall.Equal(want.records[i].Wall) {
			t.Errorf("record %d: %v", i, got.records[i].Wall)
		}
		got.records[i].Wall = want.records[i].Wall
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// A stream cut anywhere gives ErrCut, never a success.
func TestStreamCut(t *testing.T) {
	b := encode(example())
	for n := range b {
		if err := Decode(bytes.NewReader(b[:n]), new(note)); !errors.Is(err, ErrCut) {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
	}
}

func TestStreamErrors(t *testing.T) {
	head := appendHeader(nil, Header{Base: base})
	port := appendPort(bytes.Clone(head), 0, "p", Ethernet)
	changed := func(b []byte, i int, v byte) []byte {
		b = bytes.Clone(b)
		b[i] = v
		return b
	}
	packet := func(dir link.Direction, orig, keep, comment, body int) []byte {
		var h [packetHead]byte
		putPacketHead(&h, 0, dir, 0, orig, keep, comment)
		h[7] = byte(body)
		return append(append(bytes.Clone(port), h[:]...), make([]byte, 60)...)
	}
	tests := []struct {
		name   string
		stream []byte
		want   string
	}{
		{"something else", []byte("HTTP/1.1 404 Not Found, and so on"), "not a capture stream"},
		{"version", changed(head, 8, 9), "version 9"},
		{"long filter", changed(head, 24, 0xff), "filter of"},
		{"kind", appendMsg(bytes.Clone(head), 77, 0, 0, 0), "kind 77"},
		{"length", appendMsg(bytes.Clone(head), kindPort, 0, 0, maxBody+1), "message of"},
		{"port out of order", appendPort(bytes.Clone(head), 3, "p", Ethernet), "port 3"},
		{"link type", appendPort(bytes.Clone(head), 0, "p", 7), "link type 7"},
		{"packet of an unknown port", append(bytes.Clone(head), packet(0, 3, 3, 0, 19)[len(port):]...), "before it was named"},
		{"statistics of an unknown port", appendStats(bytes.Clone(head), Stats{}), "before it was named"},
		{"short statistics", append(appendMsg(bytes.Clone(port), kindStats, 0, 0, 3), 1, 2, 3), "statistics of 3 bytes"},
		{"direction", packet(2, 3, 3, 0, 19), "direction 2"},
		{"short packet", packet(0, 3, 3, 0, 15), "packet of 15 bytes"},
		{"more than was on the wire", packet(0, 3, 4, 0, 20), "3 on the wire"},
		{"comment longer than the packet", packet(0, 3, 3, 9, 19), "9 bytes of comment"},
	}
	for _, tt := range tests {
		err := Decode(bytes.NewReader(tt.stream), new(note))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q in it", tt.name, err, tt.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(example()))
	f.Add(encode(&note{head: Header{Base: base}}))
	f.Add([]byte(magic))
	_, serial := serial(f, 0, nil, "900300000001")
	f.Add(serial)
	f.Fuzz(func(t *testing.T, b []byte) {
		n := new(note)
		if Decode(bytes.NewReader(b), n) != nil {
			return
		}
		// What was understood can be written and understood again.
		n.flushes = 0
		m := new(note)
		if err := Decode(bytes.NewReader(encode(n)), m); err != nil {
			t.Fatal(err)
		}
		m.flushes = 0
		if len(n.stats)+len(n.records) < 100 && !reflect.DeepEqual(n, m) {
			t.Fatalf("decoded %+v\nagain   %+v", n, m)
		}
		var out bytes.Buffer
		if err := Decode(bytes.NewReader(b), NewPcapNG(&out)); err != nil {
			t.Fatal(err)
		}
	})
}
