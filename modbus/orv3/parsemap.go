package orv3

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
	"strings"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

type jsonMap struct {
	Name      string          `json:"name"`
	Ranges    json.RawMessage `json:"address_range"`
	Probe     *int            `json:"probe_register"`
	Baud      int             `json:"baudrate"`
	Preferred int             `json:"preferred_baudrate"`
	Default   int             `json:"default_baudrate"`
	Parity    string          `json:"parity"`
	Span      int             `json:"max_span_length"`
	TimeSync  *struct {
		Address  int `json:"address"`
		Interval int `json:"interval"`
	} `json:"time_sync"`
	Handlers []struct {
		Reg    int    `json:"reg"`
		Len    int    `json:"len"`
		Period int    `json:"period"`
		Action string `json:"action"`
	} `json:"special_handlers"`
	Registers []json.RawMessage `json:"registers"`
}

type jsonRegister struct {
	Begin     *int                 `json:"begin"`
	Length    *int                 `json:"length"`
	Name      string               `json:"name"`
	Format    string               `json:"format"`
	Endian    string               `json:"endian"`
	Precision *int                 `json:"precision"`
	Sign      bool                 `json:"sign"`
	Scale     float64              `json:"scale"`
	Shift     float64              `json:"shift"`
	Flags     [][2]json.RawMessage `json:"flags"`
	Unit      string               `json:"unit"`
}

// maxMap bounds a map that comes from outside, in bytes.
const maxMap = 4 << 20

