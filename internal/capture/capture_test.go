package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

var base = time.Date(2026, 3, 4, 5, 6, 7, 89, time.UTC)

// note is a Sink that keeps everything.
type note struct {
	head    Header
	ports   []string
	links   []LinkType
	records []Record
	stats   []Stats
	flushes int
}

func (n *note) Start(h Header) error { n.head = h; return nil }

func (n *note) Port(i int, name string, l LinkType) error {
	if i != len(n.ports) {
		return fmt.Errorf("port %d where %d was next", i, len(n.ports))
	}
	n.ports, n.links = append(n.ports, name), append(n.links, l)
	return nil
}

// link of port i, Ethernet if nothing else was said.
func (n *note) link(i int) LinkType {
	if i < len(n.links) {
		return n.links[i]
	}
	return Ethernet
}

func (n *note) Packet(r Record) error {
	r.Data = bytes.Clone(r.Data)
	n.records = append(n.records, r)
	return nil
}

func (n *note) Stats(s Stats) error { n.stats = append(n.stats, s); return nil }
func (n *note) Flush() error        { n.flushes++; return nil }

// finished writes what s holds as a stream that has ended.
func finished(t testing.TB, s *Session) []byte {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var b bytes.Buffer
	if err := s.Run(ctx, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decode(t testing.TB, stream []byte) *note {
	t.Helper()
	n := new(note)
	if err := Decode(bytes.NewReader(stream), n); err != nil {
		t.Fatal(err)
	}
	return n
}

// whole is a frame from outside, in one piece.
func whole(n int, fill byte) *frame.Frame {
	f := new(frame.Frame)
	b := f.Buf(n)
	for i := range b {
		b[i] = fill
	}
	f.WireLen()
	return f
}

// writeFrame is an RC RDMA WRITE Only whose ICRC is deferred.
func writeFrame(pool *frame.Pool, payload []byte) *frame.Frame {
	const head = wire.EthernetLen + wire.IPv4Len + wire.UDPLen + wire.BTHLen + wire.RETHLen
	f := pool.Get()
	b := f.Head(head)
	pad := -len(payload) & 3
	n := head - wire.EthernetLen + len(payload) + pad + wire.ICRCLen
	wire.Ethernet(b).Encode([6]byte{2, 0, 0, 0, 0, 2}, [6]byte{2, 0, 0, 0, 0, 1}, wire.EtherTypeIPv4)
	ip := wire.IPv4Fields{TOS: 0x6a, TotalLen: n, DontFragment: true, TTL: 64, Proto: wire.ProtoUDP, Src: [4]byte{10, 0, 0, 1}, Dst: [4]byte{10, 0, 0, 2}}
	ip.Encode(b[14:])
	wire.UDP(b[34:]).Encode(0xc001, wire.RoCEv2Port, n-wire.IPv4Len)
	bth := wire.BTHFields{Opcode: wire.RCWriteOnly, MigReq: true, Pad: uint8(pad), PKey: wire.DefaultPKey, DestQP: 0x11, AckReq: true, PSN: 5}
	bth.Encode(b[42:])
	wire.RETH(b[54:]).Encode(0x7f0000001000, 0x1234, uint32(len(payload)))
	f.SetPayload(payload, nil)
	f.Meta.ICRCDeferred, f.Meta.Pad = true, uint8(pad)
	f.WireLen()
	return f
}

func TestRecords(t *testing.T) {
	s := NewSession(Config{Base: base})
	a, b := s.Tap("s1:1"), s.Tap("h1:eth0")
	var pool frame.Pool
	w := writeFrame(&pool, []byte("hello"))
	a.Observe(nil, link.Tx, 1500*sim.Nanosecond+999, w)
	b.Observe(nil, link.Rx, 2*sim.Second, whole(14, 0xee))
	b.Note(link.Rx, 2*sim.Second+1, whole(1000, 0xdd), "dropped: buffer full")

	n := decode(t, finished(t, s))
	if !n.head.Base.Equal(base) || n.head.Filter != "" || n.head.SnapLen != 0 {
		t.Errorf("header %+v", n.head)
	}
	if fmt.Sprint(n.ports) != "[s1:1 h1:eth0]" || len(n.records) != 3 || n.flushes == 0 {
		t.Fatalf("ports %v, %d records, %d flushes", n.ports, len(n.records), n.flushes)
	}
	r := n.records[0]
	if want := w.AppendTo(nil); r.Port != 0 || r.Dir != link.Tx || r.Time != 1500999 || !r.Wall.Equal(base.Add(1500)) || !bytes.Equal(r.Data, want) || r.OrigLen != len(want) {
		t.Errorf("first record %+v", r)
	}
	if icrc := r.Data[len(r.Data)-4:]; bytes.Equal(icrc, make([]byte, 4)) {
		t.Error("the ICRC was not computed")
	}
	r = n.records[1] // padded as on the wire
	if want := append(bytes.Repeat([]byte{0xee}, 14), make([]byte, 46)...); r.Port != 1 || r.Dir != link.Rx || !bytes.Equal(r.Data, want) || r.OrigLen != 60 {
		t.Errorf("second record %+v", r)
	}
	if r = n.records[2]; r.Comment != "dropped: buffer full" || len(r.Data) != 1000 {
		t.Errorf("third record %+v", r)
	}
	if want := []Stats{{0, 1, 0}, {1, 2, 0}}; fmt.Sprint(n.stats) != fmt.Sprint(want) {
		t.Errorf("statistics %v, want %v", n.stats, want)
	}
}

func TestSnapLen(t *testing.T) {
	s := NewSession(Config{Base: base, SnapLen: 70})
	tap := s.Tap("p")
	var pool frame.Pool
	f := writeFrame(&pool, make([]byte, 1001))
	tap.Observe(nil, link.Tx, 0, f)
	tap.Observe(nil, link.Tx, 0, whole(20, 1))
	n := decode(t, finished(t, s))
	want := f.AppendTo(nil)
	if r := n.records[0]; !bytes.Equal(r.Data, want[:70]) || r.OrigLen != len(want) {
		t.Errorf("%d bytes of %d, want 70 of %d", len(r.Data), r.OrigLen, len(want))
	}
	if r := n.records[1]; len(r.Data) != 60 || r.OrigLen != 60 {
		t.Errorf("short frame: %d bytes of %d", len(r.Data), r.OrigLen)
	}
	// A cut inside the ICRC still shows the part of it that is there.
	s = NewSession(Config{SnapLen: len(want) - 2})
	s.Tap("p").Observe(nil, link.Tx, 0, f)
	if r := decode(t, finished(t, s)).records[0]; !bytes.Equal(r.Data, want[:len(want)-2]) {
		t.Errorf("cut in the ICRC: ends with %x", r.Data[len(r.Data)-4:])
	}
}

// What does not fit is counted, and what fits is whole.
func TestLost(t *testing.T) {
	s := NewSession(Config{RingBytes: 4096})
	tap, other := s.Tap("p"), s.Tap("q")
	const size = 1100 // three fit, and then a small one
	for i := range 10 {
		tap.Observe(nil, link.Rx, sim.Time(i), whole(size, byte(i)))
	}
	other.Observe(nil, link.Rx, 0, whole(20, 0))
	if s.Lost() != 7 {
		t.Errorf("lost %d, want 7", s.Lost())
	}
	n := decode(t, finished(t, s))
	if want := []Stats{{0, 10, 7}, {1, 1, 0}}; fmt.Sprint(n.stats) != fmt.Sprint(want) {
		t.Errorf("statistics %v, want %v", n.stats, want)
	}
	for i, r := range n.records[:3] {
		if !bytes.Equal(r.Data, bytes.Repeat([]byte{byte(i)}, size)) {
			t.Errorf("record %d: %x...", i, r.Data[:8])
		}
	}
	if len(n.records) != 4 {
		t.Errorf("%d records", len(n.records))
	}
}

// Engine and writer run side by side, the ring wraps many times, a port is
// added on the way, and every record arrives or is counted.
func TestConcurrent(t *testing.T) {
	s := NewSession(Config{Base: base, RingBytes: 1 << 14})
	taps := []*Tap{s.Tap("a"), s.Tap("b")}
	pr, pw := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	run := make(chan error, 1)
	go func() {
		err := s.Run(ctx, pw)
		pw.CloseWithError(err)
		run <- err
	}()
	done := make(chan error, 1)
	n := new(note)
	go func() { done <- Decode(pr, n) }()

	const frames = 20000
	f := whole(2000, 0)
	for i := range frames {
		if i == frames/2 {
			taps = append(taps, s.Tap("c"))
		}
		size := 60 + i*7%500
		f.Data = f.Data[:size]
		for j := range f.Data {
			f.Data[j] = byte(i)
		}
		taps[i%len(taps)].Observe(nil, link.Direction(i&1), sim.Time(i), f)
	}
	cancel()
	if err := <-run; err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var received, lost uint64
	for _, st := range n.stats {
		received += st.Received
		lost += st.Lost
	}
	if received != frames || lost != s.Lost() || uint64(len(n.records))+lost != frames || len(n.ports) != 3 {
		t.Errorf("received %d, lost %d (%d), records %d, ports %v", received, lost, s.Lost(), len(n.records), n.ports)
	}
	last := sim.Time(-1)
	for _, r := range n.records {
		i := int(r.Time)
		if r.Time <= last || len(r.Data) != 60+i*7%500 || r.Dir != link.Direction(i&1) {
			t.Fatalf("record %+v after %v", r, last)
		}
		for _, x := range r.Data {
			if x != byte(i) {
				t.Fatalf("record %d: %x", i, r.Data)
			}
		}
		last = r.Time
	}
}

// An idle writer is woken by a frame: without the wake-up this never ends.
func TestIdleWriterWakes(t *testing.T) {
	s := NewSession(Config{})
	tap := s.Tap("p")
	pr, pw := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { pw.CloseWithError(s.Run(ctx, pw)) }()
	got := make(chan Record)
	go Decode(pr, &forward{got: got})
	for i := range 3 {
		for !s.sleeping.Load() {
			time.Sleep(time.Millisecond)
		}
		tap.Observe(nil, link.Tx, sim.Time(i), whole(60, 1))
		select {
		case r := <-got:
			if r.Time != sim.Time(i) {
				t.Fatalf("record %+v", r)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the frame did not come")
		}
	}
}

type forward struct {
	note
	got chan Record
}

func (f *forward) Packet(r Record) error {
	f.got <- r
	return nil
}

type brokenWriter struct{ after int }

var errBroken = errors.New("broken pipe")

func (b *brokenWriter) Write(p []byte) (int, error) {
	if b.after--; b.after < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

func TestRunWriteError(t *testing.T) {
	for after := range 3 {
		s := NewSession(Config{})
		s.Tap("p").Observe(nil, link.Tx, 0, whole(60, 1))
		ctx, cancel := context.WithCancel(context.Background())
		if after == 2 {
			cancel()
		}
		if err := s.Run(ctx, &brokenWriter{after}); !errors.Is(err, errBroken) {
			t.Errorf("after %d writes: %v", after, err)
		}
		cancel()
	}
}

func TestNoAllocations(t *testing.T) {
	s := NewSession(Config{RingBytes: 1 << 20})
	tap := s.Tap("p")
	var pool frame.Pool
	f := writeFrame(&pool, make([]byte, 4096))
	if n := testing.AllocsPerRun(400, func() { // the ring fills on the way
		tap.Observe(nil, link.Tx, 1, f)
	}); n != 0 {
		t.Errorf("%v allocations per frame", n)
	}
	if s.Lost() == 0 {
		t.Error("the ring did not fill")
	}
}

func BenchmarkObserve4096(b *testing.B) {
	s := NewSession(Config{})
	tap := s.Tap("p")
	var pool frame.Pool
	f := writeFrame(&pool, make([]byte, 4096))
	for b.Loop() {
		tap.Observe(nil, link.Tx, 1, f)
		until, _ := s.ring.pending()
		s.ring.free(until)
	}
}

func BenchmarkObserveSnap96(b *testing.B) {
	s := NewSession(Config{SnapLen: 96})
	tap := s.Tap("p")
	var pool frame.Pool
	f := writeFrame(&pool, make([]byte, 4096))
	for b.Loop() {
		tap.Observe(nil, link.Tx, 1, f)
		until, _ := s.ring.pending()
		s.ring.free(until)
	}
}
