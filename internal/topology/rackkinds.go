package topology

import "cnuas/modbus/rtu"

// shelfKind is what the loader needs to know of a kind of shelf.
type shelfKind struct {
	name     string
	role     string     // "psu", "bbu", "pmm", ...: what its devices are called
	line     rtu.Line   // by default
	ranges   [][2]uint8 // addresses at which masters look for it, inclusive
	maxSlots int
	pmm      string // kind of the module in front of the shelf; "": it has none
}

var kinds115200 = rtu.Line{Baud: 115200, Data: 8, Parity: rtu.Even, Stop: 1}
var kinds19200 = rtu.Line{Baud: 19200, Data: 8, Parity: rtu.Even, Stop: 1}

var shelfKinds = []shelfKind{
	{"orv2-psu", "psu", kinds19200, [][2]uint8{{0xA0, 0xBF}}, 6, ""},
	{"orv3-psu", "psu", kinds19200, [][2]uint8{{0xC8, 0xCD}, {0xE8, 0xED}, {0xF0, 0xF2}}, 6, ""},
	{"orv3-bbu", "bbu", kinds19200, [][2]uint8{{0x40, 0x45}, {0x50, 0x52}, {0x60, 0x65}}, 6, ""},
	{"hpr-psu", "psu", kinds115200, [][2]uint8{{0x90, 0x95}, {0x9A, 0x9F}, {0xAA, 0xAF}, {0xBA, 0xBF}, {0xFA, 0xFF}}, 6, "hpr-pmm-psu"},
	{"hpr-bbu", "bbu", kinds115200, [][2]uint8{{0x30, 0x35}, {0x3A, 0x3F}, {0x5A, 0x5F}, {0x6A, 0x6F}}, 6, "hpr-pmm-bbu"},
	{"hpr-pmm-psu", "pmm", kinds115200, [][2]uint8{{0x20, 0x2A}}, 1, ""},
	{"hpr-pmm-bbu", "pmm", kinds115200, [][2]uint8{{0x10, 0x1A}}, 1, ""},
	{"power-tether", "tether", kinds19200, [][2]uint8{{8, 9}}, 2, ""},
	{"rpu", "rpu", rtu.Line{Baud: 19200, Data: 8, Parity: rtu.None, Stop: 1}, [][2]uint8{{12, 12}}, 1, ""},
}

func shelfKindOf(name string) *shelfKind {
	for i := range shelfKinds {
		if shelfKinds[i].name == name {
			return &shelfKinds[i]
		}
	}
	return nil
}

func (k *shelfKind) has(a uint8) bool {
	for _, r := range k.ranges {
		if a >= r[0] && a <= r[1] {
			return true
		}
	}
	return false
}
