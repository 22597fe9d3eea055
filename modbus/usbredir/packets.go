package usbredir

import "strings"

// HelloBody is the first message of either side.
type HelloBody struct {
	Version string // of the program, at most 63 bytes: "qemu usb-redir guest 7.2"
	Caps    Capabilities
}

const helloVersion = 64

// Append appends the body in wire form.
func (h HelloBody) Append(b []byte) []byte {
	var v [helloVersion]byte
	copy(v[:helloVersion-1], h.Version)
	return le.AppendUint32(append(b, v[:]...), uint32(h.Caps))
}

// ParseHello reads a hello. Words of capabilities beyond the first, and a hello
// without any, are from other versions and fine.
func ParseHello(b []byte) (HelloBody, error) {
	if len(b) < helloVersion {
		return HelloBody{}, violation("a hello of %d bytes, at least %d are needed", len(b), helloVersion)
	}
	v, _, _ := strings.Cut(string(b[:helloVersion]), "\x00")
	h := HelloBody{Version: v}
	if len(b) >= helloVersion+4 {
		h.Caps = Capabilities(le.Uint32(b[helloVersion:]))
	}
	return h, nil
}

// ControlBody is a control transfer: the setup packet (USB 2.0, 9.3) and the
// data of its data stage.
type ControlBody struct {
	Endpoint uint8 // address; bit 7 as in RequestType
	Setup
	Status Status
	Data   []byte
}

// Setup is the setup packet of a control transfer (USB 2.0, table 9-2).
type Setup struct {
	RequestType          uint8 // bmRequestType
	Request              uint8 // bRequest
	Value, Index, Length uint16
}

// In tells whether the data stage goes to the host.
func (s Setup) In() bool { return s.RequestType&0x80 != 0 }

const controlHeader = 10

// Append appends the body in wire form.
func (c ControlBody) Append(b []byte) []byte {
	b = append(b, c.Endpoint, c.Request, c.RequestType, uint8(c.Status))
	b = le.AppendUint16(b, c.Value)
	b = le.AppendUint16(b, c.Index)
	b = le.AppendUint16(b, c.Length)
	return append(b, c.Data...)
}

// ParseControl reads a control packet. Data is part of b.
func ParseControl(b []byte) (ControlBody, error) {
	if len(b) < controlHeader {
		return ControlBody{}, violation("a control packet of %d bytes, at least %d are needed", len(b), controlHeader)
	}
	return ControlBody{
		Endpoint: b[0], Status: Status(b[3]), Data: b[controlHeader:],
		Setup: Setup{Request: b[1], RequestType: b[2], Value: le.Uint16(b[4:]), Index: le.Uint16(b[6:]), Length: le.Uint16(b[8:])},
	}, nil
}

// BulkBody is a bulk transfer.
type BulkBody struct {
	Endpoint uint8 // address; bit 7: IN
	Status   Status
	Length   uint16 // bytes; of an IN request: how many may come
	Stream   uint32 // 0: none
	Data     []byte
}

const bulkHeader = 8

// Append appends the body in wire form.
func (p BulkBody) Append(b []byte) []byte {
	b = append(b, p.Endpoint, uint8(p.Status))
	b = le.AppendUint16(b, p.Length)
	b = le.AppendUint32(b, p.Stream)
	return append(b, p.Data...)
}

// ParseBulk reads a bulk packet without Cap32BitBulkLength. Data is part of b.
func ParseBulk(b []byte) (BulkBody, error) {
	if len(b) < bulkHeader {
		return BulkBody{}, violation("a bulk packet of %d bytes, at least %d are needed", len(b), bulkHeader)
	}
	return BulkBody{Endpoint: b[0], Status: Status(b[1]), Length: le.Uint16(b[2:]), Stream: le.Uint32(b[4:]), Data: b[bulkHeader:]}, nil
}

// ConnectBody tells what device is there.
type ConnectBody struct {
	Speed                     Speed
	Class, Subclass, Protocol uint8
	Vendor, Product           uint16
	Version                   uint16 // bcdDevice; only with CapConnectDeviceVersion
}

// Append appends the body in wire form, for a peer with these capabilities.
func (c ConnectBody) Append(b []byte, peer Capabilities) []byte {
	b = append(b, uint8(c.Speed), c.Class, c.Subclass, c.Protocol)
	b = le.AppendUint16(b, c.Vendor)
	b = le.AppendUint16(b, c.Product)
	if peer.Has(CapConnectDeviceVersion) {
		b = le.AppendUint16(b, c.Version)
	}
	return b
}

// ParseConnect reads a device connect packet.
func ParseConnect(b []byte) (ConnectBody, error) {
	if len(b) < 8 {
		return ConnectBody{}, violation("a device connect packet of %d bytes, at least 8 are needed", len(b))
	}
	c := ConnectBody{Speed: Speed(b[0]), Class: b[1], Subclass: b[2], Protocol: b[3], Vendor: le.Uint16(b[4:]), Product: le.Uint16(b[6:])}
	if len(b) >= 10 {
		c.Version = le.Uint16(b[8:])
	}
	return c, nil
}
