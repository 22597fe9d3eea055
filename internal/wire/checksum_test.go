package wire

import (
	"encoding/binary"
	"testing"
)

func TestChecksumVectors(t *testing.T) {
	// RFC 1071 §3: the sum of 00 01 f2 03 f4 f5 f6 f7 is ddf2.
	if got := Fold(Sum(0, []byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7})); got != 0x220d {
		t.Errorf("RFC 1071: got %04x, want 220d", got)
	}
	if got := Fold(Sum(0, []byte{0x12, 0x34, 0x56})); got != ^uint16(0x6834) {
		t.Errorf("odd length: got %04x", got)
	}
	// RFC 1624 §4: the case in which the older equation is wrong.
	if got := UpdateChecksum(0xdd2f, 0x5555, 0x3285); got != 0x0000 {
		t.Errorf("RFC 1624: got %04x, want 0000", got)
	}
	h := IPv4(unhex(t, "4500007300004000401100"+"00"+"c0a80001c0a800c7"))
	if got := h.ComputeChecksum(); got != 0xb861 {
		t.Errorf("IPv4: got %04x, want b861", got)
	}
}

// The incremental update equals the full computation for every TTL and TOS.
func TestIPv4Update(t *testing.T) {
	for _, id := range []uint16{0, 1, 0x8000, 0xffff, 0xb4e9} {
		for v := range 256 {
			f := IPv4Fields{TOS: 0x6a, TotalLen: 84, ID: id, DontFragment: true, TTL: 64, Proto: ProtoUDP, Src: [4]byte{10, 0, 0, 1}, Dst: [4]byte{10, 0, 0, 2}}
			var h [IPv4Len]byte
			f.Encode(h[:])
			IPv4(h[:]).UpdateTTL(uint8(v))
			IPv4(h[:]).UpdateTOS(uint8(255 - v))
			p := IPv4(h[:])
			if p.TTL() != uint8(v) || p.TOS() != uint8(255-v) || !p.ChecksumOK() || p.Checksum() != p.ComputeChecksum() {
				t.Fatalf("id %#x, value %d: %x, checksum should be %04x", id, v, h, p.ComputeChecksum())
			}
		}
	}
}

func FuzzUpdateChecksum(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6}, uint16(2), uint16(0xffff))
	f.Add([]byte{0xff, 0xff, 0, 0}, uint16(0), uint16(0))
	f.Fuzz(func(t *testing.T, b []byte, at, is uint16) {
		i := int(at) &^ 1
		if len(b) < i+2 {
			return
		}
		before := Fold(Sum(0, b))
		was := binary.BigEndian.Uint16(b[i:])
		binary.BigEndian.PutUint16(b[i:], is)
		got, want := UpdateChecksum(before, was, is), Fold(Sum(0, b))
		// One's complement has two zeros; both verify, and only all-zero data
		// sums to the one that the other cannot be told from.
		if got != want && !(got^want == 0xffff && (got == 0 || want == 0)) {
			t.Fatalf("%x: updated %04x, computed %04x", b, got, want)
		}
	})
}
