package topology

import (
	"slices"

	"cnuas/modbus/orv3"
	"cnuas/modbus/rtu"
)

// shelfKind is what the loader needs to know of a kind of shelf.
type shelfKind struct {
	name     string
	role     orv3.Role
	slotName string     // slots are called "psu1", "psu2", ...; of a single one just "rpu"
	line     rtu.Line   // by default
	ranges   [][2]uint8 // addresses at which masters look for it, inclusive
	maxSlots int
	pmm      string // kind of the module in front of the shelf; "": it has none
}

// anyAddress is where kinds begin for which no master looks by itself.
var anyAddress = [][2]uint8{{14, 247}}

// shelfKindOf finds a kind of shelf. Those of modules that stand in front of a
// shelf are none.
func shelfKindOf(name string) *shelfKind {
	k, ok := orv3.KindOf(name)
	if !ok || k.Role == orv3.RolePMM {
		return nil
	}
	return newShelfKind(k)
}

// frontKind is the kind of the module in front of the shelves of a kind.
func (k *shelfKind) frontKind() *shelfKind {
	f, _ := orv3.KindOf(k.pmm)
	return newShelfKind(f)
}

func newShelfKind(k orv3.Kind) *shelfKind {
	s := &shelfKind{name: k.Name, role: k.Role, slotName: k.SlotName, line: k.Map.Line, maxSlots: k.MaxSlots, pmm: k.PMM}
	if s.ranges = rangesOfMap(k.Map); len(s.ranges) == 0 {
		s.ranges = anyAddress
	}
	return s
}

func rangesOfMap(m *orv3.Map) (l [][2]uint8) {
	for _, r := range m.Ranges {
		l = append(l, [2]uint8{r.First, r.Last})
	}
	return l
}

func shelfKindNames() (l []string) {
	for _, k := range orv3.Kinds() {
		if k.Role != orv3.RolePMM {
			l = append(l, k.Name)
		}
	}
	return l
}

// source tells that shelves of the kind feed a busbar from mains, so that they
// can feed nodes and be backed.
func (k *shelfKind) source() bool { return k != nil && k.role == orv3.RolePSU }

// store tells that shelves of the kind back others.
func (k *shelfKind) store() bool {
	return k != nil && (k.role == orv3.RoleBBU || k.role == orv3.RoleCBU)
}

// has tells whether a master that knows the kind looks for it at an address.
func (k *shelfKind) has(a uint8) bool {
	return slices.ContainsFunc(k.ranges, func(r [2]uint8) bool { return a >= r[0] && a <= r[1] })
}

// ShelfRole is what the devices of a kind of shelf are; "" of an unknown kind.
func ShelfRole(kind string) orv3.Role {
	k, _ := orv3.KindOf(kind)
	return k.Role
}
