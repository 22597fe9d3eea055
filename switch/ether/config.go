package ether

import (
	"net/netip"

	"cnuas/internal/qdisc"
	"cnuas/internal/sim"
)

// Config of a switch. Zero values mean what their comments say.
type Config struct {
	Name string  // as users write it: "s1"; port i is named "s1:i+1"
	MAC  [6]byte // base address: VLAN interfaces use it, port i uses MAC+1+i (see PortMAC)

	Ports []PortConfig

	Classifier qdisc.Classifier
	Scheduler  qdisc.Config // of every port

	BufferBytes int64    // all memory for frames, headroom included; 0: DefaultBufferBytes
	Lossless    uint8    // priorities with PFC, bit n for n
	PFC         [8]PFC   // of lossless priorities
	Lossy       [8]Lossy // of the others
	ECN         [8]ECN

	PauseQuanta uint16 // time in an Xoff frame, in quanta of 512 bit times; 0: 65535

	AgeingTime sim.Time // of learned MAC addresses; 0: 300 s (IEEE 802.1Q table 8-6)
	FDBSize    int      // most learned MAC addresses; 0: 16384

	Addrs      []netip.Addr // the switch's own addresses, reachable through every interface
	Interfaces []Interface  // router interfaces
	Routes     []Route
	Neighbours []Neighbour // known beforehand; others are learned by ARP and ND
}

// DefaultBufferBytes is the default of Config.BufferBytes: what a switch of
// the 32 x 100 Gb/s class has.
const DefaultBufferBytes = 16 << 20

// Mode says what a port does with frames.
type Mode uint8

// The two modes.
const (
	Bridged Mode = iota // member of VLANs (IEEE 802.1Q)
	Routed              // a router interface of its own; needs an entry in Interfaces to have addresses
)

// PortConfig of one port.
type PortConfig struct {
	Name   string // "" : "switch:n"
	Mode   Mode
	Access uint16   // VLAN of untagged frames, 1 to 4094; 0: VLAN 1, or none on a port with only Tagged VLANs
	Tagged []uint16 // VLANs that pass with a tag
	MTU    int      // largest IP packet that may leave, in bytes; 0: no limit

	// Headroom in bytes for each lossless priority, which the wire may still
	// deliver after Xoff was decided: see Headroom. 0: PFC[prio].Headroom.
	Headroom int64
}

// PFC thresholds of one lossless priority, in bytes held per ingress port. What
// a port holds above Xoff goes to its headroom and stops the sender; it resumes
// when the headroom is empty and the rest at or below Xon.
type PFC struct {
	Xoff int64 // static threshold; 0: dynamic by Alpha
	Xon  int64 // with a static Xoff; 0: Xoff/2

	Alpha     float64 // dynamic threshold: Alpha x (free shared buffer); 0: 1/8
	XonOffset int64   // resume this far below the dynamic threshold, but not below half of it; 0: 18 KiB

	Headroom int64 // default of PortConfig.Headroom; 0: that of 100 Gb/s, 500 ns, 9216 bytes
}

// Lossy limits of one priority without PFC, in bytes per egress queue.
type Lossy struct {
	Alpha float64 // Alpha x (free shared buffer); 0: 1
	Limit int64   // and at the most this; 0: no static limit

	// RED is the share of that limit at which random early drop begins, above 0
	// and below 1; 0: none, frames are dropped at the limit only.
	RED float64
}

// ECN marking of one priority's queues: none up to KMin, with a probability
// that rises to PMax at KMax, always above KMax.
type ECN struct {
	Enable     bool
	KMin, KMax int64   // bytes waiting in the egress queue
	PMax       float64 // above 0, up to 1
}

// Interface is a router interface: of a routed port, or of a VLAN.
type Interface struct {
	Port  int    // a Routed port's index, if VID is 0
	VID   uint16 // VLAN 1 to 4094 of a VLAN interface; 0: Port's
	Addrs []netip.Prefix
}

// Route sends a prefix to one of several next hops, chosen by the flow.
type Route struct {
	Prefix   netip.Prefix
	NextHops []NextHop
}

// NextHop is a neighbour router. With a MAC it is used as it is; without one
// the Gateway's address is resolved on the interface that holds its subnet.
type NextHop struct {
	Port    int // a Routed port's index; ignored with a Gateway
	MAC     [6]byte
	Gateway netip.Addr
}

// Neighbour is a static entry of the neighbour table.
type Neighbour struct {
	Addr netip.Addr // in the subnet of one of the Interfaces
	MAC  [6]byte
}
