package mad

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"cnuas/internal/wire"
)

const testdata = "../../../testdata/ib/"

var update = flag.Bool("update", false, "write golden files anew")

// madFrames returns the MADs of an ERF capture, and nil for frames that carry
// none.
func madFrames(t testing.TB, file string) (l []Packet) {
	t.Helper()
	b, err := os.ReadFile(testdata + file)
	if err != nil {
		t.Fatal(err)
	}
	for b = b[24:]; len(b) > 0; {
		n := int(binary.LittleEndian.Uint32(b[8:]))
		r := b[16 : 16+n]
		f := r[16:][:binary.BigEndian.Uint16(r[14:])]
		b = b[16+n:]
		var x wire.IBLayers
		if !x.Parse(f) {
			t.Fatalf("%s: frame %d", file, len(l)+1)
		}
		p := Packet(x.Message(f))
		if x.Opcode != wire.UDSendOnly || !p.Valid() {
			p = nil
		}
		l = append(l, p)
	}
	return l
}

// Every MAD of the captures in one line, against the files in testdata.
func TestGoldenLines(t *testing.T) {
	for file, n := range map[string]int{"ib_erf21": 5, "opensm_bringup_ft2x2x8": 460} {
		var s strings.Builder
		mads := 0
		for i, p := range madFrames(t, file+".pcap") {
			if p != nil {
				mads++
				fmt.Fprintf(&s, "%d %s\n", i+1, Line(p))
			}
		}
		if mads != n {
			t.Errorf("%s: %d MADs, want %d", file, mads, n)
		}
		golden := "testdata/" + file + ".txt"
		if *update {
			if err := os.WriteFile(golden, []byte(s.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		got, exp := strings.Split(s.String(), "\n"), strings.Split(string(want), "\n")
		for i := range max(len(got), len(exp)) {
			if i >= len(got) || i >= len(exp) || got[i] != exp[i] {
				t.Fatalf("%s, line %d (-update writes it anew):\n got %q\nwant %q", golden, i+1, at(got, i), at(exp, i))
			}
		}
	}
}

func at(l []string, i int) string {
	if i < len(l) {
		return l[i]
	}
	return "nothing"
}

// The listing was made by another decoder (Python) when the capture was taken:
// header, path, and some fields of PortInfo and SwitchInfo.
func TestGoldenListing(t *testing.T) {
	b, err := os.ReadFile(testdata + "opensm_bringup_mads.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	mads := madFrames(t, "opensm_bringup_ft2x2x8.pcap")
	if len(lines) != len(mads) {
		t.Fatalf("%d lines, %d MADs", len(lines), len(mads))
	}
	one := map[bool]int{true: 1}
	for i, p := range mads {
		h, s := p.Header(), SMP(p)
		got := fmt.Sprintf("%d cls=%02x meth=%02x st=%04x hp/hc=%d/%d attr=%04x mod=%08x path 0", i+1, uint8(h.Class), uint8(h.Method),
			uint16(h.Status), s.HopPointer(), s.HopCount(), uint16(h.Attr), h.Modifier)
		for _, x := range s.Path() {
			got += fmt.Sprintf(",%d", x)
		}
		switch h.Attr {
		case AttrPortInfo:
			var a PortInfo
			Decode(&a, p.Data())
			got += fmt.Sprintf(" lid=%d smlid=%d cap=%08x lp=%d state=%d phys=%d lmc=%d nmtu=%d opvl=%d rereg=%d sto=%d mkeyprot=%d", a.LID, a.MasterSMLID,
				uint32(a.CapabilityMask), a.LocalPortNum, uint8(a.PortState), uint8(a.PortPhysicalState), a.LMC, uint8(a.NeighborMTU),
				uint8(a.OperationalVLs), one[a.ClientReregister], uint8(a.SubnetTimeOut), a.MKeyProtectBits)
		case AttrSwitchInfo:
			var a SwitchInfo
			Decode(&a, p.Data())
			got += fmt.Sprintf(" fdbtop=%d life=%d psc=%d mcast_top=%04x", a.LinearFDBTop, uint8(a.LifeTimeValue), one[a.PortStateChange], a.MulticastFDBTop)
		}
		if want := strings.TrimSpace(lines[i]); got != want {
			t.Fatalf("MAD %d:\n got %s\nwant %s", i+1, got, want)
		}
	}
}

// A MAD that is decoded and encoded again is the same, except for bits that
// are reserved: there are none set in these captures.
func TestGoldenRoundTrip(t *testing.T) {
	n := 0
	for _, file := range []string{"ib_erf21.pcap", "opensm_bringup_ft2x2x8.pcap"} {
		for i, p := range madFrames(t, file) {
			if p == nil {
				continue
			}
			a := New(p.Class(), p.Attr())
			if a == nil || !Decode(a, p.Data()) {
				t.Fatalf("%s: frame %d: %s", file, i+1, Line(p))
			}
			out := make([]byte, Len(a))
			Encode(a, out)
			if string(out) != string(p.Data()[:len(out)]) {
				t.Errorf("%s: frame %d: %s\n got %x\nwant %x", file, i+1, Line(p), out, p.Data()[:len(out)])
			}
			h := p.Header()
			var q [PacketLen]byte
			h.Encode(q[:])
			q[6], q[7] = p[6], p[7]
			if string(q[:HeaderLen]) != string(p[:HeaderLen]) {
				t.Errorf("%s: frame %d: header %x, want %x", file, i+1, q[:HeaderLen], p[:HeaderLen])
			}
			n++
		}
	}
	if n != 465 {
		t.Errorf("%d MADs", n)
	}
}
