package orv3

import (
	"fmt"
	"strconv"
	"strings"
)

// Role is what a device does in the rack.
type Role string

// Roles of devices.
const (
	RolePSU    Role = "psu"    // rectifier from mains to the busbar
	RoleBBU    Role = "bbu"    // battery on the busbar
	RoleCBU    Role = "cbu"    // capacitors on the busbar
	RolePMM    Role = "pmm"    // speaks for the modules of its shelf
	RoleTether Role = "tether" // converter from another rack's busbar
	RoleRPU    Role = "rpu"    // pumps and heat exchanger
	RoleValve  Role = "valve"  // of the coolant
)

// Kind is a kind of shelf, and of the devices in its slots.
type Kind struct {
	Name     string // "hpr-psu"
	Role     Role
	Map      *Map   // with the line, the address ranges and the probe register
	MaxSlots int    // modules that a shelf takes
	SlotName string // slots are named "psu1", "psu2", ...
	PMM      string // kind of the module in front; "": such shelves have none
	Profile  string // identity of a device whose topology names none; "": the kind's own
	Title    string // what it is, for people

	alarms []alarmMask
}

type alarmMask struct {
	addr uint16
	mask uint64
}

// Kinds lists all kinds in the order of assume/kinds.csv.
func Kinds() []Kind { return append([]Kind(nil), world().kinds...) }

// KindOf finds a kind by its name.
func KindOf(name string) (Kind, bool) {
	k := world().kindOf(name)
	if k == nil {
		return Kind{}, false
	}
	return *k, true
}

func (a *atlas) kindOf(name string) *Kind {
	for i := range a.kinds {
		if a.kinds[i].Name == name {
			return &a.kinds[i]
		}
	}
	return nil
}

// CheckAddress reports why a device of this kind may not have an address: it is
// outside 1 to 255. Addresses outside the ranges that masters scan are possible;
// Scanned tells.
func (k Kind) CheckAddress(addr int) error {
	if addr < 1 || addr > 255 {
		return fmt.Errorf("address %d of a %s: want 1 to 255 (0 is broadcast)", addr, k.Name)
	}
	return nil
}

// Scanned reports whether masters look for this kind at an address.
func (k Kind) Scanned(addr uint8) bool { return k.Map.Has(addr) }

func (a *atlas) readKinds() {
	for _, r := range table("assume/kinds.csv") {
		k := Kind{Name: r.get("name"), Role: Role(r.get("role")), Map: a.mapOf(r.get("map")), MaxSlots: r.int("max_slots"),
			SlotName: r.get("slot_name"), PMM: r.get("pmm"), Profile: r.get("profile"), Title: r.get("title")}
		if k.Map == nil { // of a profile only: valves
			p := a.profile(k.Profile)
			if p == nil {
				r.bad("map", fmt.Errorf("neither map nor profile"))
			}
			k.Map = &Map{Name: r.get("map"), Line: p.Line, Probe: p.Probe}
		}
		for _, s := range strings.Fields(r.get("alarms")) {
			addr, mask, _ := strings.Cut(s, "/")
			x := alarmMask{mask: ^uint64(0)}
			v, err := strconv.ParseUint(addr, 0, 16)
			if err == nil && mask != "" {
				x.mask, err = strconv.ParseUint(mask, 0, 64)
			}
			if err != nil {
				r.bad("alarms", err)
			}
			x.addr = uint16(v)
			k.alarms = append(k.alarms, x)
		}
		a.kinds = append(a.kinds, k)
	}
}
