package rtu

import "testing"

// What is answered with silence, and what it counts (V1.02, 2.4.2).
func TestSilence(t *testing.T) {
	good := adu("90 03 00 50 00 02")
	bad := adu("90 03 00 50 00 02")
	bad[7] ^= 1
	for _, c := range []struct {
		name string
		in   []burst
		want Counters
	}{
		{"wrong CRC", just(bad), Counters{CRCErrors: 1}},
		{"parity error", []burst{{0, good[:2], 0}, {0, good[2:3], ParityError}, {0, good[3:], 0}}, Counters{CRCErrors: 1}},
		{"framing error", []burst{{0, good, FramingError}}, Counters{CRCErrors: 1}},
		{"overrun", []burst{{0, good[:2], 0}, {0, good[3:4], Overrun}, {0, good[4:], 0}}, Counters{CRCErrors: 1, Overrun: 1}},
		{"short", just(good[:5]), Counters{CRCErrors: 1}},
		{"two characters", just(good[:2]), Counters{CRCErrors: 1}},
		{"a pause in the frame", []burst{{0, good[:4], 0}, {line.T35(), good[4:], 0}}, Counters{CRCErrors: 2}},
		{"another address", just(adu("91 03 00 50 00 02")), Counters{Messages: 1}},
		{"another address and its reply", then(just(adu("91 03 00 50 00 01")), 5*ms, adu("91 03 02 12 34")), Counters{Messages: 2}},
		{"another's write and its echo", then(just(adu("91 06 00 50 00 01")), 5*ms, adu("91 06 00 50 00 01")), Counters{Messages: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := newStation(0x90, AllOptions())
			if got := st.answer(chars(line, c.in)); len(got) > 0 || st.m.writes > 0 {
				t.Errorf("answered %s, %d writes", hex(got), st.m.writes)
			}
			if got := st.s.Counters(); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// Serve itself trusts nobody.
func TestServeChecks(t *testing.T) {
	s := NewSlave(0x90, newModel(), AllOptions())
	bad := adu("90 03 00 50 00 02")
	bad[7] ^= 1
	for _, in := range [][]byte{nil, {0x90}, {0x90, 3, 0}, bad, make([]byte, 300)} {
		if got := s.Serve(0, in, nil); got != nil {
			t.Errorf("% x: % x", in, got)
		}
	}
	if c := s.Counters(); c.CRCErrors != 5 {
		t.Errorf("%+v", c)
	}
	// The reply is appended, with the CRC of itself alone.
	got := s.Serve(0, adu("90 03 00 50 00 01"), []byte("before"))
	if string(got) != "before"+string(adu("90 03 02 10 50")) {
		t.Errorf("%q", got)
	}
}

// The counters of 08, by what makes them.
func TestCounters(t *testing.T) {
	st := newStation(0x90, AllOptions())
	ask := func(in, want string) { t.Helper(); st.ask(t, in, want) }
	ask("90 03 00 00 00 01", "90 03 02 10 00") // messages, served, events: 1
	ask("91 03 00 00 00 01", "")               // messages: 2
	ask("90 03 01 2C 00 01", "90 83 02")       // 3, 2, 1
	ask("00 06 00 00 00 05", "")               // 4, 3, 2; no response: 1
	st.m.fail = ServerDeviceBusy
	ask("90 06 00 00 00 05", "90 86 06") // 5, 4
	st.m.fail = NegativeAcknowledge
	ask("90 06 00 00 00 05", "90 86 07") // 6, 5
	st.m.fail = OK
	st.s.NoteBad(BadCRC)
	st.s.NoteBad(BadOver)
	st.s.SetDiagnostic(0xCAFE)
	for _, c := range []struct{ sub, want string }{
		{"0B", "00 07"}, {"0C", "00 02"}, {"0D", "00 03"}, {"0E", "00 09"}, {"0F", "00 01"}, {"10", "00 01"}, {"11", "00 01"}, {"12", "00 01"}, {"02", "CA FE"},
	} {
		ask("90 08 00 "+c.sub+" 00 00", "90 08 00 "+c.sub+" "+c.want)
	}
	ask("90 0B", "90 0B 00 00 00 0B") // 2 before, 9 of 08
	ask("90 0B", "90 0B 00 00 00 0B") // which does not count itself
	ask("90 08 00 14 00 00", "90 08 00 14 00 00")
	ask("90 08 00 12 00 00", "90 08 00 12 00 00")
	ask("90 08 00 0A 00 00", "90 08 00 0A 00 00")
	if c := st.s.Counters(); c != (Counters{}) {
		t.Errorf("after clearing: %+v", c)
	}
	ask("90 08 00 02 00 00", "90 08 00 02 00 00")
	ask("90 08 00 0B 00 00", "90 08 00 0B 00 02")
	// Counters wrap.
	st.s.diag.c.Messages = 0xFFFF
	ask("90 08 00 0B 00 00", "90 08 00 0B 00 00")
}

// Listen only mode: everything but the restart is ignored, and that is not
// answered.
func TestListenOnly(t *testing.T) {
	st := newStation(0x90, AllOptions())
	ask := func(in, want string) { t.Helper(); st.ask(t, in, want) }
	ask("90 08 00 04 00 00", "")
	for _, in := range []string{"90 03 00 00 00 01", "90 06 00 00 00 05", "00 06 00 00 00 05", "90 08 00 00 A5 37", "90 08 00 0A 00 00",
		"90 08 00 01 12 34", "00 08 00 01 00 00", "90 0B", "90 41"} {
		ask(in, "")
	}
	if !st.s.ListenOnly() || st.m.writes != 0 {
		t.Fatalf("listening %v, %d writes", st.s.ListenOnly(), st.m.writes)
	}
	if c := st.s.Counters(); c.Messages != 10 || c.Served != 10 || c.NoResponse != 10 || c.Exceptions != 0 {
		t.Errorf("%+v", c)
	}
	ask("90 08 00 01 00 00", "")
	if st.s.ListenOnly() || st.s.Counters() != (Counters{}) {
		t.Errorf("after the restart: listening %v, %+v", st.s.ListenOnly(), st.s.Counters())
	}
	ask("90 03 00 00 00 01", "90 03 02 10 00")
	// Power-on ends it too.
	ask("90 08 00 04 00 00", "")
	st.s.Restart()
	ask("90 03 00 00 00 01", "90 03 02 10 00")
}

// The event log, the newest event first.
func TestEventLog(t *testing.T) {
	st := newStation(0x90, AllOptions())
	ask := func(in, want string) { t.Helper(); st.ask(t, in, want) }
	ask("90 03 00 00 00 01", "90 03 02 10 00") // 80 40
	ask("90 0C", "90 0C 09 00 00 00 01 00 02 80 40 80")
	ask("90 03 01 2C 00 01", "90 83 02") // 80 41
	ask("00 06 00 00 00 05", "")         // C0 40
	for _, ex := range []Exception{ServerDeviceFailure, Acknowledge, ServerDeviceBusy, NegativeAcknowledge, MemoryParityError} {
		st.m.fail = ex
		st.s.Serve(0, adu("90 03 00 00 00 01"), nil) // 80 42, 80 44, 80 44, 80 48, 80 40
	}
	st.s.NoteBad(BadShort) // 82
	st.s.NoteBad(BadOver)  // 92
	ask("90 0C", "90 0C 1B 00 00 00 03 00 0A "+
		"80 92 82 40 80 48 80 44 80 44 80 42 80 40 C0 41 80 40 80 40 80")
	ask("90 08 00 01 FF 00", "90 08 00 01 FF 00")
	ask("90 0C", "90 0C 08 00 00 00 00 00 01 80 00") // restarted and cleared
	ask("90 08 00 01 00 00", "90 08 00 01 00 00")
	ask("90 0C", "90 0C 0D 00 00 00 00 00 01 80 00 40 80 40 80 00")
}
