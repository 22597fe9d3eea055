package dissect

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"cnuas/internal/capture"
	"cnuas/internal/link"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestLines holds the line of every kind of frame against testdata/lines.txt.
func TestLines(t *testing.T) {
	var got strings.Builder
	for _, f := range everything() {
		b := f.frame.AppendTo(nil)
		for len(b) < 60 {
			b = append(b, 0)
		}
		line := Line(b, len(b))
		if again := Line(b, len(b)); again != line {
			t.Errorf("%s: %q, the second time %q", f.name, line, again)
		}
		fmt.Fprintf(&got, "%s\n    %s\n", f.name, line)
		if strings.Contains(line, "BAD") || strings.Contains(line, "[") {
			t.Errorf("%s: %s", f.name, line)
		}
	}
	const file = "testdata/lines.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g, w := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Fatalf("line %d differs from %s (-update writes it anew)\n got %q\nwant %q", i+1, file, at(g, i), at(w, i))
		}
	}
}

func at(s []string, i int) string {
	if i < len(s) {
		return s[i]
	}
	return "(end)"
}

func TestCheckICRC(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		for _, tagged := range []bool{false, true} {
			b := packet{opcode: wire.RCWriteOnly, v6: v6, tagged: tagged, payload: 5, n: 1}.roce().AppendTo(nil)
			if ok, roce := CheckICRC(b); !ok || !roce {
				t.Errorf("IPv6 %v, tagged %v: ok %v, RoCE %v", v6, tagged, ok, roce)
			}
			if ok, roce := CheckICRC(append(b, 0, 0, 0)); !ok || !roce {
				t.Errorf("with Ethernet padding: ok %v, RoCE %v", ok, roce)
			}
			if _, roce := CheckICRC(b[:len(b)-1]); roce {
				t.Error("a frame that is cut off was checked")
			}
			for i := len(b) - 10; i < len(b); i++ {
				b[i] ^= 1
				if ok, roce := CheckICRC(b); ok || !roce {
					t.Errorf("byte %d changed: ok %v, RoCE %v", i, ok, roce)
				}
				if line := Line(b, len(b)); !strings.Contains(line, "BAD ICRC") {
					t.Errorf("byte %d changed: %s", i, line)
				}
				b[i] ^= 1
			}
		}
	}
	if _, roce := CheckICRC(others()[0].frame.Data); roce {
		t.Error("ARP is RoCE")
	}
}

// Cutting a frame anywhere gives what is there and no complaint; a frame that
// is broken and not cut gives one.
func TestLineCut(t *testing.T) {
	b := packet{opcode: wire.RCWriteOnly, payload: 64, n: 4}.roce().AppendTo(nil)
	whole := Line(b, len(b))
	for n := 14; n < len(b); n++ {
		line := Line(b[:n], len(b))
		if strings.Contains(line, "[") || strings.Contains(line, "BAD") || !strings.HasSuffix(line, fmt.Sprintf("length %d", len(b))) {
			t.Errorf("%d bytes: %s", n, line)
		}
		if n >= 70 && line != whole { // all headers are there
			t.Errorf("%d bytes: %s, want %s", n, line, whole)
		}
	}
	if line := Line(b[:60], 60); !strings.Contains(line, "[") {
		t.Errorf("broken: %s", line)
	}
}

func TestBTHLayer(t *testing.T) {
	b := packet{opcode: wire.RCWriteOnlyImm, payload: 6, n: 3}.roce().AppendTo(nil)
	l, ok := Decode(b).Layer(LayerTypeBTH).(*BTH)
	if !ok {
		t.Fatal("no BTH")
	}
	n := wire.EthernetLen + wire.IPv4Len + wire.UDPLen
	if !bytes.Equal(l.LayerContents(), b[n:n+32]) || !bytes.Equal(l.Payload(), b[n+32:n+38]) || !bytes.Equal(l.PadBytes(), []byte{0, 0}) {
		t.Errorf("contents %x, payload %x, pad %x", l.LayerContents(), l.Payload(), l.PadBytes())
	}
	if l.RETH() == nil || l.ImmDt().Data() != 0xa1b2c303 || l.AETH() != nil || l.DETH() != nil {
		t.Errorf("extension headers: RETH %x, ImmDt %x, AETH %x", l.RETH(), l.ImmDt(), l.AETH())
	}
	if wire.ICRC(b[:len(b)-4], wire.EthernetLen) != l.ICRC {
		t.Errorf("ICRC %08x", l.ICRC)
	}
}

func TestText(t *testing.T) {
	s := capture.NewSession(capture.Config{})
	a, b := s.Tap("s1:1"), s.Tap("host1:eth0")
	a.Observe(nil, link.Tx, 1234567*sim.Nanosecond, packet{opcode: wire.RCSendOnly, payload: 8}.roce())
	b.Note(link.Rx, 1234568*sim.Nanosecond, others()[0].frame, "dropped: no route")
	var stream, out bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Run(ctx, &stream); err != nil {
		t.Fatal(err)
	}
	if err := capture.Decode(&stream, NewText(&out)); err != nil {
		t.Fatal(err)
	}
	want := "      1234.567us s1:1       tx 10.0.0.1 > 10.0.0.2 RoCEv2 sport 49152 RC SEND Only qp 0x123400 psn 16777200 payload 8 length 66\n" +
		"      1234.568us host1:eth0 rx 02:00:00:00:00:0a > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1 length 60 # dropped: no route\n" +
		"s1:1: 1 frames, 0 of them lost\nhost1:eth0: 1 frames, 0 of them lost\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// No frame brings a decoder of ours down; gopacket turns a panic of its own
// into a DecodeFailure, so ours are called without it as well.
func FuzzLine(f *testing.F) {
	for _, b := range everything() {
		f.Add(b.frame.AppendTo(nil), 0)
	}
	f.Fuzz(func(t *testing.T, b []byte, more int) {
		line := Line(b, len(b)+more&0xff)
		if strings.ContainsAny(line, "\n\x00") {
			t.Fatalf("%q", line)
		}
		CheckICRC(b)
		var l BTH
		if l.DecodeFromBytes(b, none{}) == nil {
			if n := len(l.Contents) + len(l.Payload()) + len(l.PadBytes()); n > len(b) || n+4 < len(b) {
				t.Fatalf("%d bytes of %d", n, len(b))
			}
		}
		var p PFC
		p.DecodeFromBytes(b, none{})
	})
}

type none struct{}

func (none) SetTruncated() {}
