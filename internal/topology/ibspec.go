package topology

import (
	"net/netip"
	"slices"

	"cnuas/internal/sim"
)

// The InfiniBand part of a Spec. IBTA Vol 1 §14.2.5 has the attributes that the
// devices make of it.

// Kind says what a switch forwards.
type Kind string

// Kinds of switches.
const (
	Ethernet   Kind = "ethernet"
	InfiniBand Kind = "ib"
)

// Kind is InfiniBand if s.IB is set, else Ethernet.
func (s *Switch) Kind() Kind {
	if s.IB != nil {
		return InfiniBand
	}
	return Ethernet
}

// HasIB tells whether the fabric has an InfiniBand port or switch.
func (s *Spec) HasIB() bool {
	for i := range s.Switches {
		if s.Switches[i].IB != nil {
			return true
		}
	}
	for i := range s.Nodes {
		if len(s.Nodes[i].HCAs) > 0 {
			return true
		}
	}
	return false
}

// IBNode is what an HCA and an InfiniBand switch say of themselves in NodeInfo
// and NodeDescription.
type IBNode struct {
	GUID       GUID   // NodeGUID; port 0 of a switch has the same as PortGUID
	SystemGUID GUID   // SystemImageGUID
	VendorID   uint32 `json:",omitempty"` // 24 bits
	DeviceID   uint16 `json:",omitempty"`
	Desc       string // NodeDescription, at most 63 bytes
	NumPorts   int    // external ports, 1-254, connected or not
}

// HCA is an InfiniBand device of a node. A file makes one for each port; one
// with several ports comes from an imported fabric.
type HCA struct {
	IBNode
	// Device is its name in the node, "rxe0". The numbers count the node's
	// RDMA devices of both kinds in the order in which the file names their
	// ports, within a kind by the ports' names.
	Device string
}

// IBPort is an InfiniBand port of a node.
type IBPort struct {
	Name   string         // "ib0": its name in links, and its IPoIB interface
	HCA    int            // index into Node.HCAs
	Num    int            // port number in the HCA, from 1
	GUID   GUID           // PortGUID, the low half of GID 0
	Addrs  []netip.Prefix // of the IPoIB interface, IPv4 first
	Link   int            // index into Spec.Links; -1: nothing is connected
	Subnet int            // index into Spec.Subnets; -1: nothing is connected
}

// IBSwitch is what an InfiniBand switch has that an Ethernet switch has not.
// NumPorts counts external ports; Switch.Ports are those with a link.
type IBSwitch struct {
	IBNode
	LFTCap        int  // LinearFDBCap: unicast LIDs that it can forward
	MCastCap      int  // MulticastFDBCap: multicast groups
	EnhancedPort0 bool `json:",omitempty"` // SwitchInfo.EnhancedPort0
	// Latency is from a packet's headers at the input to its first byte at the
	// output; with Store (store-and-forward) from its last byte.
	Latency sim.Time
	Store   bool `json:",omitempty"`
	// Remote is the UDP socket of the process in which the switch runs, cnuas
	// switch; not valid: it runs in that of the fabric.
	Remote netip.AddrPort `json:",omitzero"`
}

// IBLink is what an InfiniBand link has that an Ethernet link has not.
type IBLink struct {
	Width int   // lanes: 1, 2, 4, 8, 12
	Speed Speed // of a lane
	MTU   int   // MTUCap of both ports: payload bytes, 256-4096 in powers of two
	VLs   int   // data VLs of both ports: VLCap of 1, 2, 4, 8, 15

	Tunnel bool `json:",omitempty"` // over UDP; always at switches that are Remote
}

// DataRate is what the link carries in bits per second, after line coding.
func (l *IBLink) DataRate() int64 { return l.Speed.dataRate(l.Width) }

// Engine is a routing engine of a subnet manager.
type Engine string

// Routing engines, by opensm's names.
const (
	MinHop  Engine = "minhop"
	UpDown  Engine = "updn"
	FatTree Engine = "ftree"
	DFSSSP  Engine = "dfsssp"
)

// SM is a subnet manager that runs in a node. The first of an InfiniBand subnet
// is meant to be its master; priorities decide (IBTA Vol 1 §14.4.1).
type SM struct {
	Node, Port int // index into Spec.Nodes, and into its IBPorts
	Engine     Engine
	Priority   uint8    // 0-15
	LMC        uint8    // 0-7
	Sweep      sim.Time // interval of light sweeps; 0: on traps only
	QoS        bool     // program SL2VL and VL arbitration
	Partitions string   `json:",omitempty"` // in the syntax of opensm's partitions.conf, as written
	Standby    bool     `json:",omitempty"` // meant to be a standby
}

// Management is a network beside the fabric: an ideal switch, without limits
// of rate, delay or buffer, that gives nodes without Ethernet an IP interface,
// and joins the BMC of a rack with the nodes.
type Management struct {
	Prefix netip.Prefix     // masked
	MTU    int              // bytes
	Ports  []ManagementPort // of nodes; none is possible with a BMC
}

// ManagementPort is a node's port on the management network.
type ManagementPort struct {
	Node int    // index into Spec.Nodes
	Name string // "mgmt0"
	MAC  MAC
	Addr netip.Prefix
}

// EngineNames lists the routing engines for messages.
const EngineNames = "minhop, updn, ftree or dfsssp"

// Valid tells whether there is such an engine.
func (e Engine) Valid() bool { return slices.Contains(ibEngines, e) }
