package topology

import (
	"net/netip"

	"cnuas/internal/sim"
)

// Spec is a complete fabric as data. It is a result: Load and Parse make it,
// and Validate holds for what they return. Everything is in the order of the
// file; indexes are positions in the slices of the Spec.
type Spec struct {
	Name string // name of the fabric: the key name, or the file's stem
	Seed uint64 // of every random stream of the run

	Nodes    []Node
	Switches []Switch
	Links    []Link
	Subnets  []Subnet

	SMs        []SM        `json:",omitempty"` // subnet managers of the InfiniBand subnets
	Management *Management `json:",omitempty"` // nil: no node has a management port
	Rack       *Rack       `json:",omitempty"` // nil: the topology has no rack

	// TunnelListen is the UDP socket of the fabric's end of tunnels; not valid:
	// the default one, or any if that is taken.
	TunnelListen netip.AddrPort `json:",omitzero"`

	File     string   `json:"-"` // where it came from, for messages
	Warnings Problems `json:"-"` // what lint found questionable
}

// Node is a host: a network namespace called Name.
type Node struct {
	Name       string // namespace name
	Stack      Stack
	Interfaces []Interface // Ethernet ports, eth0 first; none if the node has InfiniBand ports only
	HCAs       []HCA       `json:",omitempty"` // InfiniBand devices
	IBPorts    []IBPort    `json:",omitempty"` // their ports, ib0 first
	RoCEDSCP   uint8       // 0-63: DSCP of queue pairs whose address vector has traffic class 0
	CNPDSCP    uint8       // 0-63: DSCP of congestion notification packets
	IgnorePFC  bool        // a station that does not obey pause frames
	QoS        QoS         `json:",omitzero"`  // how the NIC classifies and schedules; buffer figures are not used; zero without Interfaces
	Power      *NodePower  `json:",omitempty"` // nil: the topology has no rack
}

// Interface is an Ethernet port of a node.
type Interface struct {
	Name     string // "eth0"
	Device   string `json:",omitempty"` // RDMA device of a soft node, "rxe0"; see HCA for the numbers
	MAC      MAC
	MTU      int            // IP MTU in bytes, 68-65521
	Addrs    []netip.Prefix // IPv4 first
	Gateway4 netip.Addr     `json:",omitzero"` // default route; only on one interface of the node
	Gateway6 netip.Addr     `json:",omitzero"`
	Link     int            // index into Spec.Links
	Subnet   int            // index into Spec.Subnets
}

// Mode says how a switch joins its ports.
type Mode string

// Modes of a switch.
const (
	// Bridge forwards by MAC address inside VLANs (IEEE 802.1Q).
	Bridge Mode = "bridge"
	// Router has routed ports towards other routers and a router interface in
	// each VLAN of its other ports; inside such a VLAN it bridges.
	Router Mode = "router"
)

// Switch is an Ethernet switch, or an InfiniBand switch if IB is not nil; then
// Name, IB and the Number and Link of Ports are all that counts.
type Switch struct {
	Name     string
	IB       *IBSwitch      `json:",omitempty"`
	Mode     Mode           `json:",omitempty"`
	MAC      MAC            `json:",omitzero"` // base address: router interfaces of VLANs use it, port i has MAC+1+i
	Loopback []netip.Prefix // the router's own addresses, /32 and /128; routed ports are unnumbered and use them
	VLANs    []VLAN         // router interfaces, by ascending VID; none on a bridge
	Ports    []SwitchPort   // by ascending Number, connected ones only
	QoS      QoS            `json:",omitzero"`
}

// VLAN is a router interface of a switch in one VLAN (an SVI).
type VLAN struct {
	ID     uint16         // VID 1-4094
	Addrs  []netip.Prefix // the gateways of the hosts in it
	Subnet int            // index into Spec.Subnets
}

