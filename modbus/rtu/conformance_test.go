package rtu

import (
	"strings"
	"testing"

	"cnuas/internal/sim"
)

// station is a slave behind a framer, as on a wire that it does not hear itself
// on.
type station struct {
	f *Framer
	s *Slave
	m *model
}

func newStation(addr uint8, o Options) *station {
	m := newModel()
	st := &station{NewFramer(line, 0), NewSlave(addr, m, o), m}
	st.f.SetOwn(addr, true)
	return st
}

// answer plays characters and returns what the station sends.
func (st *station) answer(c []Char) []byte {
	var out []byte
	drive(st.f, c, false, func(f *Frame) {
		if f.Kind != Request {
			st.s.Note(f)
			return
		}
		out = append(out, st.s.Serve(f.End, f.ADU, nil)...)
	})
	return out
}

// ask sends a request, its CRC not included, and expects a reply likewise; ""
// is silence.
func (st *station) ask(t *testing.T, in, want string) {
	t.Helper()
	got := st.answer(chars(line, just(adu(in))))
	exp := ""
	if want != "" {
		exp = hex(adu(want))
	}
	if hex(got) != exp {
		t.Errorf("%s:\n got %s\nwant %s", in, hex(got), exp)
	}
}

// The conformance list: bytes in, bytes out, without their CRC. Every case has
// a fresh slave 90h with all options.
func TestConformance(t *testing.T) {
	zeros := func(n int) string { return strings.Repeat("00 ", n) }
	words := func(first, n int) string {
		var b []byte
		for i := range n {
			b = append16(b, uint16(first+i))
		}
		return hex(b)
	}
	for _, c := range []struct{ name, in, want string }{
		{"unknown function code 07", "90 07", "90 87 01"},
		{"unknown function code 15h", "90 15 09 06 00 04 00 07 00 01 06 AF", "90 95 01"},
		{"unknown function code 18h", "90 18 04 DE", "90 98 01"},
		{"unknown function code 41h", "90 41 00 01", "90 C1 01"},
		{"unknown function code 00", "90 00 00 00 00 00", "90 80 01"},
		{"unknown function code 7Fh", "90 7F", "90 FF 01"},

		{"01", "90 01 00 00 00 0A", "90 01 02 00 00"},
		{"01 most", "90 01 00 00 07 D0", "90 01 FA " + zeros(250)},
		{"01 none", "90 01 00 00 00 00", "90 81 03"},
		{"01 too many", "90 01 00 00 07 D1", "90 81 03"},
		{"01 absent", "90 01 09 C4 00 01", "90 81 02"},
		{"01 past the end", "90 01 09 C3 00 02", "90 81 02"},
		{"02", "90 02 00 00 00 0A", "90 02 02 49 02"},
		{"02 none", "90 02 00 00 00 00", "90 82 03"},
		{"02 too many", "90 02 00 00 07 D1", "90 82 03"},
		{"02 absent", "90 02 07 D0 00 01", "90 82 02"},

		{"03", "90 03 00 50 00 02", "90 03 04 10 50 10 51"},
		{"03 most", "90 03 00 00 00 7D", "90 03 FA " + words(0x1000, 125)},
		{"03 none", "90 03 00 00 00 00", "90 83 03"},
		{"03 too many", "90 03 00 00 00 7E", "90 83 03"},
		{"03 absent", "90 03 01 2C 00 01", "90 83 02"},
		{"03 touching one that is absent", "90 03 01 2B 00 02", "90 83 02"},
		{"03 past 65535", "90 03 FF FF 00 02", "90 83 02"},
		{"03 quantity before address", "90 03 FF FF 00 00", "90 83 03"},
		{"04", "90 04 00 08 00 02", "90 04 04 20 08 20 09"},
		{"04 none", "90 04 00 08 00 00", "90 84 03"},
		{"04 too many", "90 04 00 00 00 7E", "90 84 03"},
		{"04 absent", "90 04 00 09 00 02", "90 84 02"},
		{"04 past 65535", "90 04 FF FF 00 02", "90 84 02"},

		{"05 on", "90 05 00 03 FF 00", "90 05 00 03 FF 00"},
		{"05 off", "90 05 00 03 00 00", "90 05 00 03 00 00"},
		{"05 value 0001", "90 05 00 03 00 01", "90 85 03"},
		{"05 value FF01", "90 05 00 03 FF 01", "90 85 03"},
		{"05 absent", "90 05 09 C4 FF 00", "90 85 02"},
		{"05 value before address", "90 05 09 C4 12 34", "90 85 03"},
		{"06", "90 06 01 21 00 5A", "90 06 01 21 00 5A"},
		{"06 absent", "90 06 01 2C 00 5A", "90 86 02"},

		{"0F", "90 0F 00 13 00 0A 02 CD 01", "90 0F 00 13 00 0A"},
		{"0F most", "90 0F 00 00 07 B0 F6 " + zeros(246), "90 0F 00 00 07 B0"},
		{"0F none", "90 0F 00 13 00 00 00", "90 8F 03"},
		{"0F too many", "90 0F 00 00 07 B1 F7 " + zeros(247), "90 8F 03"},
		{"0F byte count", "90 0F 00 13 00 0A 01 CD", "90 8F 03"},
		{"0F absent", "90 0F 09 C4 00 01 01 01", "90 8F 02"},
		{"0F past 65535", "90 0F FF FF 00 02 01 03", "90 8F 02"},
		{"10", "90 10 00 62 00 02 04 65 00 00 01", "90 10 00 62 00 02"},
		{"10 most", "90 10 00 00 00 7B F6 " + zeros(246), "90 10 00 00 00 7B"},
		{"10 none", "90 10 00 62 00 00 00", "90 90 03"},
		{"10 too many", "90 10 00 00 00 7C F7 " + zeros(247), "90 90 03"},
		{"10 byte count", "90 10 00 62 00 02 02 65 00", "90 90 03"},
		{"10 byte count that is not that of the frame", "90 10 00 62 00 02 04 65 00", "90 90 03"},
		{"10 absent", "90 10 01 2B 00 02 04 00 01 00 02", "90 90 02"},
		{"10 past 65535", "90 10 FF FF 00 02 04 00 01 00 02", "90 90 02"},
		{"10 quantity before address", "90 10 FF FF 00 00 00", "90 90 03"},

		{"11", "90 11", "90 11 03 42 FF 78"},
		{"14", "90 14 0E 06 00 04 00 01 00 02 06 00 03 00 09 00 02", "90 14 0C 05 06 40 01 40 02 05 06 30 09 30 0A"},
		{"14 most", "90 14 07 06 00 04 00 00 00 79", "90 14 F4 F3 06 " + words(0x4000, 121)},
		{"14 35 parts", "90 14 F5 " + strings.Repeat("06 00 04 00 00 00 01 ", 35), "90 14 8C " + strings.Repeat("03 06 40 00 ", 35)},
		{"14 answer too long", "90 14 07 06 00 04 00 00 00 7A", "90 94 03"},
		{"14 no words", "90 14 07 06 00 04 00 00 00 00", "90 94 03"},
		{"14 byte count below 7", "90 14 06 06 00 04 00 01 00", "90 94 03"},
		{"14 byte count 0", "90 14 00", "90 94 03"},
		{"14 byte count above F5", "90 14 F6 " + zeros(246), "90 94 03"},
		{"14 byte count no multiple of 7", "90 14 08 06 00 04 00 01 00 02 00", "90 94 03"},
		{"14 reference type", "90 14 07 05 00 04 00 01 00 02", "90 94 02"},
		{"14 file 0", "90 14 07 06 00 00 00 01 00 02", "90 94 02"},
		{"14 last record", "90 14 07 06 00 04 27 0F 00 01", "90 14 04 03 06 67 0F"},
		{"14 record above 270F", "90 14 07 06 00 04 27 10 00 01", "90 94 02"},
		{"14 past 270F", "90 14 07 06 00 04 27 0F 00 02", "90 94 02"},
		{"14 absent file", "90 14 0E 06 00 04 00 01 00 02 06 00 05 00 01 00 02", "90 94 02"},

		{"16", "90 16 00 04 00 F2 00 25", "90 16 00 04 00 F2 00 25"},
		{"16 absent", "90 16 01 2C 00 F2 00 25", "90 96 02"},
		{"17", "90 17 00 03 00 02 00 0E 00 01 02 00 FF", "90 17 04 10 03 10 04"},
		{"17 writes first", "90 17 00 03 00 02 00 03 00 01 02 00 FF", "90 17 04 00 FF 10 04"},
		{"17 most", "90 17 00 00 00 7D 00 00 00 79 F2 " + zeros(242), "90 17 FA " + zeros(242) + words(0x1079, 4)},
		{"17 reads none", "90 17 00 03 00 00 00 0E 00 01 02 00 FF", "90 97 03"},
		{"17 reads too many", "90 17 00 03 00 7E 00 0E 00 01 02 00 FF", "90 97 03"},
		{"17 writes none", "90 17 00 03 00 02 00 0E 00 00 00", "90 97 03"},
		{"17 writes too many", "90 17 00 03 00 02 00 00 00 7A F3 " + zeros(243), "90 97 03"},
		{"17 byte count", "90 17 00 03 00 02 00 0E 00 02 02 00 FF", "90 97 03"},
		{"17 read absent", "90 17 01 2C 00 01 00 0E 00 01 02 00 FF", "90 97 02"},
		{"17 write absent", "90 17 00 03 00 01 01 2C 00 01 02 00 FF", "90 97 02"},
		{"17 read past 65535", "90 17 FF FF 00 02 00 0E 00 01 02 00 FF", "90 97 02"},

		{"2B basic", "90 2B 0E 01 00", "90 2B 0E 01 81 00 00 03 00 05 4D 61 6B 65 72 01 03 50 53 55 02 02 56 31"},
		{"2B basic from 1", "90 2B 0E 01 01", "90 2B 0E 01 81 00 00 02 01 03 50 53 55 02 02 56 31"},
		{"2B unknown object of a stream", "90 2B 0E 01 77", "90 2B 0E 01 81 00 00 03 00 05 4D 61 6B 65 72 01 03 50 53 55 02 02 56 31"},
		{"2B regular of a basic device", "90 2B 0E 02 00", "90 2B 0E 02 81 00 00 03 00 05 4D 61 6B 65 72 01 03 50 53 55 02 02 56 31"},
		{"2B one object", "90 2B 0E 04 02", "90 2B 0E 04 81 00 00 01 02 02 56 31"},
		{"2B one unknown object", "90 2B 0E 04 03", "90 AB 02"},
		{"2B code 0", "90 2B 0E 00 00", "90 AB 03"},
		{"2B code 5", "90 2B 0E 05 00", "90 AB 03"},
		{"2B other MEI type", "90 2B 0D 00 01", "90 AB 01"},
		{"2B too long", "90 2B 0E 01 00 00", "90 AB 03"},

		{"08/00", "90 08 00 00 A5 37", "90 08 00 00 A5 37"},
		{"08/00 more", "90 08 00 00 01 02 03 04 05 06", "90 08 00 00 01 02 03 04 05 06"},
		{"08/00 odd", "90 08 00 00 01 02 03", "90 88 03"},
		{"08/01", "90 08 00 01 00 00", "90 08 00 01 00 00"},
		{"08/01 clear", "90 08 00 01 FF 00", "90 08 00 01 FF 00"},
		{"08/01 data", "90 08 00 01 00 01", "90 88 03"},
		{"08/02", "90 08 00 02 00 00", "90 08 00 02 00 00"},
		{"08/02 data", "90 08 00 02 00 01", "90 88 03"},
		{"08/03", "90 08 00 03 2A 00", "90 08 00 03 2A 00"},
		{"08/03 data", "90 08 00 03 2A 01", "90 88 03"},
		{"08/04", "90 08 00 04 00 00", ""},
		{"08/04 data", "90 08 00 04 00 01", "90 88 03"},
		{"08/05", "90 08 00 05 00 00", "90 88 01"},
		{"08/13", "90 08 00 13 00 00", "90 88 01"},
		{"08/15", "90 08 00 15 00 00", "90 88 01"},
		{"08/FFFF", "90 08 FF FF 00 00", "90 88 01"},
		{"08/0A", "90 08 00 0A 00 00", "90 08 00 0A 00 00"},
		{"08/0B", "90 08 00 0B 00 00", "90 08 00 0B 00 01"},
		{"08/0C", "90 08 00 0C 00 00", "90 08 00 0C 00 00"},
		{"08/0D", "90 08 00 0D 00 00", "90 08 00 0D 00 00"},
		{"08/0E", "90 08 00 0E 00 00", "90 08 00 0E 00 01"},
		{"08/0F", "90 08 00 0F 00 00", "90 08 00 0F 00 00"},
		{"08/10", "90 08 00 10 00 00", "90 08 00 10 00 00"},
		{"08/11", "90 08 00 11 00 00", "90 08 00 11 00 00"},
		{"08/12", "90 08 00 12 00 00", "90 08 00 12 00 00"},
		{"08/14", "90 08 00 14 00 00", "90 08 00 14 00 00"},
		{"08 too short", "90 08 00 00", "90 88 03"},
		{"0B", "90 0B", "90 0B 00 00 00 00"},
		{"0C", "90 0C", "90 0C 07 00 00 00 00 00 01 80"},

		{"another's", "91 03 00 50 00 02", ""},
		{"another's broadcast-like", "01 06 00 00 00 01", ""},
		{"broadcast read", "00 03 00 50 00 02", ""},
		{"broadcast 06", "00 06 00 00 00 01", ""},
		{"exception as a request", "90 83 02", ""},
	} {
		t.Run(c.name, func(t *testing.T) { newStation(0x90, AllOptions()).ask(t, c.in, c.want) })
	}
}

