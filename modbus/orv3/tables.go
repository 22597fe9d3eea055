package orv3

import (
	"embed"
	"encoding/csv"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

//go:embed registers/*.csv assume/*.csv
var files embed.FS

// table reads one embedded table; each row is a map of its columns by name. A
// fault in an embedded table is a fault of the program: it panics at start.
type row struct {
	file  string
	line  int
	names []string
	cells []string
}

func table(file string) []row {
	f, err := files.Open(file)
	if err != nil {
		panic("orv3: " + err.Error())
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment = '#'
	l, err := r.ReadAll()
	if err != nil || len(l) == 0 {
		panic(fmt.Sprintf("orv3: %s: %v", file, err))
	}
	rows := make([]row, 0, len(l)-1)
	for i, c := range l[1:] {
		rows = append(rows, row{file: file, line: i + 2, names: l[0], cells: c})
	}
	return rows
}

func (r row) get(name string) string {
	for i, n := range r.names {
		if n == name {
			return r.cells[i]
		}
	}
	panic(fmt.Sprintf("orv3: %s has no column %s", r.file, name))
}

func (r row) bad(name string, err error) {
	panic(fmt.Sprintf("orv3: %s, row %d, %s: %v", r.file, r.line, name, err))
}

func (r row) int(name string) int {
	s := r.get(name)
	if s == "" {
		return 0
	}
	v, err := strconv.ParseInt(s, 0, 64)
	if err != nil {
		r.bad(name, err)
	}
	return int(v)
}

func (r row) float(name string) float64 {
	s := r.get(name)
	if s == "" {
		return 0
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		r.bad(name, err)
	}
	return v
}

func (r row) format(name string) Format {
	f, err := parseFormat(r.get(name))
	if err != nil {
		r.bad(name, err)
	}
	return f
}

// atlas is everything that the tables say, read once.
type atlas struct {
	maps     []*Map     // rackmon's, and those of newer revisions, in the tables' order
	kinds    []Kind     // assume/kinds.csv
	profiles []*Profile // phosphor's
	rules    []rule     // assume/sources.csv
	bits     []bitRule  // assume/flags.csv
	access   []access   // assume/access.csv
	texts    []row      // assume/identity.csv
	figures  map[string]float64
	mailbox  mailboxTable // assume/mailbox.csv
}

// world gives the tables, which are read when somebody first asks: most commands
// have nothing to do with a rack. Set by init, because signals and conditions of
// the model, which the tables refer to, refer to it.
var world func() *atlas

func init() {
	world = sync.OnceValue(func() *atlas {
		gatherSignals()
		return readAtlas()
	})
}

func readAtlas() *atlas {
	a := &atlas{figures: map[string]float64{}}
	for _, r := range table("assume/model.csv") {
		a.figures[r.get("name")] = r.float("value")
	}
	a.rules = readRules()
	a.bits = readBitRules()
	a.access = readAccess()
	a.texts = table("assume/identity.csv")
	a.mailbox = readMailbox()
	a.readMaps()
	a.readProfiles()
	a.readKinds()
	return a
}

// figure is a number of the model; one that the table lacks is a fault of the
// program.
func (a *atlas) figure(name string) float64 {
	v, ok := a.figures[name]
	if !ok {
		panic("orv3: assume/model.csv lacks " + name)
	}
	return v
}

func (a *atlas) mapOf(name string) *Map {
	for _, m := range a.maps {
		if m.Name == name {
			return m
		}
	}
	return nil
}

func (a *atlas) readMaps() {
	for _, r := range table("registers/rackmon_devices.csv") {
		m := &Map{
			Name: r.get("name"), Probe: uint16(r.int("probe_register")),
			Line: rtu.Line{Baud: r.int("baud"), Data: 8, Parity: parity(r.get("parity")), Stop: 1},
		}
		for _, s := range strings.Fields(r.get("address_ranges")) {
			lo, hi, _ := strings.Cut(s, "-")
			x, err1 := strconv.ParseUint(lo, 10, 8)
			y, err2 := strconv.ParseUint(hi, 10, 8)
			if err1 != nil || err2 != nil {
				r.bad("address_ranges", fmt.Errorf("%q", s))
			}
			m.Ranges = append(m.Ranges, Range{uint8(x), uint8(y)})
		}
		if r.get("time_sync_register") != "" {
			m.TimeSync, m.Sync = uint16(r.int("time_sync_register")), true
			m.Period = sim.Time(r.int("time_sync_period_s")) * sim.Second
		}
		a.maps = append(a.maps, m)
	}
	for _, file := range []string{"registers/rackmon_registers.csv", "assume/registers.csv"} {
		for _, r := range table(file) {
			m := a.mapOf(r.get("device_map"))
			if m == nil {
				r.bad("device_map", fmt.Errorf("unknown"))
			}
			m.Registers = append(m.Registers, Register{
				Addr: uint16(r.int("addr_dec")), Words: uint16(r.int("words")), Name: strings.TrimSpace(r.get("name")),
				Format: r.format("format"), Little: r.get("endian") == "L", Signed: r.get("signed") == "True",
				Bits: uint8(r.int("precision_bits")), Scale: r.float("scale"), Shift: r.float("shift"),
			})
		}
	}
	for _, m := range a.maps {
		sort.SliceStable(m.Registers, func(i, j int) bool { return m.Registers[i].Addr < m.Registers[j].Addr })
	}
	for _, file := range []string{"registers/rackmon_flags.csv", "assume/registers_flags.csv"} {
		for _, r := range table(file) {
			g := a.mapOf(r.get("device_map")).At(uint16(r.int("addr_dec")))
			if g == nil || g.Format != Flags {
				r.bad("addr_dec", fmt.Errorf("no FLAGS register"))
			}
			g.Flags = append(g.Flags, Flag{Bit: uint8(r.int("bit")), Name: strings.TrimSpace(r.get("name"))})
		}
	}
	for _, m := range a.maps {
		if err := m.check(); err != nil {
			panic("orv3: " + m.Name + ": " + err.Error())
		}
		a.bind(m)
	}
}

func parity(s string) rtu.Parity {
	switch strings.ToUpper(s) {
	case "NONE":
		return rtu.None
	case "ODD":
		return rtu.Odd
	}
	return rtu.Even
}
