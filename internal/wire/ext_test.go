package wire

import (
	"bytes"
	"encoding/hex"
	"testing"
)

func hexOf(b []byte) string { return hex.EncodeToString(b) }

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestExtensionHeaders(t *testing.T) {
	tests := []struct {
		name, want string
		encode     func([]byte)
	}{
		{"RETH", "0102030405060708aabbccdd80000000", func(b []byte) { RETH(b).Encode(0x0102030405060708, 0xaabbccdd, 1<<31) }},
		{"AETH ACK", "1f000102", func(b []byte) { AETH(b).Encode(ACK(CreditInvalid), 0x102) }},
		{"AETH RNR", "2e123456", func(b []byte) { AETH(b).Encode(RNRNAK(14), 0x123456) }},
		{"AETH NAK", "62000000", func(b []byte) { AETH(b).Encode(NAKRemoteAccess, 1<<24) }},
		{"AtomicETH", "000000000000100011223344000000000000000500000000000000ff", func(b []byte) { AtomicETH(b).Encode(0x1000, 0x11223344, 5, 255) }},
		{"AtomicAckETH", "fedcba9876543210", func(b []byte) { AtomicAckETH(b).SetOriginal(0xfedcba9876543210) }},
		{"ImmDt", "deadbeef", func(b []byte) { ImmDt(b).SetData(0xdeadbeef) }},
		{"IETH", "00c0ffee", func(b []byte) { IETH(b).SetRKey(0xc0ffee) }},
		{"DETH", "8001000000abcdef", func(b []byte) { DETH(b).Encode(0x80010000, 0xffabcdef) }},
	}
	for _, tt := range tests {
		b := bytes.Repeat([]byte{0x5a}, len(tt.want)/2)
		tt.encode(b)
		if got := hexOf(b); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestSyndrome(t *testing.T) {
	tests := []struct {
		s     Syndrome
		kind  SyndromeKind
		value uint8
		text  string
	}{
		{ACK(CreditInvalid), KindACK, 31, "ACK"},
		{ACK(5), KindACK, 5, "ACK (credits 5)"},
		{RNRNAK(0), KindRNRNAK, 0, "RNR NAK (timer 0)"},
		{RNRNAK(31), KindRNRNAK, 31, "RNR NAK (timer 31)"},
		{NAKSequence, KindNAK, 0, "NAK PSN sequence error"},
		{NAKInvalidRequest, KindNAK, 1, "NAK invalid request"},
		{NAKRemoteAccess, KindNAK, 2, "NAK remote access error"},
		{NAKRemoteOperational, KindNAK, 3, "NAK remote operational error"},
		{NAKInvalidRD, KindNAK, 4, "NAK invalid RD request"},
		{0x65, KindNAK, 5, "NAK code 5"},
		{0x40, KindReserved, 0, "reserved syndrome 0x40"},
		{0x9f, KindReserved, 31, "reserved syndrome 0x9f"},
	}
	for _, tt := range tests {
		if tt.s.Kind() != tt.kind || tt.s.Value() != tt.value || tt.s.String() != tt.text {
			t.Errorf("%#x: got kind %#x value %d %q, want %#x %d %q", uint8(tt.s), tt.s.Kind(), tt.s.Value(), tt.s, tt.kind, tt.value, tt.text)
		}
	}
}

// FuzzExtensions reads every header that the opcode says follows, and writes
// it again.
func FuzzExtensions(f *testing.F) {
	f.Add(uint8(RCWriteOnlyImm), bytes.Repeat([]byte{7}, 64))
	f.Add(uint8(RCCompareSwap), bytes.Repeat([]byte{0xf1}, 28))
	f.Add(uint8(RCAtomicAcknowledge), []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	f.Add(uint8(UDSendOnlyImm), []byte{1, 2, 3, 4, 0, 6, 7, 8, 9, 10, 11, 12})
	f.Fuzz(func(t *testing.T, opcode uint8, b []byte) {
		o := Opcode(opcode)
		x := o.Has()
		if len(b) < x.Len() {
			return
		}
		var out [64]byte
		again := func(h Ext, n int, encode func(in, out []byte)) {
			if x&h == 0 {
				return
			}
			in := b[x.Offset(h):][:n]
			encode(in, out[:n])
			if !bytes.Equal(in, out[:n]) {
				t.Fatalf("%v: parsed %x, emitted %x", o, in, out[:n])
			}
		}
		again(ExtRETH, RETHLen, func(in, out []byte) { RETH(out).Encode(RETH(in).VA(), RETH(in).RKey(), RETH(in).DMALen()) })
		again(ExtAETH, AETHLen, func(in, out []byte) { AETH(out).Encode(AETH(in).Syndrome(), AETH(in).MSN()) })
		again(ExtAtomicETH, AtomicETHLen, func(in, out []byte) {
			a := AtomicETH(in)
			AtomicETH(out).Encode(a.VA(), a.RKey(), a.SwapAdd(), a.Compare())
		})
		again(ExtAtomicAckETH, AtomicAckETHLen, func(in, out []byte) { AtomicAckETH(out).SetOriginal(AtomicAckETH(in).Original()) })
		again(ExtImmDt, ImmDtLen, func(in, out []byte) { ImmDt(out).SetData(ImmDt(in).Data()) })
		again(ExtIETH, IETHLen, func(in, out []byte) { IETH(out).SetRKey(IETH(in).RKey()) })
		again(ExtDETH, DETHLen, func(in, out []byte) {
			DETH(out).Encode(DETH(in).QKey(), DETH(in).SrcQP())
			out[4] = in[4] // reserved
		})
	})
}