// Addresses that the standard reserves are served.
func TestAddresses(t *testing.T) {
	for a := 1; a <= 255; a++ {
		st := newStation(uint8(a), Options{})
		got := st.answer(chars(line, just(AppendRead(nil, uint8(a), 3, 0x50, 1))))
		if want := AppendCRC([]byte{uint8(a), 3, 2, 0x10, 0x50}); hex(got) != hex(want) {
			t.Errorf("%d: %s", a, hex(got))
		}
	}
}

// What a slave serves without options, and what its device lacks.
func TestDefaults(t *testing.T) {
	requests := []string{"90 01 00 00 00 01", "90 02 00 00 00 01", "90 03 00 00 00 01", "90 04 00 00 00 01", "90 05 00 00 FF 00",
		"90 06 00 00 00 01", "90 08 00 00 00 00", "90 0B", "90 0C", "90 0F 00 00 00 01 01 01", "90 10 00 00 00 01 02 00 01", "90 11",
		"90 14 07 06 00 04 00 01 00 01", "90 16 00 04 00 F2 00 25", "90 17 00 03 00 01 00 0E 00 01 02 00 FF", "90 2B 0E 01 00"}
	served := func(s *Slave) string {
		var ok []string
		for _, r := range requests {
			out := s.Serve(0, adu(r), nil)
			if out[1] != hx(r)[1]|ExceptionBit {
				ok = append(ok, r[3:5])
			} else if out[2] != byte(IllegalFunction) {
				t.Errorf("%s: %s", r, hex(out))
			}
		}
		return strings.Join(ok, " ")
	}
	m := newModel()
	for _, c := range []struct {
		s    *Slave
		want string
	}{
		{NewSlave(0x90, m, Options{}), "03 04 06 10 14"},
		{NewSlave(0x90, m, AllOptions()), "01 02 03 04 05 06 08 0B 0C 0F 10 11 14 16 17 2B"},
		{NewSlave(0x90, holding{m}, Options{}), "03 06 10"},
		{NewSlave(0x90, holding{m}, AllOptions()), "03 06 08 0B 0C 10 16 17"},
		{NewSlave(0x90, m, Options{Bits: true}), "01 02 03 04 05 06 0F 10 14"},
		{NewSlave(0x90, m, Options{ServerID: true}), "03 04 06 10 11 14"},
		{NewSlave(0x90, m, Options{DeviceID: true}), "03 04 06 10 14 2B"},
	} {
		if got := served(c.s); got != c.want {
			t.Errorf("served %s, want %s", got, c.want)
		}
	}
}

