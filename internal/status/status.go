// Package status is what a fabric tells about itself: plain data that the
// daemon fills, the command line prints and `status --json` shows as it is.
// Field names in JSON are part of the program's interface.
package status

// Fabric is a snapshot of one fabric.
type Fabric struct {
	Name     string   `json:"name"`
	File     string   `json:"file"`
	PID      int      `json:"pid"`            // of the daemon; 0 in virtual time
	Seconds  float64  `json:"uptime_seconds"` // wall time since it was up
	Scale    float64  `json:"scale"`          // simulated time runs this many times slower than the wall clock
	Engine   Engine   `json:"engine"`
	Verdict  Verdict  `json:"verdict"`
	Nodes    []Node   `json:"nodes"`
	Switches []Switch `json:"switches"`
	Links    []Link   `json:"links"`
	SMs      []SM     `json:"subnet_managers,omitempty"`
	Tunnels  *Hub     `json:"tunnels,omitempty"` // if links go over UDP
	Rack     *Rack    `json:"rack,omitempty"`
	Faults   []string `json:"faults"`       // injected and still active
	VM       *VM      `json:"vm,omitempty"` // if the fabric runs in a lab VM
}

// VM is the lab VM that a fabric runs in.
type VM struct {
	Kernel      string `json:"kernel"`      // its release
	Accelerator string `json:"accelerator"` // "kvm", or "tcg": emulated, many times slower
}

// Engine says how well the engine keeps up with the clock.
type Engine struct {
	Seconds    float64 `json:"seconds"`      // simulated time
	Events     uint64  `json:"events"`       // handled
	LagMS      float64 `json:"lag_ms"`       // now
	MaxLagMS   float64 `json:"max_lag_ms"`   // worst since the start
	SlipMS     float64 `json:"slip_ms"`      // time given up because the engine could not keep up
	SlipShare  float64 `json:"slip_share"`   // of the time in which frames moved
	LateShare  float64 `json:"late_share"`   // of all events, late by more than the budget
	BusyShare  float64 `json:"busy_share"`   // of one core
	FramesLive int     `json:"frames_alive"` // in queues and on wires
	HeapMB     float64 `json:"heap_mb"`      // of the daemon
}

// Verdict says whether the run can be believed.
type Verdict struct {
	Faithful bool     `json:"faithful"`
	Reasons  []string `json:"reasons"` // why not
}

// String is the verdict in one line.
func (v Verdict) String() string {
	if v.Faithful {
		return "FAITHFUL"
	}
	s := "NOT FAITHFUL"
	for i, r := range v.Reasons {
		if i == 0 {
			s += ": " + r
		} else {
			s += "; " + r
		}
	}
	return s
}

// Port is one port of a node or a switch. Per-priority figures have eight
// entries.
type Port struct {
	Name       string            `json:"name"`
	Peer       string            `json:"peer"`
	State      string            `json:"state"` // "up", "down"
	RateBPS    int64             `json:"rate_bps"`
	TxFrames   uint64            `json:"tx_frames"`
	TxBytes    uint64            `json:"tx_bytes"`
	RxFrames   uint64            `json:"rx_frames"`
	RxBytes    uint64            `json:"rx_bytes"`
	PausesTx   [8]uint64         `json:"pauses_tx"`   // PFC frames sent that stop the priority
	PausesRx   [8]uint64         `json:"pauses_rx"`   // PFC frames received that stop it
	PausedSecs [8]float64        `json:"paused_secs"` // simulated seconds for which the priority was stopped
	Paused     []int             `json:"paused_now"`  // priorities
	ECNMarks   uint64            `json:"ecn_marks"`
	QueueBytes int64             `json:"queue_bytes"`      // waiting to leave
	PeakBytes  int64             `json:"peak_bytes"`       // most that ever waited
	Drops      map[string]uint64 `json:"drops"`            // by reason; only those above zero
	IB         *IB               `json:"ib,omitempty"`     // of an InfiniBand port
	Tunnel     *Tunnel           `json:"tunnel,omitempty"` // of one whose link goes over UDP
}

// IB is what an InfiniBand port has that an Ethernet port has not.
type IB struct {
	State   string `json:"state"`      // "down", "init", "armed", "active"
	Phys    string `json:"phys_state"` // "polling", "linkup", "disabled", ...
	GUID    string `json:"port_guid"`
	LID     uint16 `json:"lid"` // 0: none; of a switch that of its port 0
	LMC     uint8  `json:"lmc"`
	SMLID   uint16 `json:"sm_lid"`
	IsSM    bool   `json:"is_sm"`       // a subnet manager runs here
	Width   string `json:"width"`       // "4X"
	Speed   string `json:"speed"`       // "EDR"
	MTU     int    `json:"mtu"`         // NeighborMTU in bytes
	VLs     int    `json:"vls"`         // data lanes in use
	Waiting []int  `json:"waiting_vls"` // lanes on which something waits for credits now
	// WaitSecs is the simulated time in which something waited to leave and
	// nothing could: PortXmitWait. WaitLane is the same of each lane.
	WaitSecs float64           `json:"wait_secs"`
	WaitLane map[int]float64   `json:"wait_secs_by_vl"`
	Held     int64             `json:"held_bytes"` // in the receive buffers
	Counters map[string]uint64 `json:"counters"`   // of performance management, and link packets; only those above zero
}

