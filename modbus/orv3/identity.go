package orv3

import "fmt"

// identity holds the texts by which a device is known.
type identity struct {
	vendor, model, part, spare, date, serial, workorder, build, hw, fw, boot, pack, chemistry string
	number                                                                                    uint16
}

// identityOf takes the texts of a profile, or of a kind without one, and
// completes the serial number with the device's own.
func identityOf(profile, kind string, seed uint64) identity {
	key := profile
	if key == "" {
		key = kind
	}
	for _, r := range world().texts {
		if r.get("key") != key {
			continue
		}
		n := uint16(seed)
		return identity{
			vendor: r.get("vendor"), model: r.get("model"), part: r.get("part"), spare: r.get("spare"), date: r.get("date"),
			serial: fmt.Sprintf("%s%s%04X", r.get("serial"), r.get("date"), n), workorder: r.get("workorder"), build: r.get("build"),
			hw: r.get("hw"), fw: r.get("fw"), boot: r.get("boot"), pack: r.get("pack"), chemistry: r.get("chemistry"), number: n,
		}
	}
	panic("orv3: assume/identity.csv lacks " + key)
}

func (id *identity) field(name string) string {
	switch name {
	case "vendor":
		return id.vendor
	case "model":
		return id.model
	case "part":
		return id.part
	case "spare":
		return id.spare
	case "date":
		return id.date
	case "serial":
		return id.serial
	case "workorder":
		return id.workorder
	case "build":
		return id.build
	case "hw":
		return id.hw
	case "fw":
		return id.fw
	case "boot":
		return id.boot
	case "pack":
		return id.pack
	case "chemistry":
		return id.chemistry
	}
	return ""
}

// ServerID implements rtu.Identity: the address, the run indicator (on) and the
// model.
func (d *Device) ServerID() []byte {
	return append([]byte{d.slot.Address, 0xff}, d.id.model...)
}

// Object implements rtu.Identity: the three mandatory objects, and ProductName
// and ModelName.
func (d *Device) Object(id uint8) ([]byte, bool) {
	switch id {
	case 0:
		return []byte(d.id.vendor), true
	case 1:
		return []byte(d.id.part), true
	case 2:
		return []byte(d.id.fw), true
	case 4:
		return []byte(d.kind.Title), true
	case 5:
		return []byte(d.id.model), true
	}
	return nil, false
}

// NextObject implements rtu.Identity.
func (d *Device) NextObject(id uint8) (uint8, bool) {
	for x := int(id) + 1; x <= 5; x++ {
		if _, ok := d.Object(uint8(x)); ok {
			return uint8(x), true
		}
	}
	return 0, false
}
