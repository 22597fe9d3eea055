package orv3

import (
	"strconv"
	"strings"

	"cnuas/modbus/rtu"
)

// Profile is the identity of one vendor's device as the phosphor master knows
// it: the text that it probes for, and registers that it reads besides.
type Profile struct {
	Name      string // "DeltaECD17020037PowerSupplyUnit"
	Type      string // device type of the profile: "PowerSupplyUnit"
	Kind      string // of devices that may have it
	Shelf     string // profile of the shelf that a power management module answers as well; "": none
	IsShelf   bool   // a shelf's profile: not of a slot
	Line      rtu.Line
	Probe     uint16 // register that is compared
	Words     uint16 // so many words of it
	Expect    string // with this text, NULs removed
	Registers []Register
}

// Profiles lists all vendor profiles in the tables' order.
func Profiles() []Profile {
	l := make([]Profile, 0, len(world().profiles))
	for _, p := range world().profiles {
		l = append(l, *p)
	}
	return l
}

// ProfileOf finds a profile by its name.
func ProfileOf(name string) (Profile, bool) {
	if p := world().profile(name); p != nil {
		return *p, true
	}
	return Profile{}, false
}

func (a *atlas) profile(name string) *Profile {
	for _, p := range a.profiles {
		if p.Name == name {
			return p
		}
	}
	return nil
}

func (a *atlas) readProfiles() {
	for _, r := range table("registers/phosphor_registers.csv") {
		p := a.profile(r.get("profile"))
		if p == nil {
			p = &Profile{Name: r.get("profile"), Type: r.get("device_type"),
				Line: rtu.Line{Baud: r.int("baud"), Data: 8, Parity: parity(r.get("parity")), Stop: 1}}
			a.profiles = append(a.profiles, p)
		}
		g := Register{Addr: uint16(r.int("addr_dec")), Words: uint16(r.int("words")), Name: r.get("name_or_type"),
			Signed: r.get("signed") == "True", Bits: uint8(r.int("precision_bits")), Scale: r.float("scale"), Shift: r.float("shift")}
		switch r.get("section") {
		case "Probe":
			p.Probe, p.Words = g.Addr, g.Words
			p.Expect = strings.TrimPrefix(r.get("extra"), "expect prefix/contains: ")
			continue
		case "ConfigRegisters":
			g.Format = Integer
		default:
			g.Format = r.format("format")
		}
		if g.Name == "" { // flags without a name have only their address
			g.Name = "STATUS_" + strconv.Itoa(int(g.Addr))
		}
		p.Registers = append(p.Registers, g)
	}
	for _, r := range table("registers/phosphor_status_bits.csv") {
		p := a.profile(r.get("profile"))
		addr := uint16(r.int("addr_hex"))
		for i := range p.Registers {
			if g := &p.Registers[i]; g.Addr == addr && g.Format == Flags {
				g.Flags = append(g.Flags, Flag{Bit: uint8(r.int("bit")), Name: r.get("bit_name")})
			}
		}
	}
	for _, r := range table("assume/profiles.csv") {
		p := a.profile(r.get("profile"))
		p.Kind, p.Shelf, p.IsShelf = r.get("kind"), r.get("shelf"), r.get("part") == "shelf"
	}
	for _, p := range a.profiles {
		a.bindAll(p.Name, p.Registers)
	}
}

// merge is the map of a device of a kind with the identity of a profile, and of
// the shelf's profile for a power management module. The kind's own description
// of a register goes before the profile's; flags that only the profile has are
// added to it.
func (a *atlas) merge(base *Map, p *Profile) *Map {
	m := *base
	m.Registers = append([]Register(nil), base.Registers...)
	for ; p != nil; p = a.profile(p.Shelf) {
		m.add(p.Registers)
		for i := range p.Registers {
			g := &p.Registers[i]
			own := m.At(g.Addr)
			if g.Format != Flags || own.Format != Flags || own.Addr != g.Addr {
				continue
			}
			n := len(own.Flags)
			own.Flags = append([]Flag(nil), own.Flags...)
			for _, f := range g.Flags {
				if !own.hasBit(f.Bit) {
					own.Flags = append(own.Flags, f)
				}
			}
			if len(own.Flags) > n {
				a.bindFlags(base.Name, own)
			}
		}
		m.Line = p.Line
		if p.Shelf == "" {
			break
		}
	}
	return &m
}

func (r *Register) hasBit(b uint8) bool {
	for _, f := range r.Flags {
		if f.Bit == b {
			return true
		}
	}
	return false
}
