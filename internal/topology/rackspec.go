package topology

import (
	"net/netip"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// Rack is what stands around the nodes: RS-485 segments with the power shelves
// on them, and a BMC that polls them.
type Rack struct {
	Segments []RackSegment
	Shelves  []RackShelf
	BMC      *RackBMC `json:",omitempty"` // nil: none
}

// RackSegment is one RS-485 segment: half duplex, every station hears every
// other.
type RackSegment struct {
	Name       string   // "bus0"
	Line       rtu.Line // of devices whose map does not say another, and of the pty before a client sets its own
	Turnaround sim.Time // from the end of a request to the first bit of the reply, never less than t3.5
	Echo       bool     // masters hear themselves, as on a transceiver with its receiver always on
	// TTYParity is that of all clients of the pseudo terminal; nil: what they
	// have set. A pseudo terminal hides it of those that set PARENB only.
	TTYParity *rtu.Parity `json:",omitempty"`
}

// RackShelf is one shelf: modules of one kind in slots, perhaps with a power
// management module in front, or a single device.
type RackShelf struct {
	Name    string
	Kind    string     // of orv3.Kinds: "orv3-psu", "hpr-bbu", "rpu", ...
	Segment int        // index into Rack.Segments
	Line    rtu.Line   // at which its devices talk
	Slots   []RackSlot // by ascending Number
	PMM     *RackSlot  `json:",omitempty"` // power management module; Number is 0
	Feeds   []int      `json:",omitempty"` // PSU shelf: indexes into Spec.Nodes that draw from it
	// Functions are what its devices serve besides function codes 03, 06, 10h
	// and 14h.
	Functions rtu.Options `json:",omitzero"`
	Backs     int         // BBU shelf: index into Rack.Shelves of the PSU shelf whose busbar it backs, or -1
}

// RackSlot is one device on the segment.
type RackSlot struct {
	Number  int    // 1 or more; in names "shelf1/psu3"
	Name    string // "psu3", "bbu1", "pmm"
	Address uint8  // on the segment, 1 to 255
	Profile string `json:",omitempty"` // identity of orv3.Profiles; "": the kind's own
	Map     string `json:",omitempty"` // file of a register map that replaces the kind's, of the upstream JSON kind
}

// RackBMC is the guest that manages the rack.
type RackBMC struct {
	Name  string // of its node on the management network: "bmc"
	Image string `json:",omitempty"` // flash image; "": the stand-in guest
	// Machine is QEMU's name for the board, "ast2600-evb" by default.
	Machine string
	// Ports are the segments on the four RS-485 ports of each FT4232H in turn,
	// indexes into Rack.Segments or -1 for an open port; 4, 8 or 12 of them.
	Ports []int
	MAC   MAC          // of its NIC, which is on the management network
	Addr  netip.Prefix // of the management network, for it: it is told by DHCP, or told nothing
}

// NodePower is what a node draws from its busbar, in watts: Idle when its ports
// carry nothing, Peak when all of them carry their line rate in one direction or
// both.
type NodePower struct {
	Idle, Peak float64
}
