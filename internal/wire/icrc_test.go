package wire

import (
	"encoding/binary"
	"math/rand"
	"testing"
)

// Frames of other implementations, with their ICRC.
var icrcVectors = []struct{ name, frame string }{
	// Sent by a ConnectX-4 Lx; in the tests of Scapy's RoCE layer.
	{"CNP of a ConnectX-4 Lx", "e41d2dab2bc27cfe90643b32080045c2" +
		"003c718c40004011" + "91610a0011010a00" + "1201000012b70028" + "00008100ffff4000" +
		"0118000000000000" + "0000000000000000" + "00000000000082fd" + "002a"},
	// The example packet of the same tests.
	{"UC SEND Only over IPv4", "248a07a8fa22248a07a8fa220800" +
		"4501004004784000" + "4011b4d5c0a80007" + "c0a80007" + "c00012b7002caca2" +
		"2460ffff000000d300cf1710" + "4630818be28935d90e9a95505401be885e500000" + "78f353f3"},
	// Sent by the driver of an FPGA NIC; UDP checksum in use.
	{"RC RDMA WRITE Only over IPv4", "123456789abc7cb27d62c1ef0800" +
		"4500004c000100004011f54cc0a80201c0a80202" + "01f412b70038ffa6" +
		"0a00ffff0000000200000000" + "00000000000012300000000000000010" + "000102030405060708090a0b0c0d0e0f" + "ca47470e"},
}

func TestICRCVectors(t *testing.T) {
	for _, v := range icrcVectors {
		b := unhex(t, v.frame)
		n := len(b) - ICRCLen
		if got, want := ICRC(b[:n], EthernetLen), binary.LittleEndian.Uint32(b[n:]); got != want {
			t.Errorf("%s: got %08x, want %08x", v.name, got, want)
		}
	}
}

// slowICRC follows the text: the bits, each byte's least significant first,
// divided by the polynomial 0x04c11db7 with the register preset to ones and
// complemented at the end.
func slowICRC(b []byte) uint32 {
	crc := ^uint32(0)
	for _, x := range b {
		for i := range 8 {
			in := uint32(x>>i) & 1
			top := crc>>31 ^ in
			crc <<= 1
			if top != 0 {
				crc ^= 0x04c11db7
			}
		}
	}
	crc = ^crc
	var r uint32 // the register's high bit is sent first
	for i := range 32 {
		r |= (crc >> (31 - i) & 1) << i
	}
	return r
}

// TestICRCByTheText masks whole IPv4 and IPv6 packets as annex A17.3.3 lists
// the fields and compares with the fast way.
func TestICRCByTheText(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	for _, v6 := range []bool{false, true} {
		for _, size := range []int{0, 1, 4, 255, 1024, 4096} {
			ip := IPv4Len
			if v6 {
				ip = IPv6Len
			}
			b := make([]byte, EthernetLen+ip+UDPLen+BTHLen+size)
			rnd.Read(b)
			p := b[EthernetLen:]
			p[0] = 0x45
			if v6 {
				p[0] = 0x60 | p[0]&15
			}
			m := append([]byte{255, 255, 255, 255, 255, 255, 255, 255}, p...)
			q := m[8:]
			if v6 {
				q[0] |= 0x0f // traffic class and flow label
				q[1], q[2], q[3] = 0xff, 0xff, 0xff
				q[7] = 0xff // hop limit
			} else {
				q[1] = 0xff // TOS
				q[8] = 0xff // TTL
				q[10], q[11] = 0xff, 0xff
			}
			q[ip+6], q[ip+7] = 0xff, 0xff // UDP checksum
			q[ip+UDPLen+4] = 0xff         // FECN, BECN, resv6
			if got, want := ICRC(b, EthernetLen), slowICRC(m); got != want {
				t.Errorf("IPv6 %v, %d bytes: got %08x, want %08x", v6, size, got, want)
			}
		}
	}
}

// What routers change does not change the ICRC; everything else does.
func TestICRCInvariance(t *testing.T) {
	b := unhex(t, icrcVectors[2].frame)
	b = b[:len(b)-ICRCLen]
	want := ICRC(b, EthernetLen)
	masked := map[int]bool{15: true, 22: true, 24: true, 25: true, 40: true, 41: true, 46: true}
	for i := range b {
		b[i] ^= 0x10
		if i == EthernetLen {
			b[i] ^= 0x10 // the version decides how to read the rest
			b[i] ^= 0x01
		}
		got := ICRC(b, EthernetLen)
		if same := got == want; same != (i < EthernetLen || masked[i]) {
			t.Errorf("byte %d changed: ICRC the same: %v", i, same)
		}
		if i == EthernetLen {
			b[i] ^= 0x01
		} else {
			b[i] ^= 0x10
		}
	}
}

func FuzzICRC(f *testing.F) {
	for _, v := range icrcVectors {
		f.Add(unhex(f, v.frame), uint8(EthernetLen))
	}
	f.Add([]byte{}, uint8(0))
	f.Fuzz(func(t *testing.T, b []byte, l3 uint8) {
		if int(l3) > len(b) {
			return // an offset that Parse gave lies inside
		}
		ICRC(b, int(l3))
	})
}

func BenchmarkICRC4096(b *testing.B) {
	p := make([]byte, EthernetLen+IPv4Len+UDPLen+BTHLen+RETHLen+4096)
	p[EthernetLen] = 0x45
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		ICRC(p, EthernetLen)
	}
}

func BenchmarkICRCAck(b *testing.B) {
	p := make([]byte, EthernetLen+IPv4Len+UDPLen+BTHLen+AETHLen)
	p[EthernetLen] = 0x45
	for b.Loop() {
		ICRC(p, EthernetLen)
	}
}
