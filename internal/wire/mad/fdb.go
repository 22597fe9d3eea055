package mad

// LinearForwardingLen is the length of a LinearForwarding in bytes.
const LinearForwardingLen = 64

// LinearForwarding is a block of a LinearForwardingTable: the port of each of
// 64 LIDs (IBTA vol. 1 §14.2.5.10).
type LinearForwarding struct {
	Port [64]uint8
}

func (a *LinearForwarding) layout(c *codec) {
	if !c.size(LinearForwardingLen) {
		return
	}
	blob(c, "Port", 0, a.Port[:])
}

// MulticastForwardingLen is the length of a MulticastForwarding in bytes.
const MulticastForwardingLen = 64

// MulticastForwarding is a block of a MulticastForwardingTable: for each of 32
// multicast LIDs a mask of 16 ports, port 16 × position in bit 0 (IBTA vol. 1
// §14.2.5.12).
type MulticastForwarding struct {
	PortMask [32]uint16
}

func (a *MulticastForwarding) layout(c *codec) {
	if !c.size(MulticastForwardingLen) {
		return
	}
	array(c, "PortMask", 0, 0, 16, a.PortMask[:])
}