// Broadcasts of 05, 06, 0F and 10h are executed, never answered.
func TestBroadcast(t *testing.T) {
	st := newStation(0x90, AllOptions())
	for _, in := range []string{"00 05 00 02 FF 00", "00 06 00 07 BE EF", "00 0F 00 04 00 02 01 03", "00 10 00 09 00 02 04 00 01 00 02",
		"00 16 00 0B 00 00 00 00", "00 17 00 00 00 01 00 0B 00 01 02 00 00", "00 08 00 04 00 00", "00 10 01 2C 00 01 02 00 01"} {
		st.ask(t, in, "")
	}
	m := st.m
	if !m.coils[2] || m.regs[7] != 0xBEEF || !m.coils[4] || !m.coils[5] || m.regs[9] != 1 || m.regs[10] != 2 || m.writes != 4 {
		t.Errorf("not executed: %v %v %v, %d writes", m.coils[:6], m.regs[7:11], m.writes, 4)
	}
	if m.regs[11] != 0x100B || st.s.ListenOnly() {
		t.Error("a broadcast of 16h, 17h or 08 was executed")
	}
	c := st.s.Counters()
	if c.NoResponse != 8 || c.Served != 8 || c.Exceptions != 1 {
		t.Errorf("%+v", c)
	}
	// Without the option a coil is not written by broadcast either.
	st = newStation(0x90, Options{})
	st.ask(t, "00 05 00 02 FF 00", "")
	if st.m.coils[2] {
		t.Error("05 was executed without its option")
	}
}

