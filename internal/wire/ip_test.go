package wire

import (
	"bytes"
	"testing"
)

func FuzzIPv4(f *testing.F) {
	f.Add(unhex(f, "45c2003c718c40004011916"+"10a0011010a001201"))
	f.Add(unhex(f, "4f00003c000020010001ffff0a0011010a001201"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h := IPv4(b)
		if !h.Valid() {
			return
		}
		h.ChecksumOK()
		if h.HeaderLen() != IPv4Len {
			return // Encode writes no options
		}
		x := IPv4Fields{TOS: h.TOS(), TotalLen: h.TotalLen(), ID: h.ID(), DontFragment: h.DontFragment(), TTL: h.TTL(), Proto: h.Proto(), Src: h.Src(), Dst: h.Dst()}
		out := make(IPv4, IPv4Len)
		x.Encode(out)
		if !out.ChecksumOK() || !out.Valid() {
			t.Fatalf("emitted %x", out)
		}
		in := bytes.Clone(b[:IPv4Len])
		if h.MoreFragments() || h.FragmentOffset() != 0 {
			in[6] &= 0x40
			in[7] = 0
		}
		in[6] &= 0x7f // the flag that has to be 0
		copy(in[10:], out[10:12])
		if !bytes.Equal(in, out) {
			t.Fatalf("parsed %x, emitted %x", in, out)
		}
	})
}

func FuzzIPv6(f *testing.F) {
	f.Add(append(unhex(f, "6e812345002c1140"), make([]byte, 32)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		h := IPv6(b)
		if !h.Valid() {
			return
		}
		x := IPv6Fields{TrafficClass: h.TrafficClass(), FlowLabel: h.FlowLabel(), PayloadLen: h.PayloadLen(), NextHeader: h.NextHeader(), HopLimit: h.HopLimit(), Src: h.Src(), Dst: h.Dst()}
		out := make(IPv6, IPv6Len)
		x.Encode(out)
		if !bytes.Equal(out, b[:IPv6Len]) {
			t.Fatalf("parsed %x, emitted %x", b[:IPv6Len], out)
		}
		out.SetTrafficClass(^x.TrafficClass)
		out.SetFlowLabel(x.FlowLabel ^ 0xabcde)
		if out.TrafficClass() != ^x.TrafficClass || out.FlowLabel() != x.FlowLabel^0xabcde || !out.Valid() {
			t.Fatalf("setters: %x", out)
		}
	})
}

func FuzzUDP(f *testing.F) {
	f.Add(unhex(f, "c00012b7002caca2"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h := UDP(b)
		if !h.Valid() {
			return
		}
		out := make(UDP, UDPLen)
		out.Encode(h.SrcPort(), h.DstPort(), h.Len())
		if out.Checksum() != 0 {
			t.Fatal("Encode left a checksum")
		}
		out.SetChecksum(h.Checksum())
		if !bytes.Equal(out, b[:UDPLen]) {
			t.Fatalf("parsed %x, emitted %x", b[:UDPLen], out)
		}
	})
}

func TestICMPChecksum(t *testing.T) {
	b := ICMP(append(make([]byte, ICMPLen), "abcde"...))
	b.SetType(ICMPEcho)
	b.SetID(0x1234)
	b.SetSeq(7)
	b.Seal()
	// 0800 + 1234 + 0007 + 6162 + 6364 + 6500 = 0x14401, folded 4402
	if b.Checksum() != 0xbbfd || !b.ChecksumOK() {
		t.Errorf("checksum %04x, want bbfd", b.Checksum())
	}
	src, dst := [16]byte{15: 1}, [16]byte{15: 2}
	b.Seal6(src, dst)
	// and 1 + 2 + 13 + 58 of the pseudo header = 0x4a more
	if b.Checksum() != 0xbbb3 || !b.ChecksumOK6(src, dst) {
		t.Errorf("checksum over IPv6 %04x, want bbb3", b.Checksum())
	}
	b[0] ^= 1
	if b.ChecksumOK() || b.ChecksumOK6(src, dst) {
		t.Error("a changed message has a right checksum")
	}
	b.SetRest(0xdeadbeef)
	b.SetCode(3)
	if b.ID() != 0xdead || b.Seq() != 0xbeef || b.Code() != 3 || b.Type() != ICMPEcho^1 || !b.Valid() || b[:7].Valid() {
		t.Errorf("accessors: %x", b)
	}
}

func TestND(t *testing.T) {
	target := [16]byte{0xfe, 0x80, 15: 0x99, 14: 0x88, 13: 0x77}
	mac := [6]byte{2, 0, 0, 0, 0, 9}
	b := ND(bytes.Repeat([]byte{0xee}, NDLen+NDOptionLen))
	b.Encode(ICMPv6NeighborAdv, NDRouter|NDOverride, target, mac)
	if want := "88000000a0000000" + "fe80000000000000000000000" + "0778899" + "0201" + "020000000009"; hexOf(b) != want {
		t.Errorf("advertisement: got %x, want %s", []byte(b), want)
	}
	if a, ok := b.LinkAddr(NDTargetLinkAddr); !ok || a != mac {
		t.Errorf("target link address %x %v", a, ok)
	}
	if _, ok := b.LinkAddr(NDSourceLinkAddr); ok {
		t.Error("an advertisement with a source link address")
	}
	if b.Flags() != NDRouter|NDOverride || b.Target() != target || !b.Valid() {
		t.Errorf("accessors: %x", []byte(b))
	}
	g := SolicitedNode(target)
	if hexOf(g[:]) != "ff0200000000000000000001ff778899" {
		t.Errorf("solicited-node group %x", g)
	}
	if m := MulticastMAC(g); hexOf(m[:]) != "3333ff778899" {
		t.Errorf("address of the group %x", m)
	}
}

func FuzzND(f *testing.F) {
	f.Add(append(make([]byte, NDLen), 14, 1, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7))
	f.Add(append(append([]byte{135}, make([]byte, NDLen-1)...), 1, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		h := ND(b)
		if !h.Valid() {
			return
		}
		mac, ok := h.LinkAddr(NDSourceLinkAddr)
		if !ok {
			return
		}
		out := make(ND, NDLen+NDOptionLen)
		out.Encode(ICMPv6NeighborSol, h.Flags(), h.Target(), mac)
		again, ok := out.LinkAddr(NDSourceLinkAddr)
		if !ok || again != mac || out.Target() != h.Target() || out.Flags() != h.Flags() || !out.Valid() {
			t.Fatalf("parsed %x, emitted %x", b, []byte(out))
		}
	})
}