// SwitchPort is one connected port of a switch.
type SwitchPort struct {
	Number int    // 1 or more, as users write it in "s1:1"
	MAC    MAC    `json:",omitzero"` // Switch.MAC + 1 + index: source of routed and control frames
	Link   int    // index into Spec.Links
	Routed bool   // a routed port: no VLAN, address of Switch.Loopback
	PVID   uint16 `json:",omitempty"` // VLAN of untagged frames; 0: untagged frames are dropped
	// Tagged are the VLANs that pass with a tag, ascending.
	Tagged []uint16 `json:",omitempty"`
	MTU    int      `json:",omitzero"` // IP MTU in bytes of the host behind the port; to another switch the largest of the fabric
	// Headroom is the bytes that can still arrive in one lossless priority
	// after the port decided to send a pause; see Headroom.
	Headroom int64
}

// Link joins two Ethernet ports, or two InfiniBand ports if IB is not nil.
type Link struct {
	A, B  End
	IB    *IBLink  `json:",omitempty"`
	Rate  int64    // bits per second, both directions; of InfiniBand the data rate, after line coding: IBLink.DataRate
	Delay sim.Time // propagation, one way
	// Loss is the probability [0,1) that a frame is lost, each direction; on
	// InfiniBand that a symbol error spoils a packet: the receiver counts the
	// error and drops the packet for its VCRC.
	Loss float64 `json:",omitempty"`
	Down bool    `json:",omitempty"` // the link starts down
}

// End is one end of a link. Either Node or Switch is an index, the other -1.
type End struct {
	Name   string // "h1:eth0", "s1:1"
	Node   int    // index into Spec.Nodes, or -1
	Switch int    // index into Spec.Switches, or -1
	// Port is an index into the Ports of the switch, the Interfaces of the
	// node, or for InfiniBand (Link.IB, Subnet.IPoIB) its IBPorts.
	Port int
}

// Subnet is one broadcast domain and its prefixes.
type Subnet struct {
	IPoIB    bool           `json:",omitempty"` // IP over an InfiniBand subnet
	Prefixes []netip.Prefix // IPv4 first; masked
	Members  []End          // interfaces of nodes
}

// Trust says which field of a frame gives its priority.
type Trust string

// Fields that give the priority.
const (
	TrustDSCP Trust = "dscp" // IP DSCP; frames without IP by PCP, without tag QoS.Untagged
	TrustPCP  Trust = "pcp"  // 802.1Q PCP; frames without tag QoS.Untagged
)

// QoS is a resolved profile.
type QoS struct {
	Profile  string // name in the file; "default" if it has none
	Trust    Trust
	DSCP     [64]uint8 // priority of each DSCP
	PCP      [8]uint8  // priority of each PCP
	Untagged uint8     // priority of frames that lack the trusted field

	PFC      bool        // pause frames are sent for Lossless; false: every priority is lossy
	Lossless PrioritySet // empty if PFC is off
	Buffer   int64       // bytes of packet memory of the switch, headroom included
	// Alpha is the dynamic pause threshold of an ingress port and lossless
	// priority: alpha x (free shared bytes). AlphaLossy is the dynamic limit of
	// an egress queue of another priority.
	Alpha, AlphaLossy float64
	// Xoff and Xon are the static thresholds in bytes per ingress port and
	// lossless priority: pause above Xoff, resume at Xon and below. Xoff 0:
	// the threshold is dynamic by Alpha, and XonOffset below it resumes.
	Xoff, Xon int64
	XonOffset int64 // bytes
	ECN       [8]ECN

	Strict  PrioritySet // sent before all others, highest number first
	Weights [8]uint16   // DWRR shares of the others, 1 or more
}

// ECN is the marking of one priority at the egress queue (RFC 3168 CE).
type ECN struct {
	Enable     bool
	KMin, KMax int64   `json:",omitempty"` // bytes of queue: no mark below KMin, always above KMax
	PMax       float64 `json:",omitempty"` // probability at KMax, (0,1]
}

// Route is a way that a router has to a prefix of another router.
type Route struct {
	Prefix   netip.Prefix
	NextHops []NextHop // equal cost, ascending port; never empty
}

// NextHop is a routed port and the router behind it.
type NextHop struct {
	Port   int // index into Switch.Ports
	MAC    MAC // of the port at the other end
	Switch int // index into Spec.Switches of the router at the other end
}
