package wire

import (
	"encoding/binary"
	"os"
	"testing"
)

// erfFrames returns the frames of an ERF capture (pcap link type 197) with the
// type of their records.
func erfFrames(t testing.TB, file string) (frames [][]byte, types []uint8) {
	t.Helper()
	b, err := os.ReadFile("../../testdata/ib/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if binary.LittleEndian.Uint32(b) != 0xa1b2c3d4 || binary.LittleEndian.Uint32(b[20:]) != 197 {
		t.Fatalf("%s is not a capture of ERF records", file)
	}
	for b = b[24:]; len(b) > 0; {
		n := int(binary.LittleEndian.Uint32(b[8:]))
		r := b[16 : 16+n]
		frames = append(frames, r[16:16+binary.BigEndian.Uint16(r[14:])])
		types = append(types, r[8])
		b = b[16+n:]
	}
	return frames, types
}

// Every CRC of the frames that were made and checked elsewhere.
func TestGoldenCRCs(t *testing.T) {
	for file, want := range map[string]int{"ib_erf21.pcap": 13, "opensm_bringup_ft2x2x8.pcap": 460} {
		frames, _ := erfFrames(t, file)
		if len(frames) != want {
			t.Errorf("%s: %d frames, want %d", file, len(frames), want)
		}
		for i, f := range frames {
			if icrc, vcrc := CheckIB(f); !icrc || !vcrc {
				t.Errorf("%s: frame %d: ICRC right %v, VCRC right %v", file, i+1, icrc, vcrc)
			}
			c := append([]byte(nil), f...)
			clear(c[len(c)-6:])
			if !SealIB(c) || hexOf(c) != hexOf(f) {
				t.Errorf("%s: frame %d: sealed %x, want %x", file, i+1, c[len(c)-6:], f[len(f)-6:])
			}
		}
	}
}

// The published sample packet (IBTA vol. 1 §7.8.1): ICRC 96 25 B7 5A.
func TestICRCSample(t *testing.T) {
	frames, _ := erfFrames(t, "ib_erf21.pcap")
	f := frames[12]
	if got := hexOf(f[len(f)-6:]); got != "9625b75a45fa" {
		t.Errorf("the sample ends in %s", got)
	}
}

// slowVCRC follows the text, bit by bit.
func slowVCRC(b []byte) uint16 {
	c := uint16(0xffff)
	for _, x := range b {
		for i := range 8 {
			top := c>>15 ^ uint16(x>>i&1)
			c <<= 1
			if top != 0 {
				c ^= 0x100b
			}
		}
	}
	c = ^c
	var r uint16
	for i := range 16 {
		r |= c >> (15 - i) & 1 << i
	}
	return r
}

func TestVCRC(t *testing.T) {
	var b []byte
	for i := range 300 {
		if got, want := VCRC(b), slowVCRC(b); got != want {
			t.Fatalf("%d bytes: got %04x, want %04x", i, got, want)
		}
		b = append(b, byte(i*37+i>>3))
	}
	// Over data and CRC the register holds the residue.
	c := binary.LittleEndian.AppendUint16(b, VCRC(b))
	if got := ^VCRC(c); got != 0x556f {
		t.Errorf("residue %04x", got)
	}
}

// TestICRCNativeByTheText masks whole packets as §7.8.1 lists the fields.
func TestICRCNativeByTheText(t *testing.T) {
	for _, global := range []bool{false, true} {
		for n := range 200 {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(i*7 + n)
			}
			bth := LRHLen
			if n > 1 {
				b[1] = b[1]&^3 | 2
			}
			if global && n > 1 {
				b[1] |= 3
				bth += GRHLen
			}
			m := append([]byte(nil), b...)
			mask := func(i int, v byte) {
				if i < len(m) {
					m[i] |= v
				}
			}
			if n >= LRHLen {
				if global {
					for i := range LRHLen {
						mask(i, 0xff)
					}
					if n >= LRHLen+8 { // a header that is cut off is not masked
						mask(8, 0x0f)
						mask(9, 0xff)
						mask(10, 0xff)
						mask(11, 0xff)
						mask(15, 0xff)
					}
				} else {
					mask(0, 0xf0)
				}
				mask(bth+4, 0xff)
			}
			if got, want := ICRCNative(b), slowICRC(m); got != want {
				t.Fatalf("global %v, %d bytes: got %08x, want %08x", global, n, got, want)
			}
		}
	}
}

// A switch changes the VL, and of a global packet a router LRH, TClass,
// FlowLabel and HopLmt; FECN and BECN change anywhere.
func TestICRCNativeInvariance(t *testing.T) {
	frames, _ := erfFrames(t, "ib_erf21.pcap")
	f := append([]byte(nil), frames[6]...) // with GRH
	LRH(f).SetVL(7)
	LRH(f).SetDLID(0x1234)
	IPv6(f[8:]).SetTrafficClass(0x55)
	IPv6(f[8:]).SetFlowLabel(0x12345)
	GRH(f[8:]).SetHopLmt(3)
	BTH(f[48:]).SetFECN(true)
	if icrc, vcrc := CheckIB(f); !icrc || vcrc {
		t.Errorf("changed on the way: ICRC right %v, VCRC right %v", icrc, vcrc)
	}
	f[60] ^= 1
	if icrc, _ := CheckIB(f); icrc {
		t.Error("changed payload: ICRC right")
	}
}
