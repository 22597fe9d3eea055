package ring

import (
	"encoding/binary"
	"testing"
)

func newTest(t testing.TB, slots, elem int) *Ring {
	r, err := New(Bytes(make([]uint64, Size(slots, elem)/8)), slots, elem)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLayout checks the offsets of struct rxe_queue_buf.
func TestLayout(t *testing.T) {
	r := newTest(t, 8, 64)
	b := r.Bytes()
	r.SetProducer(5)
	r.SetConsumer(3)
	r.At(2)[0] = 0xee
	le := binary.NativeEndian
	if le.Uint32(b) != 6 || le.Uint32(b[4:]) != 7 || le.Uint32(b[128:]) != 5 || le.Uint32(b[256:]) != 3 || b[384+2*64] != 0xee {
		t.Errorf("header % x", b[:260])
	}
	if len(b) != 384+8*64 {
		t.Errorf("%d bytes", len(b))
	}
}

func TestGeometry(t *testing.T) {
	for n, want := range map[int]int{0: 2, 1: 2, 2: 4, 3: 4, 127: 128, 128: 256} {
		if got := Slots(n); got != want {
			t.Errorf("Slots(%d) = %d, want %d", n, got, want)
		}
	}
	for n, want := range map[int]int{1: 64, 64: 64, 65: 128, 208: 256, 720: 1024} {
		if got := ElemSize(n); got != want {
			t.Errorf("ElemSize(%d) = %d, want %d", n, got, want)
		}
	}
	mem := Bytes(make([]uint64, 1000))
	for _, r := range []struct{ n, slots, elem int }{{8000, 3, 64}, {8000, 1, 64}, {8000, 4, 100}, {8000, 4, 32}, {600, 4, 64}, {8000, 1 << 21, 64}} {
		if _, err := New(mem[:r.n], r.slots, r.elem); err == nil {
			t.Errorf("%+v is accepted", r)
		}
	}
	if _, err := New(mem[1:], 4, 64); err == nil {
		t.Error("memory that is not aligned is accepted")
	}
}

// TestHostileIndexes: any index stays inside.
func TestHostileIndexes(t *testing.T) {
	r := newTest(t, 8, 128)
	for _, v := range []uint32{0, 7, 8, 1 << 31, ^uint32(0)} {
		*r.prod, *r.cons = v, v
		if r.Producer() > 7 || r.Consumer() > 7 || len(r.At(v)) != 128 || cap(r.At(v)) != 128 {
			t.Errorf("index %#x leads outside", v)
		}
	}
	if r.Next(7) != 0 || r.Distance(6, 1) != 3 {
		t.Error("indexes do not wrap")
	}
	r.Clear()
	if r.Producer() != 0 || r.Consumer() != 0 {
		t.Error("not empty")
	}
}

func TestSendWQE(t *testing.T) {
	w := SendWQE(make([]byte, 256))
	s := Send{ID: 1 << 40, Opcode: OpRDMAWriteImm, Flags: FlagSignaled, Imm: [4]byte{1, 2, 3, 4}, RemoteAddr: 0x1234567890, RKey: 77, SGEs: []SGE{{1, 2, 3}, {4, 5, 6}}}
	if !w.Encode(&s) {
		t.Fatal("does not fit")
	}
	if w.ID() != s.ID || w.Opcode() != s.Opcode || w.Flags() != s.Flags || w.Imm() != s.Imm || w.RemoteAddr() != s.RemoteAddr || w.RKey() != 77 ||
		w.Length() != 7 || w.NumSGE() != 2 || w.SGE(0) != s.SGEs[0] || w.SGE(1) != s.SGEs[1] {
		t.Errorf("% x", []byte(w))
	}
	a := Send{Opcode: OpCompareSwap, RKey: 9, CompareAdd: 10, Swap: 11}
	if w.Encode(&a); w.AtomicRKey() != 9 || w.CompareAdd() != 10 || w.Swap() != 11 {
		t.Errorf("% x", []byte(w))
	}
	i := Send{Opcode: OpSend, Flags: FlagInline, Inline: []byte("hello")}
	if w.Encode(&i); w.Length() != 5 || string(w.Inline()[:5]) != "hello" {
		t.Errorf("% x", []byte(w))
	}
	i.Inline = make([]byte, 49)
	if w.Encode(&i) || w.Encode(&Send{SGEs: make([]SGE, 4)}) || w.MaxSGE() != 3 {
		t.Error("more than the slot holds is accepted")
	}
}

func TestRecvWQE(t *testing.T) {
	w := RecvWQE(make([]byte, 64))
	if !w.Encode(5, []SGE{{1, 2, 3}}) || w.ID() != 5 || w.NumSGE() != 1 || w.SGE(0) != (SGE{1, 2, 3}) {
		t.Errorf("% x", []byte(w))
	}
	if w.Encode(5, make([]SGE, 2)) {
		t.Error("two SGEs in a slot for one")
	}
}

// FuzzCQE: what is encoded is decoded; what is decoded can be anything.
func FuzzCQE(f *testing.F) {
	f.Add(make([]byte, 64))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 48 {
			return
		}
		var c, d CQE
		c.Decode(b)
		var e [64]byte
		c.Encode(e[:])
		if d.Decode(e[:]); c != d {
			t.Errorf("%+v, again %+v", c, d)
		}
	})
}

func TestSendCompletion(t *testing.T) {
	for op, want := range map[uint32]uint32{
		OpSend: WCSend, OpSendImm: WCSend, OpRDMAWrite: WCRDMAWrite, OpRDMAWriteImm: WCRDMAWrite,
		OpRDMARead: WCRDMARead, OpCompareSwap: WCCompareSwap, OpFetchAdd: WCFetchAdd,
	} {
		if got := SendCompletion(op); got != want {
			t.Errorf("opcode %d completes as %d, want %d", op, got, want)
		}
	}
}
