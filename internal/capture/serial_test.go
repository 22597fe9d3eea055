package capture

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/internal/simtest"
	"cnuas/modbus/bus"
	"cnuas/modbus/rtu"
)

// plain is a device of 200 registers, with all that a slave may serve.
type plain struct{}

func (plain) ReadRegisters(_ sim.Time, addr uint16, dst []uint16) rtu.Exception {
	if int(addr)+len(dst) > 200 {
		return rtu.IllegalDataAddress
	}
	for i := range dst {
		dst[i] = 0xC800 + addr + uint16(i)
	}
	return rtu.OK
}
func (plain) WriteRegisters(sim.Time, uint16, []uint16) rtu.Exception { return rtu.OK }
func (p plain) ReadInputs(now sim.Time, addr uint16, dst []uint16) rtu.Exception {
	return p.ReadRegisters(now, addr, dst)
}
func (plain) ReadFile(_ sim.Time, _, _ uint16, dst []uint16) rtu.Exception {
	for i := range dst {
		dst[i] = uint16(i)
	}
	return rtu.OK
}

type deaf struct{}

func (deaf) ReceiveChars(sim.Time, []rtu.Char) {}

// serial runs requests, one every 100 ms, and returns the frames that were on
// the wire and the stream of their capture.
func serial(t testing.TB, snap int, faults []bus.Fault, requests ...string) (frames []bus.Frame, stream []byte) {
	t.Helper()
	e := sim.NewEngine(3)
	g := bus.New(e.NewProc(), bus.Config{Name: "bus0"})
	line := rtu.Line{Baud: 19200, Data: 8, Parity: rtu.Even, Stop: 1}
	for _, a := range []uint8{0x90, 0x91} {
		g.AddSlave(fmt.Sprintf("shelf1/psu%d", a&15), line, rtu.NewSlave(a, plain{}, rtu.AllOptions()))
	}
	m := g.AddMaster(bus.MasterConfig{Name: "bmc"}, deaf{})
	s := NewSession(Config{Base: base, SnapLen: snap})
	g.Observe(s.TapLink("bus0", Serial))
	g.Observe(keep{&frames})
	for _, f := range faults {
		if _, err := g.Inject(f); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range requests {
		e.RunUntil(sim.Time(i) * 100 * sim.Millisecond)
		var b []byte
		fmt.Sscanf(r, "%x", &b)
		m.Send(line, rtu.AppendCRC(b))
	}
	e.RunUntil(e.Now() + sim.Second)
	return frames, finished(t, s)
}

type keep struct{ l *[]bus.Frame }

func (k keep) Frame(f *bus.Frame) {
	c := *f
	c.Bytes, c.Errs = bytes.Clone(f.Bytes), append([]rtu.LineError(nil), f.Errs...)
	*k.l = append(*k.l, c)
}

// What the stream has is what was on the wire: bytes behind the tags, stamps
// and directions.
func TestSerial(t *testing.T) {
	frames, stream := serial(t, 0, []bus.Fault{{Kind: bus.WrongCRC, From: 50 * sim.Millisecond}}, "9003004f0002", "910300000001")
	n := decode(t, stream)
	if len(n.records) != 4 || len(frames) != 4 || n.links[0] != Serial || n.stats[0] != (Stats{0, 4, 0}) {
		t.Fatalf("%d records of %d frames, %v", len(n.records), len(frames), n.stats)
	}
	comments := []string{
		"request from bmc, 19200 8E1, 4583.333 us on the wire",
		"reply from shelf1/psu0, 19200 8E1, 5156.250 us on the wire",
		"request from bmc, 19200 8E1, 4583.333 us on the wire",
		"reply from shelf1/psu1, 19200 8E1, 4010.417 us on the wire, wrong CRC",
	}
	for i, r := range n.records {
		f := frames[i]
		if r.Time != f.Start || !bytes.Equal(r.Data[serialHeadLen:], f.Bytes) || r.OrigLen != len(r.Data) || (r.Dir == 0) != f.Master {
			t.Errorf("record %d: %+v of %+v", i, r, f)
		}
		if r.Comment != comments[i] {
			t.Errorf("record %d: comment %q, want %q", i, r.Comment, comments[i])
		}
	}
}

func TestSerialSnapLen(t *testing.T) {
	_, stream := serial(t, 5, nil, "900300000010")
	for i, r := range decode(t, stream).records {
		if len(r.Data) != serialHeadLen+5 || r.OrigLen != serialHeadLen+[]int{8, 37}[i] {
			t.Errorf("record %d: %d of %d bytes", i, len(r.Data), r.OrigLen)
		}
	}
}

func TestSerialComment(t *testing.T) {
	errs := make([]rtu.LineError, 30)
	for i := range errs {
		errs[i] = rtu.FramingError
	}
	errs[3] = rtu.ParityError
	f := &bus.Frame{Kind: rtu.Noise, Bad: rtu.BadChar, Start: sim.Second, End: sim.Second + 1234567890, Line: rtu.Line{Baud: 1000000, Data: 7, Parity: rtu.Odd, Stop: 2},
		Station: "x", Errs: errs, Collided: true, Lost: 2}
	want := "noise from x, 1000000 7O2, 1234.568 us on the wire, character error, collided, 2 characters lost, parity errors at 3, framing errors at 0 1 2 4 5 6 7 8 9 10 11 12 13 14 15 16 ..."
	if got := string(appendSerialComment(nil, f)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSerialNoAllocations(t *testing.T) {
	s := NewSession(Config{Base: base})
	tap := s.TapLink("bus0", Serial)
	f := &bus.Frame{Kind: rtu.Request, Line: rtu.Line{Baud: 19200, Data: 8, Stop: 1}, Station: "bmc", Master: true, Bytes: make([]byte, 8), Errs: make([]rtu.LineError, 8)}
	if n := testing.AllocsPerRun(100, func() { tap.Frame(f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// tshark is asked without any option about Modbus.
func TestTsharkSerial(t *testing.T) {
	tshark := simtest.Need(t, "tshark")
	requests := []string{
		"9003004f0002", "910400000003", // read
		"9010005000020400010002",                                                                                      // write several
		"9003ffff0001",                                                                                                // exception 2
		"900600500002", "9114070600040001" + "0002", "901600010f0f0002", "91170001000200050001020007", "9008000012ab", // replies like requests, and others
		"900b", "900c",
	}
	frames, stream := serial(t, 0, []bus.Fault{{Kind: bus.Stray, From: 50 * sim.Millisecond, Until: 150 * sim.Millisecond}}, requests...)
	file := filepath.Join(t.TempDir(), "bus.pcapng")
	var out bytes.Buffer
	if err := Decode(bytes.NewReader(stream), NewPcapNG(&out)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	fields := func(opt ...string) [][]string {
		t.Helper()
		args := append([]string{"-n", "-r", file, "-T", "fields", "-E", "occurrence=f"}, opt...)
		for _, f := range []string{"_ws.col.Protocol", "frame.time_epoch", "mbrtu.unit_id", "modbus.func_code", "_ws.col.Info", "modbus.request_frame", "_ws.malformed", "frame.packet_flags_direction", "frame.comment"} {
			args = append(args, "-e", f)
		}
		b, err := exec.Command(tshark, args...).Output()
		if err != nil {
			t.Fatalf("tshark: %v", err)
		}
		var l [][]string
		for _, s := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
			l = append(l, strings.Split(s, "\t"))
		}
		return l
	}
	plain, ports := fields(), fields("-o", "mbrtu.tcp.port:502", "-o", "mbrtu.crc_verification:TRUE")
	if len(frames) != 2*len(requests)+1 || len(plain) != len(frames) || len(ports) != len(frames) {
		t.Fatalf("%d frames on the wire, %d and %d in tshark", len(frames), len(plain), len(ports))
	}
	last := map[byte]int{}
	for i, f := range frames {
		p := plain[i]
		ns := base.UnixNano() + f.Start.Nanoseconds()
		if p[1] != fmt.Sprintf("%d.%09d", ns/1e9, ns%1e9) {
			t.Errorf("frame %d at %s, want %d ns", i+1, p[1], ns)
		}
		if f.Kind == rtu.Noise {
			if len(f.Bytes) != 1 || p[0] == "Modbus RTU" {
				t.Errorf("frame %d: the stray character is %v", i+1, p)
			}
			continue
		}
		if len(f.Bytes) == rtu.MinADU {
			last[f.Bytes[0]] = -1
			continue // wireshark's dissector leaves requests of four bytes to others
		}
		fc := f.Bytes[1] & 0x7f
		if p[0] != "Modbus RTU" || p[2] != fmt.Sprint(f.Bytes[0]) || p[3] != fmt.Sprint(fc) || p[6] != "" {
			t.Errorf("frame %d, % x: %q", i+1, f.Bytes, p)
		}
		want, dir := "Query", "0x00000002"
		if !f.Master {
			want, dir = "Response", "0x00000001"
		}
		if !strings.Contains(ports[i][4], want) || strings.Contains(ports[i][4], "unknown") || ports[i][7] != dir || !strings.HasPrefix(p[8], f.Kind.String()+" from ") {
			t.Errorf("frame %d, % x: %q, want %s %s", i+1, f.Bytes, ports[i], want, dir)
		}
		// What the length tells apart needs no port.
		if fc == 3 && !strings.Contains(p[4], want) {
			t.Errorf("frame %d, % x without options: %q", i+1, f.Bytes, p)
		}
		if !f.Master && f.Bytes[1]&0x80 == 0 && last[f.Bytes[0]] > 0 && ports[i][5] != fmt.Sprint(last[f.Bytes[0]]) {
			t.Errorf("frame %d answers frame %q for tshark, %d really", i+1, ports[i][5], last[f.Bytes[0]])
		}
		if f.Master {
			last[f.Bytes[0]] = i + 1
		}
	}
}
