package transport

import (
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

func TestDiff(t *testing.T) {
	for _, r := range []struct {
		a, b uint32
		want int32
	}{{1, 0, 1}, {0, 1, -1}, {0, 0xffffff, 1}, {0xffffff, 0, -1}, {0x7fffff, 0, 0x7fffff}, {0x800001, 0, -0x7fffff}, {5, 5, 0}} {
		if got := Diff(r.a, r.b); got != r.want {
			t.Errorf("Diff(%#x, %#x) = %d, want %d", r.a, r.b, got, r.want)
		}
	}
	if Add(0xffffff, 2) != 1 {
		t.Error("Add does not wrap")
	}
}

func TestPackets(t *testing.T) {
	for _, r := range [][3]uint32{{0, 256, 1}, {1, 256, 1}, {256, 256, 1}, {257, 256, 2}, {1 << 30, 4096, 1 << 18}} {
		if got := Packets(r[0], r[1]); got != r[2] {
			t.Errorf("Packets(%d, %d) = %d, want %d", r[0], r[1], got, r[2])
		}
	}
}

func TestTimers(t *testing.T) {
	for code, us := range map[uint8]int64{0: 655360, 1: 10, 5: 60, 12: 640, 14: 1280, 31: 491520, 33: 10} {
		if got := RNRTime(code); got != sim.Time(us)*sim.Microsecond {
			t.Errorf("RNR timer %d: %v, want %d us", code, got, us)
		}
	}
	if AckTimeout(0) != 0 || AckTimeout(1) != 8192*sim.Nanosecond || AckTimeout(14) != 4096*sim.Nanosecond<<14 {
		t.Error("ACK timeouts")
	}
	if MTUBytes(1) != 256 || MTUBytes(5) != 4096 {
		t.Error("MTU codes")
	}
}

// TestOps compares the table with that of package wire, which decodes.
func TestOps(t *testing.T) {
	for o, p := range Ops {
		op := wire.Opcode(o)
		if p.Kind == 0 {
			if op.Known() && op != wire.RCSendLastInv && op != wire.RCSendOnlyInv {
				t.Errorf("%v is not served", op)
			}
			continue
		}
		x := op.Has()
		if int(p.Ext) != op.HeaderLen()-wire.BTHLen {
			t.Errorf("%v: %d bytes of extension headers, want %d", op, p.Ext, op.HeaderLen()-wire.BTHLen)
		}
		if (p.Kind&Payload != 0) != (x&wire.ExtPayload != 0) || (p.Kind&Imm != 0) != (x&wire.ExtImmDt != 0) {
			t.Errorf("%v: kind %#x, headers %#x", op, p.Kind, x)
		}
	}
	for _, first := range []bool{false, true} {
		for _, last := range []bool{false, true} {
			for _, imm := range []bool{false, true} {
				for _, c := range []struct {
					op   wire.Opcode
					kind Kind
				}{{SendOpcode(first, last, imm), Send}, {WriteOpcode(first, last, imm), Write}, {ReadOpcode(first, last), ReadResponse}} {
					k := Ops[c.op].Kind
					if k&c.kind == 0 || (k&First != 0) != first || (k&Last != 0) != last || c.kind != ReadResponse && (k&Imm != 0) != (last && imm) {
						t.Errorf("first %v last %v imm %v: %v", first, last, imm, c.op)
					}
				}
			}
		}
	}
}
