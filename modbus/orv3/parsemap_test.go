package orv3

import (
	"strings"
	"testing"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

const userMap = `{
  "name": "MY_PSU", "address_range": [[200, 205], [210, 211]], "probe_register": 8, "baudrate": 38400, "parity": "ODD",
  "max_span_length": 16, "time_sync": {"address": 98, "interval": 3600},
  "registers": [
    {"begin": 98, "length": 2, "format": "INTEGER", "name": "Unix_Time"},
    {"begin": 8, "length": 8, "format": "STRING", "name": "PSU_MFR_Model", "interval": 10, "keep": 2},
    {"begin": 60, "length": 1, "format": "FLAGS", "name": "My_Flags", "keep": 10, "changes_only": true, "flags": [[15, "Top"], [0, "Low"]]},
    {"begin": 79, "length": 1, "format": "FLOAT", "precision": 10, "name": "PSU_Output_Voltage", "unit": "Volts"},
    {"begin": 80, "length": 1, "format": "FLOAT", "precision": 0, "scale": 0.5, "shift": -40, "sign": true, "name": "Strange", "unit": "DegreesC"},
    {"begin": 81, "length": 1, "format": "INTEGER", "endian": "L", "name": "Swapped"},
    {"begin": 82, "length": 2, "name": "Raw_Words"}
  ]}`

func TestParseMap(t *testing.T) {
	m, err := ParseMap([]byte(userMap))
	if err != nil {
		t.Fatal(err)
	}
	if m.Line.String() != "38400 8O1" || !m.Has(211) || m.Has(206) || m.TimeSync != 98 || m.Period != 3600*sim.Second {
		t.Errorf("%+v", m)
	}
	e := sim.NewEngine(1)
	p, err := NewPlant(e.NewProc(), PlantConfig{Shelves: []ShelfConfig{{Name: "s", Kind: "orv3-psu", Load: 1000,
		Slots: []SlotConfig{{Number: 1, Name: "a", Address: 200, Map: m}}}}})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t, e, p}
	b.at(3)
	d := b.dev("s/a")
	if v := b.value("s/a", "PSU_Output_Voltage"); v < 50 || v > 51 {
		t.Errorf("%g V: a name that we know does not show the model", v)
	}
	for _, c := range []struct {
		name, value string
		addr, want  uint16
	}{{"Strange", "-10", 80, 60}, {"swapped", "258", 81, 0x0201}, {"raw_words", "65537", 83, 1}, {"my_flags.top", "true", 60, 0x8000}} {
		if err := p.Set("s/a", c.name, c.value); err != nil {
			t.Error(err)
		}
		if got := b.word("s/a", c.addr); got != c.want {
			t.Errorf("%s=%s: %04x, want %04x", c.name, c.value, got, c.want)
		}
	}
	if x := d.WriteRegisters(e.Now(), 98, []uint16{1, 2}); x != rtu.OK || b.value("s/a", "Unix_Time") != 65538 {
		t.Errorf("time sync of a user's map: exception %d, %g", x, b.value("s/a", "Unix_Time"))
	}
}

func TestParseMapErrors(t *testing.T) {
	reg := func(s string) string {
		return `{"name":"M","address_range":[[1,2]],"probe_register":0,"baudrate":19200,"registers":[` + s + `]}`
	}
	for _, c := range []struct{ in, want string }{
		{`{`, "unexpected"},
		{`{} {}`, "follows the closing brace"},
		{`{}`, "no name"},
		{reg(``), "no registers"},
		{`{"name":"M","address_range":[[5,2]],"probe_register":0,"baudrate":19200,"registers":[]}`, "[5 2]: want [first, last]"},
		{`{"name":"M","address_range":[[1,2]],"probe_register":0,"baudrate":1,"registers":[]}`, "baudrate 1"},
		{`{"name":"M","address_range":[[1,2]],"probe_register":0,"baudrate":9600,"parity":"MARK","registers":[]}`, `parity "MARK"`},
		{reg(`{"begin":0,"length":1,"format":"FLOAT","name":"A"}`), "register A: a FLOAT needs its precision"},
		{reg(`{"begin":0,"length":0,"name":"A"}`), "register A: length"},
		{reg(`{"begin":70000,"length":1,"name":"A"}`), "register A: begin"},
		{reg(`{"begin":65535,"length":2,"name":"A"}`), "register A at 65535: 2 words end beyond"},
		{reg(`{"begin":0,"length":1,"format":"DOUBLE","name":"A"}`), `register A: format "DOUBLE"`},
		{reg(`{"begin":0,"length":5,"format":"INTEGER","name":"A"}`), "register A at 0: 5 words are no number"},
		{reg(`{"begin":0,"length":1,"format":"FLAGS","name":"A","flags":[[16,"x"]]}`), "register A: flag 16"},
		{reg(`{"begin":0,"length":1,"format":"FLAGS","name":"A"}`), "register A: FLAGS needs its flags"},
		{reg(`{"begin":0,"length":2,"name":"A"},{"begin":1,"length":1,"name":"B"}`), "register B at 1 overlaps A"},
		{reg(`{"begin":0,"length":1,"name":"A","endian":"X"}`), "register A: endian"},
		{reg(`{"begin":0,"length":1}`), "registers[0]: register without a name"},
	} {
		_, err := ParseMap([]byte(c.in))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n%v\nwant %s", c.in, err, c.want)
		}
	}
}

// FuzzParseMap: whatever parses can be built, read as a whole and written.
func FuzzParseMap(f *testing.F) {
	f.Add([]byte(userMap))
	f.Add([]byte(`{"name":"M","address_range":[1,2],"probe_register":0,"baudrate":9600,"registers":[{"begin":0,"length":4,"format":"LONG","name":"A"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ParseMap(b)
		if err != nil {
			return
		}
		e := sim.NewEngine(1)
		p, err := NewPlant(e.NewProc(), PlantConfig{Shelves: []ShelfConfig{{Name: "s", Kind: "hpr-bbu", Backs: -1,
			Slots: []SlotConfig{{Number: 1, Name: "a", Address: 1, Map: m}}}}})
		if err != nil {
			t.Fatal(err)
		}
		d := p.Device("s", "a")
		for i := range m.Registers {
			r := &m.Registers[i]
			w := make([]uint16, r.Words)
			if x := d.ReadRegisters(0, r.Addr, w); x != rtu.OK {
				t.Fatalf("%s: exception %d", r.Name, x)
			}
			r.Encode(w, r.Decode(w))
			d.WriteRegisters(0, r.Addr, w)
		}
		if _, err := p.Show("s/a"); err != nil {
			t.Fatal(err)
		}
	})
}
