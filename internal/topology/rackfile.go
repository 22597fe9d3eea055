package topology

import (
	"fmt"
	"math"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// fileRack is [rack], or rack = "ventura2".
type fileRack struct {
	key      string
	preset   attr[string]
	segments []*fileSegment
	shelves  []*fileShelf
	bmc      *fileBMC // nil: none
}

// lineAttrs are the properties of a serial line, of a segment or of a shelf.
type lineAttrs struct {
	baud, data, stop attr[int64]
	parity           attr[rtu.Parity]
}

type fileSegment struct {
	lineAttrs
	key        string
	preset     bool // is not of the file
	name       attr[string]
	turnaround attr[sim.Time]
	echo       attr[bool]
	ttyParity  attr[rtu.Parity]
}

type fileShelf struct {
	lineAttrs
	key        string
	name       attr[string]
	kind       attr[string]
	segment    attr[string]
	slots      []attr[int64] // numbers; of a count 1 to it
	hasSlots   bool
	addresses  []attr[int64]
	list       int // that many addresses are listed, one for each slot; 0: only the first slot's is given
	profile    attr[string]
	profiles   []string // of a preset: by slot, instead of profile
	mapFile    attr[string]
	pmm        attr[int64] // address; 0: automatic, -1: none
	pmmProfile attr[string]
	feeds      []attr[string]
	hasFeeds   bool
	backs      attr[string]
	functions  rtu.Options
}

type fileBMC struct {
	key            string
	name           attr[string]
	image, machine attr[string]
	ports          []attr[string]
	hasPorts       bool
}

// rack reads the key rack: the name of a preset, or a table.
func (t *table) rack() *fileRack {
	raw, ok := t.lookup("rack")
	if !ok {
		return nil
	}
	f := &fileRack{key: t.key("rack")}
	switch v := raw.(type) {
	case string:
		f.preset = attr[string]{v: v, set: true, key: f.key}
	case map[string]any:
		s := t.r.table(f.key, v)
		f.preset = s.str("preset")
		for _, x := range s.tables("segment") {
			f.segments = append(f.segments, x.segment())
		}
		for _, x := range s.tables("shelf") {
			f.shelves = append(f.shelves, x.shelf())
		}
		if x := s.sub("bmc"); x != nil {
			f.bmc = x.bmc()
		}
		s.done()
	default:
		t.want(f.key, raw, "[rack], or the name of a rack", `write rack = "ventura2", or [rack] with [[rack.shelf]]`)
		return nil
	}
	return f
}

func (t *table) lineAttrs() lineAttrs {
	return lineAttrs{
		baud: t.int("baud", 50, 4_000_000), data: t.int("data", 7, 8), stop: t.int("stop", 1, 2), parity: t.parity("parity"),
	}
}

func (t *table) parity(name string) attr[rtu.Parity] {
	return get(t, name, `"none", "odd" or "even"`, `use "none", "odd" or "even"`, func(s string) (rtu.Parity, error) {
		for _, p := range []rtu.Parity{rtu.None, rtu.Odd, rtu.Even} {
			if s == p.String() {
				return p, nil
			}
		}
		return 0, fmt.Errorf("unknown parity %q", s)
	})
}

// on is the line that l has with what the keys say.
func (a *lineAttrs) on(l rtu.Line) rtu.Line {
	return rtu.Line{
		Baud: int(a.baud.get(int64(l.Baud))), Data: uint8(a.data.get(int64(l.Data))),
		Parity: a.parity.get(l.Parity), Stop: uint8(a.stop.get(int64(l.Stop))),
	}
}

func (t *table) segment() *fileSegment {
	s := &fileSegment{
		key: t.path, name: t.name("name"), lineAttrs: t.lineAttrs(), echo: t.bool("echo"), ttyParity: t.parity("tty_parity"),
		turnaround: get(t, "turnaround", `a string such as "5ms"`, `write it as "5ms"; at most 1 s`, ParseDelay),
	}
	t.done()
	return s
}

func (t *table) shelf() *fileShelf {
	s := &fileShelf{
		key: t.path, name: t.name("name"), kind: t.str("kind"), segment: t.str("segment"), lineAttrs: t.lineAttrs(),
		profile: t.str("profile"), mapFile: t.str("map"), pmmProfile: t.str("pmm_profile"), backs: t.str("backs"),
	}
	if _, ok := t.m["kind"]; !ok {
		t.r.errorf(t.path, `add kind = "orv3-psu"`, "the shelf has no kind")
	}
	s.slots, s.hasSlots = t.slots()
	if l, ok := t.m["slots"].([]any); ok && len(l) == 0 {
		t.r.errorf(join(t.path, "slots"), "leave the key out for all slots; cnuas rack unplug takes modules out of a shelf that is up", "the shelf has no slot")
	}
	if l, ok := t.m["address"].([]any); ok {
		if s.list = len(l); s.list == 0 {
			t.r.errorf(join(t.path, "address"), "give one for each slot, or leave the key out", "the list of addresses is empty")
		}
	}
	s.addresses, _ = list(t, "address", "an address of 1 to 255, or a list of one for each slot", "use 1 to 255; 0 is the broadcast address", busAddress)
	s.pmm = t.pmm()
	s.functions = t.functions()
	s.feeds, s.hasFeeds = list(t, "feeds", `a list such as ["h1", "h2"]`, `write it as ["h1", "h2"]`, same[string])
	t.done()
	return s
}

// busAddress is the address of a slave. The standard keeps 248 to 255 to
// itself (Modbus over serial line V1.02, 2.2); HPR power supplies use them.
func busAddress(v int64) (int64, error) {
	if v < 1 || v > math.MaxUint8 {
		return 0, fmt.Errorf("%d is not the address of a slave", v)
	}
	return v, nil
}

// slots reads a number of slots, or a list of those that are in use.
func (t *table) slots() ([]attr[int64], bool) {
	number := func(v int64) (int64, error) {
		if v < 1 || v > math.MaxUint8 {
			return 0, fmt.Errorf("%d where a number of 1 to 255 is expected", v)
		}
		return v, nil
	}
	_, isList := t.m["slots"].([]any)
	l, set := list(t, "slots", "a number of slots, or a list of their numbers", "write slots = 6, or slots = [1, 2, 4]", number)
	if isList || len(l) == 0 {
		return l, set
	}
	n := l[0]
	l = nil
	for i := range n.v {
		l = append(l, attr[int64]{v: i + 1, set: true, key: n.key})
	}
	return l, set
}

// pmm reads true, false or an address.
func (t *table) pmm() attr[int64] {
	const remedy = "use true, false, or an address of 1 to 255"
	if _, ok := t.m["pmm"].(bool); ok {
		b := t.bool("pmm")
		a := attr[int64]{key: b.key, set: true}
		if !b.v {
			a.v = -1
		}
		return a
	}
	return get(t, "pmm", "true, false or an address", remedy, busAddress)
}

// functions reads "all", or a list of function codes.
func (t *table) functions() (o rtu.Options) {
	const form, remedy = `"all" or a list of function codes`, "use 0x08, 0x0B, 0x11, 0x16, 0x17, 0x2B, or \"all\"; 0x03, 0x06, 0x10 and 0x14 are always served"
	if s, ok := t.m["functions"].(string); ok {
		a := get(t, "functions", form, remedy, func(s string) (string, error) {
			if s != "all" {
				return s, fmt.Errorf("%q is not \"all\"", s)
			}
			return s, nil
		})
		if s == a.v {
			o = rtu.AllOptions()
			o.Bits = false // no device of a shelf has coils
		}
		return o
	}
	set := map[int64]*bool{0x08: &o.Diagnostics, 0x0B: &o.Events, 0x0C: &o.Events, 0x11: &o.ServerID, 0x16: &o.MaskWrite, 0x17: &o.ReadWrite, 0x2B: &o.DeviceID}
	list(t, "functions", form, remedy, func(v int64) (int64, error) {
		if set[v] == nil {
			return 0, fmt.Errorf("function code %#02x is none that a device of a shelf can serve in addition", v)
		}
		*set[v] = true
		return v, nil
	})
	return o
}

func (t *table) bmc() *fileBMC {
	f := &fileBMC{key: t.path, name: t.name("name"), image: t.str("image")}
	f.machine = get(t, "machine", `a string such as "ast2600-evb"`, "use a name that qemu-system-arm -M help lists", func(s string) (string, error) {
		return s, checkName(s)
	})
	f.ports, f.hasPorts = list(t, "ports", `a list such as ["bus0", "bus1", "", ""]`, `write it as ["bus0", "bus1", "", ""]`, same[string])
	t.done()
	return f
}