// ParseMap reads a register map of the form that rackmon's maps have: name,
// address_range, probe_register, baudrate, parity, time_sync, registers with
// begin, length, name, format, precision, sign, scale, shift, endian and flags.
// Fields that say how a master polls (interval, keep, ...) are passed over.
// Registers with names that we know show the model; the others hold what is set.
// All problems are reported at once, each with its register.
func ParseMap(b []byte) (*Map, error) {
	if len(b) > maxMap {
		return nil, fmt.Errorf("register map of %d bytes: want at most %d", len(b), maxMap)
	}
	var j jsonMap
	dec := json.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(&j); err != nil {
		return nil, fmt.Errorf("register map: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("register map: something follows the closing brace: one map a file")
	}
	m := &Map{Name: j.Name}
	var errs []error
	bad := func(f string, a ...any) { errs = append(errs, fmt.Errorf(f, a...)) }
	if j.Name == "" {
		bad("register map: no name")
	}
	m.readLine(&j, bad)
	m.readRanges(j.Ranges, bad)
	for i, raw := range j.Registers {
		r, err := parseRegister(raw)
		if err != nil {
			bad("registers[%d]: %w", i, err)
			continue
		}
		m.Registers = append(m.Registers, r)
	}
	if len(j.Registers) == 0 {
		bad("register map %s: no registers", j.Name)
	}
	sort.SliceStable(m.Registers, func(i, k int) bool { return m.Registers[i].Addr < m.Registers[k].Addr })
	if len(errs) == 0 {
		if err := m.check(); err != nil {
			bad("%w", err)
		}
	}
	m.readSync(&j, bad)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	world().bind(m)
	for i := range m.Registers { // what no rule knows is in the unit of its map
		if r := &m.Registers[i]; r.Unit == "" && r.src.name == "" && r.Format != Flags {
			r.Unit = unitOf(raws(j.Registers, r.Addr))
		}
	}
	return m, nil
}

func raws(l []json.RawMessage, addr uint16) string {
	for _, raw := range l {
		var x jsonRegister
		if json.Unmarshal(raw, &x) == nil && x.Begin != nil && *x.Begin == int(addr) {
			return x.Unit
		}
	}
	return ""
}

func unitOf(s string) string {
	switch s {
	case "Volts":
		return "V"
	case "Amperes":
		return "A"
	case "Watts":
		return "W"
	case "DegreesC":
		return "C"
	}
	return s
}

func (m *Map) readLine(j *jsonMap, bad func(string, ...any)) {
	m.Line = rtu.Line{Baud: j.Baud, Data: 8, Parity: rtu.Even, Stop: 1}
	for _, b := range [2]int{j.Preferred, j.Default} { // older maps name the baud so
		if m.Line.Baud == 0 {
			m.Line.Baud = b
		}
	}
	if m.Line.Baud < 50 || m.Line.Baud > 4000000 {
		bad("register map %s: baudrate %d: want 50 to 4000000", j.Name, m.Line.Baud)
	}
	switch p := strings.ToUpper(j.Parity); p {
	case "", "EVEN", "ODD", "NONE":
		if p != "" {
			m.Line.Parity = parity(p)
		}
	default:
		bad("register map %s: parity %q: want EVEN, ODD or NONE", j.Name, j.Parity)
	}
	if j.Probe == nil || *j.Probe < 0 || *j.Probe > 0xffff {
		bad("register map %s: probe_register: want 0 to 65535", j.Name)
	} else {
		m.Probe = uint16(*j.Probe)
	}
}

// readRanges takes [first, last] as older maps have it, and lists of such.
func (m *Map) readRanges(raw json.RawMessage, bad func(string, ...any)) {
	var list [][]int
	var one []int
	if json.Unmarshal(raw, &list) != nil {
		if err := json.Unmarshal(raw, &one); err != nil {
			bad("register map %s: address_range: want [[first, last], ...]", m.Name)
			return
		}
		list = [][]int{one}
	}
	if len(list) == 0 {
		bad("register map %s: address_range is empty: want [[first, last], ...]", m.Name)
	}
	for _, r := range list {
		if len(r) != 2 || r[0] < 1 || r[1] > 255 || r[0] > r[1] {
			bad("register map %s: address_range %v: want [first, last] within 1 to 255", m.Name, r)
			continue
		}
		m.Ranges = append(m.Ranges, Range{uint8(r[0]), uint8(r[1])})
	}
}

func (m *Map) readSync(j *jsonMap, bad func(string, ...any)) {
	addr, period := -1, 0
	if j.TimeSync != nil {
		addr, period = j.TimeSync.Address, j.TimeSync.Interval
	} else {
		for _, h := range j.Handlers {
			if h.Action == "write" && h.Len == 2 {
				addr, period = h.Reg, h.Period
			}
		}
	}
	if addr < 0 {
		return
	}
	r := (*Register)(nil)
	if addr <= 0xffff {
		r = m.At(uint16(addr))
	}
	if r == nil || int(r.Addr) != addr || r.Words != 2 {
		bad("register map %s: time_sync at %d: no register of 2 words begins there", j.Name, addr)
		return
	}
	m.TimeSync, m.Sync = uint16(addr), true
	m.Period = sim.Time(min(max(period, 0), 1<<20)) * sim.Second
}

func parseRegister(raw json.RawMessage) (Register, error) {
	var j jsonRegister
	if err := json.Unmarshal(raw, &j); err != nil {
		return Register{}, fmt.Errorf("register %s: %w", j.Name, err)
	}
	r := Register{Name: j.Name, Signed: j.Sign, Scale: j.Scale, Shift: j.Shift}
	switch {
	case j.Name == "":
		return r, errors.New("register without a name")
	case j.Begin == nil || *j.Begin < 0 || *j.Begin > 0xffff:
		return r, fmt.Errorf("register %s: begin: want 0 to 65535", j.Name)
	case j.Length == nil || *j.Length < 1 || *j.Length > 125:
		return r, fmt.Errorf("register %s: length: want 1 to 125 words", j.Name)
	case math.IsInf(j.Scale, 0) || math.IsInf(j.Shift, 0):
		return r, fmt.Errorf("register %s: scale or shift is not finite", j.Name)
	}
	r.Addr, r.Words = uint16(*j.Begin), uint16(*j.Length)
	f, err := parseFormat(strings.ToUpper(j.Format))
	if err != nil {
		return r, fmt.Errorf("register %s: %w", j.Name, err)
	}
	r.Format = f
	switch j.Endian {
	case "", "B":
	case "L":
		r.Little = true
	default:
		return r, fmt.Errorf("register %s: endian %q: want B or L", j.Name, j.Endian)
	}
	if f == Float {
		if j.Precision == nil || *j.Precision < 0 || *j.Precision > 63 {
			return r, fmt.Errorf("register %s: a FLOAT needs its precision: 0 to 63 bits", j.Name)
		}
		r.Bits, r.Little = uint8(*j.Precision), false
	}
	if f == Flags && len(j.Flags) == 0 {
		return r, fmt.Errorf("register %s: FLAGS needs its flags: [[bit, name], ...]", j.Name)
	}
	for _, p := range j.Flags {
		var bit int
		var name string
		if json.Unmarshal(p[0], &bit) != nil || json.Unmarshal(p[1], &name) != nil || bit < 0 || bit > 63 || bit >= 16*int(r.Words) {
			return r, fmt.Errorf("register %s: flag %s %s: want [bit, name] with a bit of its %d", j.Name, p[0], p[1], 16*r.Words)
		}
		r.Flags = append(r.Flags, Flag{Bit: uint8(bit), Name: name})
	}
	return r, nil
}