// Execution comes last: 04, and 05 and 06 as the device says.
func TestExecution(t *testing.T) {
	for _, ex := range []Exception{ServerDeviceFailure, Acknowledge, ServerDeviceBusy, NegativeAcknowledge, MemoryParityError} {
		for _, in := range []string{"90 03 00 00 00 01", "90 06 00 00 00 01", "90 10 00 00 00 01 02 00 01", "90 01 00 00 00 01",
			"90 05 00 00 FF 00", "90 0F 00 00 00 01 01 01", "90 14 07 06 00 04 00 01 00 01", "90 16 00 00 00 00 00 00",
			"90 17 00 00 00 01 00 00 00 01 02 00 00"} {
			st := newStation(0x90, AllOptions())
			st.m.fail = ex
			fc := hx(in)[1]
			st.ask(t, in, hex([]byte{0x90, fc | 0x80, byte(ex)}))
		}
		// Quantity and address come before.
		st := newStation(0x90, AllOptions())
		st.m.fail = ex
		st.ask(t, "90 03 00 00 00 00", "90 83 03")
		st.ask(t, "90 03 01 2C 00 01", "90 83 02")
	}
}

func TestMaskWrite(t *testing.T) {
	st := newStation(0x90, AllOptions())
	st.m.regs[4] = 0x12
	st.ask(t, "90 16 00 04 00 F2 00 25", "90 16 00 04 00 F2 00 25")
	st.ask(t, "90 03 00 04 00 01", "90 03 02 00 17") // the standard's example
}

