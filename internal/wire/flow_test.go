package wire

import "testing"

// The packets of ib_erf25_flow_pad64.pcap, whose CRCs were made elsewhere.
func TestFlowGolden(t *testing.T) {
	frames, types := erfFrames(t, "ib_erf25_flow_pad64.pcap")
	want := []FlowFields{{FlowInit, 0, 0, 0x080}, {}, {}}
	if len(frames) != len(want) {
		t.Fatalf("%d packets", len(frames))
	}
	for i, b := range frames {
		f := Flow(b)
		if types[i] != 25 || !f.Valid() || !f.Intact() {
			t.Errorf("packet %d: type %d, %x", i+1, types[i], b[:FlowLen])
		}
		x := f.Fields()
		if i == 0 && x != want[0] {
			t.Errorf("packet 1: %+v", x)
		}
		var out [FlowLen]byte
		x.Encode(out[:])
		if hexOf(out[:]) != hexOf(b[:FlowLen]) {
			t.Errorf("packet %d: emitted %x of %x", i+1, out, b[:FlowLen])
		}
	}
}

func FuzzFlow(f *testing.F) {
	f.Add([]byte{0x10, 0, 0, 0x80, 0x50, 0xd5})
	f.Fuzz(func(t *testing.T, b []byte) {
		p := Flow(b)
		if !p.Valid() {
			return
		}
		x := p.Fields()
		var out [FlowLen]byte
		x.Encode(out[:])
		if Flow(out[:]).Fields() != x || !Flow(out[:]).Intact() || string(out[:4]) != string(b[:4]) {
			t.Fatalf("%x: %x", b, out)
		}
	})
}

func TestFlowBlocks(t *testing.T) {
	for n, want := range map[int]int{1: 1, 64: 1, 65: 2, 290: 5, 2048 + 26: 33} {
		if got := FlowBlocks(n); got != want {
			t.Errorf("%d bytes: %d blocks", n, got)
		}
	}
}

func TestCredits(t *testing.T) {
	tests := []struct {
		sent, limit uint16
		blocks      int
		may         bool
		credits     int
	}{
		{0, 0, 1, false, 0},
		{0, 0, 0, true, 0},
		{0, 5, 5, true, 5},
		{0, 5, 6, false, 5},
		{4090, 10, 16, true, 16}, // over the edge
		{4090, 10, 17, false, 16},
		{0, 2048, 2048, true, 2048},
		{0, 2049, 1, true, 0}, // by the formula of §7.9.4.4; Credits takes it for nothing
		{10, 5, 1, false, 0},  // granted less than was sent
	}
	for _, tt := range tests {
		s := FlowSender{Sent: tt.sent, Limit: tt.limit}
		if s.MaySend(tt.blocks) != tt.may || s.Credits() != tt.credits {
			t.Errorf("%+v, %d blocks: may send %v, credits %d", s, tt.blocks, s.MaySend(tt.blocks), s.Credits())
		}
	}
}

// A lane over many wraps, with packets lost on the way: the receiver's buffer
// never overflows, and after a flow control packet nothing is missing.
func TestCreditsRun(t *testing.T) {
	var s FlowSender
	var r FlowReceiver
	const buffer = 128
	used, lost, found := 0, 0, 0
	x := uint32(1)
	random := func(n uint32) uint32 { x = x*1664525 + 1013904223; return x >> 8 % n }
	s.Update(r.FCCL(buffer))
	for range 20000 {
		n := int(random(33)) + 1
		if s.MaySend(n) {
			s.Send(n)
			if random(20) == 0 {
				lost += n
			} else {
				r.Receive(n)
				used += n
			}
		}
		if used > buffer {
			t.Fatalf("%d blocks in a buffer of %d", used, buffer)
		}
		used -= min(used, int(random(40)))
		if random(4) == 0 {
			found += r.Sync(s.Sent)
			s.Update(r.FCCL(buffer - used))
		}
	}
	found += r.Sync(s.Sent)
	if lost != found || lost == 0 {
		t.Errorf("%d blocks lost, %d found", lost, found)
	}
}
