package rtu

import (
	"errors"
	"testing"
)

func TestBuild(t *testing.T) {
	for _, c := range []struct {
		name, want string
		got        []byte
	}{
		{"01", "11 01 00 13 00 25", AppendRead(nil, 0x11, ReadCoils, 0x13, 0x25)},
		{"03", "11 03 00 6B 00 03", AppendRead(nil, 0x11, ReadHoldingRegisters, 0x6B, 3)},
		{"05 on", "11 05 00 AC FF 00", AppendWriteCoil(nil, 0x11, 0xAC, true)},
		{"05 off", "11 05 00 AC 00 00", AppendWriteCoil(nil, 0x11, 0xAC, false)},
		{"06", "11 06 00 01 00 03", AppendWriteRegister(nil, 0x11, 1, 3)},
		{"08", "11 08 00 0B 00 00", AppendDiagnostic(nil, 0x11, DiagMessages, 0)},
		{"0B", "11 0B", AppendRequest(nil, 0x11, GetCommEventCounter)},
		{"0F", "11 0F 00 13 00 0A 02 CD 01", AppendWriteCoils(nil, 0x11, 0x13, []bool{true, false, true, true, false, false, true, true, true, false})},
		{"10", "11 10 00 01 00 02 04 00 0A 01 02", AppendWriteRegisters(nil, 0x11, 1, []uint16{0x0A, 0x0102})},
		{"14", "11 14 0E 06 00 04 00 01 00 02 06 00 03 00 09 00 02", AppendReadFile(nil, 0x11, FilePart{4, 1, 2}, FilePart{3, 9, 2})},
		{"16", "11 16 00 04 00 F2 00 25", AppendMaskWrite(nil, 0x11, 4, 0xF2, 0x25)},
		{"17", "11 17 00 03 00 06 00 0E 00 01 02 00 FF", AppendReadWrite(nil, 0x11, 3, 6, 0xE, []uint16{0xFF})},
		{"2B", "11 2B 0E 04 02", AppendDeviceID(nil, 0x11, 4, 2)},
	} {
		if hex(c.got) != hex(adu(c.want)) {
			t.Errorf("%s: %s, want %s", c.name, hex(c.got), hex(adu(c.want)))
		}
	}
	// Each request has the CRC of itself, behind whatever b holds.
	if b := AppendRead([]byte{1, 2, 3}, 0x11, 3, 0x6B, 3); !CheckCRC(b[3:]) {
		t.Errorf("% x", b)
	}
}

