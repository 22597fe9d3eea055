package cli

import (
	"strings"
	"testing"
	"time"

	"cnuas/modbus/port"
	"cnuas/modbus/rtu"

	"github.com/google/go-cmp/cmp"
)

func TestAddressList(t *testing.T) {
	l, err := addressList("144,0x10-0x12,255")
	if d := cmp.Diff([]uint8{144, 16, 17, 18, 255}, l); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestProbePlan(t *testing.T) {
	baud, parity, addr, stop, reg, count, timeout, echo, all := "9600,115200", "none,even", "7", 1, 79, 4, time.Second, true, false
	o := probeFlags{&baud, &parity, &addr, &stop, &reg, &count, &timeout, &echo, &all}
	p, err := o.plan()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, l := range p.lines {
		lines = append(lines, l.String())
	}
	if got := strings.Join(lines, " "); got != "9600 8N1 9600 8E1 115200 8N1 115200 8E1" || p.lines[0].Parity != rtu.None || p.register != 79 || p.count != 4 {
		t.Errorf("%s, %+v", got, p)
	}
}

func TestProbeResult(t *testing.T) {
	for _, c := range []struct {
		words []uint16
		want  string
	}{
		{[]uint16{0x5053, 0x5531, 0, 0}, `144 (0x90) at 19200 8E1: 5053 5531 0000 0000  "PSU1"`},
		{[]uint16{0xC800}, "144 (0x90) at 19200 8E1: C800"},
		{make([]uint16, 9), "144 (0x90) at 19200 8E1: 0000 0000 0000 0000 0000 0000 0000 0000 ..."},
	} {
		r := probeResult{Address: 144, Line: "19200 8E1", Words: c.words, Text: printable(c.words)}
		if r.String() != c.want {
			t.Errorf("%q, want %q", r.String(), c.want)
		}
	}
}

// TestPrintFound: of the alarm registers only those with an alarm are printed.
func TestPrintFound(t *testing.T) {
	v := func(name, text string) []port.Value { return []port.Value{{Name: name, Text: text}} }
	for _, c := range []struct {
		found port.Found
		want  string
	}{
		{port.Found{Address: 144, Line: "19200 8E1", Kind: "hpr-psu", Profile: "P", Values: v("W", "5 W"), Flags: append(v("A", "Fan"), v("B", "0x0000")...)},
			"144 (0x90) at 19200 8E1: hpr-psu (P)\n      W 5 W\n      A Fan\n"},
		{port.Found{Address: 7, Line: "9600 8N1", Flags: v("B", "0x0000"), Note: "odd"}, "  7 (0x07) at 9600 8N1: a device of no kind that is known here\n      no alarm\n      odd\n"},
		{port.Found{Address: 7, Line: "9600 8N1", Kind: "rpu", Flags: v("B", "0x0100")}, "  7 (0x07) at 9600 8N1: rpu\n      B 0x0100\n"},
	} {
		var b strings.Builder
		(&app{out: &b}).printFound(&c.found)
		if b.String() != c.want {
			t.Errorf("%q, want %q", b.String(), c.want)
		}
	}
}
