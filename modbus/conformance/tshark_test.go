//go:build conformance

package conformance

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cnuas/internal/capture"
	"cnuas/internal/simtest"
	"cnuas/modbus/rtu"
)

// decoded are requests, without address and CRC, and what tshark calls their function. It
// leaves requests of four bytes to other dissectors; their replies it knows.
var decoded = []struct {
	req  string
	name string
	ex   string // exception that the reply has
}{
	{"01 00 00 00 0a", "Read Coils", ""},
	{"02 00 00 00 0a", "Read Discrete Inputs", ""},
	{"03 00 50 00 04", "Read Holding Registers", ""},
	{"04 00 00 00 0a", "Read Input Registers", ""},
	{"05 00 03 ff 00", "Write Single Coil", ""},
	{"06 00 11 12 67", "Write Single Register", ""},
	{"07", "Read Exception Status", "1"},
	{"08 00 00 a5 b6", "Return Query Data", ""},
	{"08 00 0b 00 00", "Return Bus Message Count", ""},
	{"0b", "Get Comm. Event Counters", ""},
	{"0c", "Get Comm. Event Log", ""},
	{"0f 00 13 00 0a 02 cd 01", "Write Multiple Coils", ""},
	{"10 00 64 00 02 04 00 01 00 02", "Write Multiple Registers", ""},
	{"11", "Report Slave ID", ""},
	{"14 07 06 00 04 00 01 00 02", "Read File Record", ""},
	{"15 09 06 00 04 00 07 00 01 06 af", "Write File Record", "1"},
	{"16 00 04 00 f2 00 25", "Mask Write Register", ""},
	{"17 00 03 00 03 00 04 00 02 04 00 07 00 08", "Read Write Register", ""},
	{"18 04 de", "Read FIFO Queue", "1"},
	{"2b 0e 01 00", "Read Device Identification", ""},
	{"03 01 2c 00 01", "Read Holding Registers", "2"},
	{"03 00 00 00 7e", "Read Holding Registers", "3"},
	{"03 03 ec 00 01", "Read Holding Registers", "4"},
	{"03 03 ee 00 01", "Read Holding Registers", "6"},
}

// TestTshark: what a terminal's client and the slaves say is Modbus RTU to
// tshark, function by function, and stands at the times that follow from the
// line: 11 bits a character, and t3.5 or the turnaround before a reply.
func TestTshark(t *testing.T) {
	t.Parallel()
	tshark := simtest.Need(t, "tshark")
	for _, x := range []struct {
		unit uint8
		line rtu.Line
	}{{20, fast}, {10, slow}} {
		t.Run(x.line.String(), func(t *testing.T) { testTshark(t, tshark, x.unit, x.line) })
	}
}

func testTshark(t *testing.T, tshark string, unit uint8, line rtu.Line) {
	g := newRig(t)
	s := capture.NewSession(capture.Config{Base: time.Unix(1_700_000_000, 0)})
	var stream bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan error)
	go func() { written <- s.Run(ctx, &stream) }()
	var remove func()
	g.Do(func() { remove = g.bus.Observe(s.TapLink("bus0", capture.Serial)) })

	r := openRaw(t, g.TTY("bus0"), line)
	var adus [][]byte
	for _, x := range decoded {
		p := parts(t, fmt.Sprintf("%02x %s +", unit, x.req))
		r.write(p[0].b)
		got := r.collect(5, 2*time.Second)
		if rep := replies(got); strings.Contains(rep, "no reply") || rep == "silence" {
			t.Fatalf("%s: %s", x.req, rep)
		}
		adus = append(adus, p[0].b, got)
	}
	g.Do(remove)
	cancel()
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := capture.Decode(&stream, capture.NewPcapNG(&out)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bus0.pcapng")
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"-n", "-r", file, "-T", "fields", "-E", "occurrence=f", "-o", "mbrtu.tcp.port:502", "-o", "mbrtu.crc_verification:TRUE"}
	for _, f := range []string{"_ws.col.Protocol", "frame.time_epoch", "mbrtu.unit_id", "modbus.func_code", "modbus.exception_code", "_ws.col.Info", "_ws.malformed", "mbrtu.crc16.status"} {
		args = append(args, "-e", f)
	}
	b, err := exec.Command(tshark, args...).Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(lines) != len(adus) {
		t.Fatalf("%d frames in tshark, %d on the wire:\n%s", len(lines), len(adus), b)
	}
	var start, end int64 // ns, of the request
	for i, l := range lines {
		f := strings.Split(l, "\t")
		x, adu := decoded[i/2], adus[i]
		at := nanoseconds(t, f[1])
		reply := i%2 == 1
		switch {
		case !reply:
			start = at
			end = start + onWire(len(adu), line)
		default:
			if want := end + line.T35().Nanoseconds(); at-want > 1000 || want-at > 1000 {
				t.Errorf("%s: the reply begins %d ns after the request, want %d", x.req, at-start, want-start)
			}
		}
		if !reply && len(adu) == rtu.MinADU {
			continue
		}
		want := "Query"
		if reply {
			want = "Response"
		}
		if f[0] != "Modbus RTU" || f[2] != fmt.Sprint(unit) || f[3] != fmt.Sprint(adu[1]&^rtu.ExceptionBit) || f[6] != "" || f[7] != "1" ||
			!strings.Contains(f[5], want) || !strings.Contains(f[5], x.name) || reply && f[4] != x.ex {
			t.Errorf("frame %d, % x: %q, want %s of %s, exception %q", i+1, adu, f, want, x.name, x.ex)
		}
	}
}

// onWire is how many nanoseconds n characters take, from the line alone.
func onWire(n int, l rtu.Line) int64 {
	bits := int64(1 + int(l.Data) + 1 + int(l.Stop)) // start, data, parity, stop
	r := big.NewRat(int64(n)*bits*1_000_000_000, int64(l.Baud))
	f, _ := r.Float64()
	return int64(f + 0.5)
}

// nanoseconds of "1700000000.000112361".
func nanoseconds(t *testing.T, s string) int64 {
	t.Helper()
	var sec, ns int64
	if _, err := fmt.Sscanf(s, "%d.%09d", &sec, &ns); err != nil {
		t.Fatalf("time %q: %v", s, err)
	}
	return sec*1_000_000_000 + ns
}