// Node is a host.
type Node struct {
	Name       string      `json:"name"`
	Stack      string      `json:"stack"`
	Interfaces []Interface `json:"interfaces"`
	IBPorts    []IBPort    `json:"ib_ports,omitempty"`
	Programs   int         `json:"programs"`            // running under exec
	Listeners  int         `json:"listeners,omitempty"` // of rdma_cm
	Management *Management `json:"management,omitempty"`
	IPoIB      []IPoIB     `json:"ipoib,omitempty"`
}

// Management is a node's port on the management network, which is no part of
// the fabric: it has no rate, delay or buffer, and no loss but at the ring.
type Management struct {
	Name     string `json:"name"`
	MAC      string `json:"mac"`
	MTU      int    `json:"mtu"`
	Address  string `json:"address"`
	TxFrames uint64 `json:"tx_frames"`
	TxBytes  uint64 `json:"tx_bytes"`
	RxFrames uint64 `json:"rx_frames"`
	RxBytes  uint64 `json:"rx_bytes"`
	Ring     Ring   `json:"kernel_ring"`
}

// IPoIB is an IP interface on an InfiniBand port (RFC 4391).
type IPoIB struct {
	Name       string   `json:"name"`  // "h1:ib0"
	State      string   `json:"state"` // "up": the broadcast group is joined; "down"
	Address    string   `json:"link_address"`
	MTU        int      `json:"mtu"`
	Addresses  []string `json:"addresses"`
	MLID       int      `json:"broadcast_mlid"` // 0: not joined
	Groups     int      `json:"groups"`         // joined
	Neighbours int      `json:"neighbours"`
	Ring       Ring     `json:"kernel_ring"`
	// Counters by name, only those above zero; tx_* but tx_packets and tx_bytes
	// are packets of the kernel's that were dropped, and why.
	Counters map[string]uint64 `json:"counters"`
}

// IBPort is an InfiniBand port of a node, with the RDMA device that it is.
type IBPort struct {
	Port
	RDMA *RDMA `json:"rdma"`
}

// Interface is an Ethernet port of a node, with the RDMA device on it.
type Interface struct {
	Port
	MAC       string   `json:"mac"`
	MTU       int      `json:"mtu"`
	Addresses []string `json:"addresses"`
	Ring      Ring     `json:"kernel_ring"`
	Mirrored  bool     `json:"mirrored"` // somebody captures in the namespace: the HCA's frames are shown
	RDMA      *RDMA    `json:"rdma,omitempty"`
	// KernelRoCE counts what the NIC did for the RoCE of a node's kernel
	// (stack "rxe"); only what is above zero:
	//
	//	rewritten         frames that got the node's DSCP or ECT(0)
	//	ecn_marked        frames for the kernel that carried the CE mark
	//	cnp_sent          congestion notifications that answered them
	//	cnp_unknown_flow  marks not answered: the sender's queue pair is not known
	//	cnp_received      congestion notifications for the kernel, which end in the NIC
	KernelRoCE map[string]uint64 `json:"kernel_roce,omitempty"`
}

// Ring is what was lost between the node's kernel and its NIC.
type Ring struct {
	TxDropped uint64 `json:"tx_dropped"` // by the kernel, the ring was full
	RxDropped uint64 `json:"rx_dropped"` // frames for the kernel that it did not take
}

// RDMA is a verbs device.
type RDMA struct {
	Device    string            `json:"device"`
	GIDs      []GID             `json:"gids"`
	ActiveMTU int               `json:"active_mtu"`
	QPs       int               `json:"qps"`
	Counters  map[string]uint64 `json:"counters"`
}

// GID is an entry of a port's GID table; perftest's -x takes the index.
type GID struct {
	Index int    `json:"index"`
	GID   string `json:"gid"`
	Type  string `json:"type"`
}

// Switch is a switch of either kind. Of an InfiniBand switch the bytes are those
// in its receive buffers.
type Switch struct {
	Name        string `json:"name"`
	Mode        string `json:"mode"`             // "bridge", "router", "ib"
	Remote      string `json:"remote,omitempty"` // UDP address of the process in which it runs; its ports are not listed
	Ports       []Port `json:"ports"`
	BufferBytes int64  `json:"buffer_bytes"`
	UsedBytes   int64  `json:"used_bytes"`
	PeakBytes   int64  `json:"peak_bytes"` // not counted on InfiniBand
	LID         uint16 `json:"lid,omitempty"`
	GUID        string `json:"guid,omitempty"`
	FECNMarks   uint64 `json:"fecn_marks,omitempty"`
	// Drops are those of a whole InfiniBand switch by reason, in packets. Ports
	// count the same ones by the names of performance management.
	Drops map[string]uint64 `json:"drops,omitempty"`
}

// Link joins two ports.
type Link struct {
	A       string  `json:"a"`
	B       string  `json:"b"`
	Up      bool    `json:"up"`
	RateBPS int64   `json:"rate_bps"`
	DelayNS float64 `json:"delay_ns"`
	LossA   float64 `json:"loss_a_to_b"`
	LossB   float64 `json:"loss_b_to_a"`
	Tunnel  bool    `json:"tunnel,omitempty"` // over UDP
}
