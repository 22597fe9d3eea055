package usbredir

// Interface is one interface of the active configuration.
type Interface struct{ Number, Class, Subclass, Protocol uint8 }

// Endpoint is one endpoint of the active configuration, beside the control
// endpoint.
type Endpoint struct {
	Address   uint8
	Type      TransferType
	Interval  uint8
	Interface uint8 // number of the interface that has it
	MaxPacket uint16
}

// appendInterfaces appends the body of an InterfaceInfo.
func appendInterfaces(b []byte, l []Interface) []byte {
	b = le.AppendUint32(b, uint32(len(l)))
	at := len(b)
	b = append(b, make([]byte, 4*maxInterfaces)...)
	for i, f := range l {
		b[at+i], b[at+maxInterfaces+i], b[at+2*maxInterfaces+i], b[at+3*maxInterfaces+i] = f.Number, f.Class, f.Subclass, f.Protocol
	}
	return b
}

// ParseInterfaces reads the body of an InterfaceInfo.
func ParseInterfaces(b []byte) ([]Interface, error) {
	if len(b) < 4+4*maxInterfaces {
		return nil, violation("an interface info packet of %d bytes", len(b))
	}
	n := le.Uint32(b)
	if n > maxInterfaces {
		return nil, violation("%d interfaces, at most %d are possible", n, maxInterfaces)
	}
	b = b[4:]
	l := make([]Interface, n)
	for i := range l {
		l[i] = Interface{b[i], b[maxInterfaces+i], b[2*maxInterfaces+i], b[3*maxInterfaces+i]}
	}
	return l, nil
}

// appendEndpoints appends the body of an EndpointInfo: type, interval,
// interface and packet size of each possible endpoint, an array each. The
// control endpoint is always there.
func appendEndpoints(b []byte, l []Endpoint, control uint16, peer Capabilities) []byte {
	at := len(b)
	b = append(b, make([]byte, 3*maxEndpoints)...)
	types, interval, iface := b[at:], b[at+maxEndpoints:], b[at+2*maxEndpoints:]
	var size [maxEndpoints]uint16
	for i := range maxEndpoints {
		types[i] = uint8(NoEndpoint)
	}
	for _, i := range []int{endpointIndex(0), endpointIndex(0x80)} {
		types[i], size[i] = uint8(ControlTransfer), control
	}
	for _, e := range l {
		i := endpointIndex(e.Address)
		types[i], interval[i], iface[i], size[i] = uint8(e.Type), e.Interval, e.Interface, e.MaxPacket
	}
	if peer.Has(CapMaxPacketSize) {
		for _, n := range size {
			b = le.AppendUint16(b, n)
		}
	}
	return b
}

// ParseEndpoints reads the body of an EndpointInfo: the endpoints beside the
// control endpoint, by their index in the packet.
func ParseEndpoints(b []byte) ([]Endpoint, error) {
	if len(b) < 3*maxEndpoints {
		return nil, violation("an endpoint info packet of %d bytes", len(b))
	}
	var l []Endpoint
	for i := range maxEndpoints {
		if t := TransferType(b[i]); i&0x0f != 0 && t != NoEndpoint {
			e := Endpoint{Address: uint8(i>>4<<7 | i&0x0f), Type: t, Interval: b[maxEndpoints+i], Interface: b[2*maxEndpoints+i]}
			if at := 3*maxEndpoints + 2*i; len(b) >= at+2 {
				e.MaxPacket = le.Uint16(b[at:])
			}
			l = append(l, e)
		}
	}
	return l, nil
}
