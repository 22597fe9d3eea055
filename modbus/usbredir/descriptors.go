package usbredir

import (
	"fmt"
	"unicode/utf16"
)

// Descriptor types (USB 2.0, table 9-5).
const (
	DeviceDescriptor        = 1
	ConfigurationDescriptor = 2
	StringDescriptor        = 3
	InterfaceDescriptor     = 4
	EndpointDescriptor      = 5
	QualifierDescriptor     = 6
)

// Descriptors are what a device says of itself (USB 2.0, 9.6). It has one
// configuration.
type Descriptors struct {
	Device        []byte   // 18 bytes
	Configuration []byte   // with the interfaces and endpoints that follow it
	Qualifier     []byte   // nil: the device has one speed only
	Strings       []string // string 1, 2, ...; language 0409h
	Speed         Speed
}

// english is the only language of the strings (USB language identifiers, 1.0).
const english = 0x0409

// Get returns the descriptor that a GET_DESCRIPTOR asks for, or nil if the
// device has none such.
func (d *Descriptors) Get(typ, index uint8) []byte {
	switch {
	case typ == DeviceDescriptor && index == 0:
		return d.Device
	case typ == ConfigurationDescriptor && index == 0:
		return d.Configuration
	case typ == QualifierDescriptor && index == 0:
		return d.Qualifier
	case typ == StringDescriptor && index == 0:
		return []byte{4, StringDescriptor, english & 0xff, english >> 8}
	case typ == StringDescriptor && int(index) <= len(d.Strings):
		return stringDescriptor(d.Strings[index-1])
	}
	return nil
}

// stringDescriptor has at most 126 UTF-16 units: its length is one byte.
func stringDescriptor(s string) []byte {
	u := utf16.Encode([]rune(s))
	u = u[:min(len(u), 126)]
	b := []byte{byte(2 + 2*len(u)), StringDescriptor}
	for _, c := range u {
		b = le.AppendUint16(b, c)
	}
	return b
}

// connect is what the device descriptor says of the device's kind.
func (d *Descriptors) connect() ConnectBody {
	b := d.Device
	return ConnectBody{
		Speed: d.Speed, Class: b[4], Subclass: b[5], Protocol: b[6],
		Vendor: le.Uint16(b[8:]), Product: le.Uint16(b[10:]), Version: le.Uint16(b[12:]),
	}
}

// configuration is the value by which the configuration is chosen.
func (d *Descriptors) configuration() uint8 { return d.Configuration[5] }

// walk lists the interfaces, at alternate setting 0, and their endpoints.
func (d *Descriptors) walk() (fs []Interface, es []Endpoint, err error) {
	if len(d.Device) != 18 || len(d.Configuration) < 9 {
		return nil, nil, fmt.Errorf("usbredir: a device descriptor of %d and a configuration descriptor of %d bytes", len(d.Device), len(d.Configuration))
	}
	skip := false // an alternate setting
	for b := d.Configuration; len(b) > 0; b = b[b[0]:] {
		n := int(b[0])
		switch {
		case n < 2 || n > len(b):
			return nil, nil, fmt.Errorf("usbredir: a descriptor of %d bytes in the configuration, %d are left", n, len(b))
		case b[1] == InterfaceDescriptor && n >= 9:
			if skip = b[3] != 0; !skip {
				fs = append(fs, Interface{Number: b[2], Class: b[5], Subclass: b[6], Protocol: b[7]})
			}
		case b[1] == EndpointDescriptor && n >= 7 && !skip && len(fs) > 0:
			es = append(es, Endpoint{
				Address: b[2], Type: TransferType(b[3] & 3), MaxPacket: le.Uint16(b[4:]) & 0x7ff, Interval: b[6], Interface: fs[len(fs)-1].Number,
			})
		}
	}
	if len(fs) > maxInterfaces {
		return nil, nil, fmt.Errorf("usbredir: %d interfaces, at most %d are possible", len(fs), maxInterfaces)
	}
	return fs, es, nil
}