func TestParseReply(t *testing.T) {
	spoilt := adu("11 03 02 12 34")
	spoilt[5] ^= 1
	for _, c := range []struct {
		name string
		req  string
		in   []byte
		data string
		ex   Exception
		err  error
	}{
		{"03", "11 03 00 6B 00 01", adu("11 03 02 12 34"), "12 34", OK, nil},
		{"03 and a stray", "11 03 00 6B 00 01", append(adu("11 03 02 12 34"), 0), "12 34", OK, nil},
		{"exception", "11 03 00 6B 00 01", adu("11 83 02"), "", IllegalDataAddress, nil},
		{"exception 0", "11 03 00 6B 00 01", adu("11 83 00"), "", OK, ErrMismatch},
		{"nothing", "11 03 00 6B 00 01", nil, "", OK, ErrShort},
		{"short", "11 03 00 6B 00 01", adu("11 03 02 12 34")[:6], "", OK, ErrShort},
		{"CRC", "11 03 00 6B 00 01", spoilt, "", OK, ErrCRC},
		{"another slave", "11 03 00 6B 00 01", adu("12 03 02 12 34"), "", OK, ErrAddress},
		{"another function", "11 03 00 6B 00 01", adu("11 04 02 12 34"), "", OK, ErrFunction},
		{"another function's exception", "11 03 00 6B 00 01", adu("11 84 02"), "", OK, ErrFunction},
		{"another quantity", "11 03 00 6B 00 01", adu("11 03 04 12 34 56 78"), "", OK, ErrMismatch},
		{"echo of the request", "11 04 00 00 00 01", adu("11 04 00 00 00 01"), "", OK, ErrCRC},
		{"01", "11 01 00 00 00 09", adu("11 01 02 FF 01"), "FF 01", OK, nil},
		{"06", "11 06 00 01 00 03", adu("11 06 00 01 00 03"), "00 01 00 03", OK, nil},
		{"06 other value", "11 06 00 01 00 03", adu("11 06 00 01 00 04"), "", OK, ErrMismatch},
		{"10", "11 10 00 01 00 01 02 00 0A", adu("11 10 00 01 00 01"), "00 01 00 01", OK, nil},
		{"10 other quantity", "11 10 00 01 00 01 02 00 0A", adu("11 10 00 01 00 02"), "", OK, ErrMismatch},
		{"08 counter", "11 08 00 0B 00 00", adu("11 08 00 0B 12 34"), "00 0B 12 34", OK, nil},
		{"08 other sub-function", "11 08 00 0B 00 00", adu("11 08 00 0C 12 34"), "", OK, ErrMismatch},
		{"0B", "11 0B", adu("11 0B FF FF 01 08"), "FF FF 01 08", OK, nil},
		{"0C", "11 0C", adu("11 0C 06 00 00 00 01 00 02"), "00 00 00 01 00 02", OK, nil},
		{"0C too short", "11 0C", adu("11 0C 02 00 00"), "", OK, ErrMismatch},
		{"11", "11 11", adu("11 11 02 42 FF"), "42 FF", OK, nil},
		{"14", "11 14 07 06 00 04 00 01 00 01", adu("11 14 04 03 06 AB CD"), "03 06 AB CD", OK, nil},
		{"17", "11 17 00 03 00 01 00 0E 00 01 02 00 FF", adu("11 17 02 12 34"), "12 34", OK, nil},
		{"2B", "11 2B 0E 04 02", adu("11 2B 0E 04 81 00 00 01 02 01 41"), "04 81 00 00 01 02 01 41", OK, nil},
		{"2B other code", "11 2B 0E 04 02", adu("11 2B 0E 01 81 00 00 01 02 01 41"), "", OK, ErrMismatch},
		{"broadcast", "00 06 00 01 00 03", adu("00 06 00 01 00 03"), "", OK, ErrNoReply},
		{"unknown function", "11 41 01", adu("11 41 02 03"), "02 03", OK, nil},
		{"2B without a type", "11 2B 0D 00", adu("11 2B"), "", OK, ErrMismatch},
	} {
		t.Run(c.name, func(t *testing.T) {
			data, ex, err := ParseReply(adu(c.req), c.in)
			if hex(data) != hex(hx(c.data)) || ex != c.ex || !errors.Is(err, c.err) {
				t.Errorf("% x, %v, %v", data, ex, err)
			}
		})
	}
	if _, _, err := ParseReply([]byte{1, 3}, adu("01 03 02 00 00")); !errors.Is(err, ErrMismatch) {
		t.Error(err)
	}
}

// What the builders ask, the slave answers, and the parser takes.
func TestMasterAndSlave(t *testing.T) {
	m := newModel()
	s := NewSlave(0x90, m, AllOptions())
	for _, c := range []struct {
		req  []byte
		data string
	}{
		{AppendWriteRegisters(nil, 0x90, 5, []uint16{1, 2}), "00 05 00 02"},
		{AppendRead(nil, 0x90, 3, 5, 2), "00 01 00 02"},
		{AppendReadWrite(nil, 0x90, 5, 1, 6, []uint16{9}), "00 01"},
		{AppendMaskWrite(nil, 0x90, 5, 0xFF00, 0x0055), "00 05 FF 00 00 55"},
		{AppendRead(nil, 0x90, 3, 5, 2), "00 55 00 09"},
		{AppendWriteCoils(nil, 0x90, 0, []bool{true, true, false}), "00 00 00 03"},
		{AppendRead(nil, 0x90, 1, 0, 3), "03"},
		{AppendReadFile(nil, 0x90, FilePart{4, 7, 1}), "03 06 40 07"},
		{AppendRequest(nil, 0x90, ReportServerID), "42 FF 78"},
	} {
		data, ex, err := ParseReply(c.req, s.Serve(0, c.req, nil))
		if hex(data) != hex(hx(c.data)) || ex != OK || err != nil {
			t.Errorf("% x: % x, %v, %v", c.req, data, ex, err)
		}
	}
}
