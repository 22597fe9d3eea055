package hca_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/verbs"
	"cnuas/internal/sim"
)

// TestOperations carries out each operation once, over IPv4 and IPv6, for
// sizes around the MTU, and compares memories and completions.
func TestOperations(t *testing.T) {
	for _, gid := range []uint8{0, 1} {
		for _, mtu := range []uint8{1, 3, 5} {
			m := 128 << mtu
			for _, n := range []int{0, 1, 3, 64, m - 1, m, m + 1, 3*m + 5, 300_000} {
				t.Run(fmt.Sprintf("gid%d/mtu%d/%d", gid, m, n), func(t *testing.T) { testOperations(t, gid, mtu, n) })
			}
		}
	}
}

func testOperations(t *testing.T, gid, mtu uint8, n int) {
	p := newPair(t, 1, nil, hca.Config{})
	path := verbs.Path{MTU: mtu, PSN: [2]uint32{0xfffffe, 0x123}}
	if gid == 0 {
		for _, d := range p.dev { // index 2 is a second link-local GID
			d.SetGID(2, hca.GIDEntry{GID: llgid(byte(0x10 + d.Config().MAC[5])), Valid: true})
		}
		path.GIDIndex = [2]uint8{2, 2}
	}
	x := p.connect(connOpt{path: path})
	a, b := x[0], x[1]
	half := len(a.buf.B) / 2
	step := func(name string, w ring.Send, recv bool, want ring.CQE, wantRecv ring.CQE) {
		t.Helper()
		fill(a.buf.B[:half], uint32(n)+w.Opcode)
		fill(b.buf.B[:half], uint32(n)+w.Opcode+77)
		clear(a.buf.B[half:])
		clear(b.buf.B[half:])
		w.ID, w.Flags = 42, w.Flags|ring.FlagSignaled
		w.RKey = b.buf.MR.RKey()
		if recv {
			if err := b.qp.PostRecv(7, b.buf.SGE(half, n)); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.qp.PostSend(&w); err != nil {
			t.Fatal(err)
		}
		p.run(sim.Millisecond)
		want.ID, want.QPN, want.SrcQP, want.Port, want.ByteLen = 42, a.qp.Num(), b.qp.Num(), 1, uint32(n)
		if got := a.poll(); len(got) != 1 || got[0] != want {
			t.Errorf("%s: completions %+v, want %+v", name, got, want)
		}
		if got := b.poll(); recv {
			wantRecv.ID, wantRecv.QPN, wantRecv.SrcQP, wantRecv.Port = 7, b.qp.Num(), a.qp.Num(), 1
			if len(got) != 1 || got[0] != wantRecv {
				t.Errorf("%s: receive completions %+v, want %+v", name, got, wantRecv)
			}
		} else if len(got) != 0 {
			t.Errorf("%s: completions %+v at a passive side", name, got)
		}
	}
	remote := b.buf.Addr + uint64(half)
	sge := []ring.SGE{a.buf.SGE(0, n)}
	imm := [4]byte{1, 2, 3, 4}
	check := func(name string, got, want []byte) {
		t.Helper()
		if !bytes.Equal(got, want) {
			t.Errorf("%s: the data differ", name)
		}
	}

	step("write", ring.Send{Opcode: ring.OpRDMAWrite, RemoteAddr: remote, SGEs: sge}, false, ring.CQE{Opcode: ring.WCRDMAWrite}, ring.CQE{})
	check("write", b.buf.B[half:half+n], a.buf.B[:n])
	step("write imm", ring.Send{Opcode: ring.OpRDMAWriteImm, RemoteAddr: remote, Imm: imm, SGEs: sge}, true,
		ring.CQE{Opcode: ring.WCRDMAWrite}, ring.CQE{Opcode: ring.WCRecvImm, Flags: ring.WCFlagImm, Imm: imm, ByteLen: uint32(n)})
	check("write imm", b.buf.B[half:half+n], a.buf.B[:n])
	step("send", ring.Send{Opcode: ring.OpSend, SGEs: sge}, true, ring.CQE{Opcode: ring.WCSend}, ring.CQE{Opcode: ring.WCRecv, ByteLen: uint32(n)})
	check("send", b.buf.B[half:half+n], a.buf.B[:n])
	step("send imm", ring.Send{Opcode: ring.OpSendImm, Imm: imm, SGEs: sge}, true,
		ring.CQE{Opcode: ring.WCSend}, ring.CQE{Opcode: ring.WCRecv, ByteLen: uint32(n), Flags: ring.WCFlagImm, Imm: imm})
	check("send imm", b.buf.B[half:half+n], a.buf.B[:n])
	step("read", ring.Send{Opcode: ring.OpRDMARead, RemoteAddr: b.buf.Addr, SGEs: []ring.SGE{a.buf.SGE(half, n)}}, false, ring.CQE{Opcode: ring.WCRDMARead}, ring.CQE{})
	check("read", a.buf.B[half:half+n], b.buf.B[:n])
	if n <= 512 {
		step("inline", ring.Send{Opcode: ring.OpSend, Flags: ring.FlagInline, Inline: a.buf.B[:n]}, true, ring.CQE{Opcode: ring.WCSend}, ring.CQE{Opcode: ring.WCRecv, ByteLen: uint32(n)})
		check("inline", b.buf.B[half:half+n], a.buf.B[:n])
	}
	if n > 40 { // scattered on both sides
		k := n / 3
		list := []ring.SGE{a.buf.SGE(100, k), a.buf.SGE(0, 0), a.buf.SGE(100+k, 1), a.buf.SGE(5, n-k-1)}
		step("scattered write", ring.Send{Opcode: ring.OpRDMAWrite, RemoteAddr: remote, SGEs: list}, false, ring.CQE{Opcode: ring.WCRDMAWrite}, ring.CQE{})
		check("scattered write", b.buf.B[half:half+n], append(append([]byte{}, a.buf.B[100:100+k+1]...), a.buf.B[5:5+n-k-1]...))
		list = []ring.SGE{a.buf.SGE(half, k), a.buf.SGE(half+k+9, n-k)}
		step("scattered read", ring.Send{Opcode: ring.OpRDMARead, RemoteAddr: b.buf.Addr, SGEs: list}, false, ring.CQE{Opcode: ring.WCRDMARead}, ring.CQE{})
		check("scattered read", a.buf.B[half:half+k], b.buf.B[:k])
		check("scattered read", a.buf.B[half+k+9:half+n+9], b.buf.B[k:n])
	}
	if n == 64 {
		n = 8
		operand := uint64(0x1122334455667788)
		w := ring.Send{Opcode: ring.OpFetchAdd, RemoteAddr: b.buf.Addr + 8, CompareAdd: operand, SGEs: []ring.SGE{a.buf.SGE(half, 8)}}
		step("fetch add", w, false, ring.CQE{Opcode: ring.WCFetchAdd}, ring.CQE{})
		was := binary.NativeEndian.Uint64(a.buf.B[half:])
		if now := binary.NativeEndian.Uint64(b.buf.B[8:]); now != was+operand {
			t.Errorf("fetch add: %#x, before %#x", now, was)
		}
		fill(b.buf.B[:half], 8+ring.OpCompareSwap+77)
		cur := binary.NativeEndian.Uint64(b.buf.B[8:])
		w.Opcode, w.CompareAdd, w.Swap = ring.OpCompareSwap, cur, 99
		step("compare swap", w, false, ring.CQE{Opcode: ring.WCCompareSwap}, ring.CQE{})
		if now := binary.NativeEndian.Uint64(b.buf.B[8:]); now != 99 {
			t.Errorf("compare swap: %#x, want 99", now)
		}
		w.CompareAdd = cur + 1
		step("compare, no swap", w, false, ring.CQE{Opcode: ring.WCCompareSwap}, ring.CQE{})
		if now := binary.NativeEndian.Uint64(b.buf.B[8:]); now != cur || binary.NativeEndian.Uint64(a.buf.B[half:]) != cur {
			t.Errorf("compare swap that does not match wrote %#x", now)
		}
	}
	if n := p.dev[0].Counters(); n.Retransmitted != 0 || n.Timeouts != 0 {
		t.Errorf("retransmissions without loss: %+v", n)
	}
	p.drain()
}