func TestCoils(t *testing.T) {
	st := newStation(0x90, AllOptions())
	st.ask(t, "90 0F 00 13 00 0A 02 CD 01", "90 0F 00 13 00 0A")
	st.ask(t, "90 01 00 13 00 0A", "90 01 02 CD 01")
	st.ask(t, "90 05 00 14 FF 00", "90 05 00 14 FF 00")
	st.ask(t, "90 05 00 13 00 00", "90 05 00 13 00 00")
	st.ask(t, "90 01 00 13 00 0A", "90 01 02 CE 01")
}

// 17h writes nothing if what it should read is not there.
func TestReadWriteChecksFirst(t *testing.T) {
	st := newStation(0x90, AllOptions())
	st.ask(t, "90 17 01 2C 00 01 00 0E 00 01 02 00 FF", "90 97 02")
	if st.m.writes != 0 {
		t.Error("written")
	}
}

// A request to a slave that does not answer does not take another's exception 1
// away, or that for a byte count that lies.
func TestUnknownFunctionWhileAReplyIsDue(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"90 41 01 02 03", "90 C1 01"},
		{"90 00", "90 80 01"},
		{"90 10 00 62 00 02 04 65 00", "90 90 03"},
	} {
		st := newStation(0x90, AllOptions())
		got := st.answer(chars(line, []burst{{b: adu("91 03 00 50 00 01")}, {after: 30 * sim.Millisecond, b: adu(c.in)}}))
		if hex(got) != hex(adu(c.want)) {
			t.Errorf("%s: got % x, want %s", c.in, got, c.want)
		}
	}
}
