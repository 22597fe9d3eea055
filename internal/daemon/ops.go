package daemon

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"time"

	"cnuas/internal/control"
	"cnuas/internal/fabric"
	"cnuas/internal/launch"
	"cnuas/internal/sim"
)

// Operations of the control socket.
const (
	OpStatus  = "status"
	OpExec    = "exec"
	OpFault   = "fault"
	OpCapture = "capture"
	OpDown    = "down"
	OpDevices = "devices"
	OpSM      = "sm"
	OpRack    = "rack"

	OpRackCapture = "rack-capture"
)

// ExecArgs name the node in which a program is to run. After the answer the
// connection belongs to package launch and package uverbs.
type ExecArgs struct {
	Node string `json:"node"`
}

// ExecReply tells where the node's namespace and its verbs devices are.
type ExecReply struct {
	VM            bool                  `json:"vm,omitempty"`             // the node is in a lab VM: a stream of package agent follows
	SelfContained bool                  `json:"self_contained,omitempty"` // the VM sees nothing of this machine
	NetNS         string                `json:"netns"`
	SysfsDir      string                `json:"sysfs,omitempty"`  // of the emulated devices
	Kernel        *launch.KernelDevices `json:"kernel,omitempty"` // instead: the kernel's own
}

// FaultArgs ask for one fault; see the command line for the kinds.
type FaultArgs struct {
	Kind       string  `json:"kind"` // link, loss, storm, mute, clear
	Port       string  `json:"port,omitempty"`
	Up         bool    `json:"up,omitempty"`         // link; mute: it is over
	Share      float64 `json:"share,omitempty"`      // loss probability, storm duty; 0 to 1
	Priorities uint8   `json:"priorities,omitempty"` // storm; bit n for priority n
	ForNS      int64   `json:"for_ns,omitempty"`     // storm: ends by itself after so many simulated nanoseconds; 0: does not
}

// CaptureArgs ask for the frames at some ports; the stream of package capture
// follows the answer, until the client half-closes the connection.
type CaptureArgs struct {
	Ports   []string `json:"ports"`
	Filter  string   `json:"filter,omitempty"` // pcap-filter(7)
	SnapLen int      `json:"snaplen,omitempty"`
}

func decode[T any](raw json.RawMessage) (T, error) {
	var v T
	if len(raw) == 0 {
		return v, nil
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("arguments: %w", err)
	}
	return v, nil
}

// register binds the operations of the control socket.
func (d *Daemon) register(s *control.Server) {
	s.Handle(OpStatus, func(json.RawMessage) (any, error) { return d.status(), nil })
	s.Handle(OpDevices, func(json.RawMessage) (any, error) { return d.devices(), nil })
	s.Handle(OpFault, func(raw json.RawMessage) (any, error) {
		a, err := decode[FaultArgs](raw)
		if err != nil {
			return nil, err
		}
		return d.fault(a)
	})
	s.Handle(OpExec, func(raw json.RawMessage) (any, error) {
		a, err := decode[ExecArgs](raw)
		if err != nil {
			return nil, err
		}
		n := d.node(a.Node)
		if n == nil {
			return nil, fmt.Errorf("fabric %s has no node %q; it has %s", d.spec().Name, a.Node, d.nodeNames())
		}
		r, err := n.execReply()
		if err != nil {
			return nil, err
		}
		return &control.Takeover{Data: r, Run: n.exec}, nil
	})
	s.Handle(OpCapture, func(raw json.RawMessage) (any, error) {
		a, err := decode[CaptureArgs](raw)
		if err != nil {
			return nil, err
		}
		run, err := d.capture(a)
		if err != nil {
			return nil, err
		}
		return &control.Takeover{Run: run}, nil
	})
	s.Handle(OpSM, func(raw json.RawMessage) (any, error) {
		a, err := decode[SMArgs](raw)
		if err != nil {
			return nil, err
		}
		return d.sm(a)
	})
	s.Handle(OpRack, func(raw json.RawMessage) (any, error) {
		a, err := decode[RackArgs](raw)
		if err != nil {
			return nil, err
		}
		return d.rackOp(a)
	})
	s.Handle(OpRackCapture, func(raw json.RawMessage) (any, error) {
		a, err := decode[RackCaptureArgs](raw)
		if err != nil {
			return nil, err
		}
		run, err := d.rackCapture(a)
		if err != nil {
			return nil, err
		}
		return &control.Takeover{Run: run}, nil
	})
	d.registerBMC(s)
	s.Handle(OpDown, func(json.RawMessage) (any, error) {
		st := d.status()
		return &control.Takeover{Data: st, Run: func(*net.UnixConn) { d.stopOnce() }}, nil
	})
}

// devices lists the names of nodes and switches: what stands before the colon
// in the name of a port.
func (d *Daemon) devices() []string {
	var l []string
	for i := range d.spec().Nodes {
		l = append(l, d.spec().Nodes[i].Name)
	}
	for i := range d.spec().Switches {
		l = append(l, d.spec().Switches[i].Name)
	}
	return l
}

func (d *Daemon) nodeNames() string {
	var l []string
	for _, n := range d.nodes {
		l = append(l, n.name())
	}
	return strings.Join(l, ", ")
}

func stormed(a FaultArgs) string {
	s := fmt.Sprintf("the NIC at %s stops its switch for %s of the time", a.Port, fabric.Percent(a.Share))
	if a.ForNS > 0 {
		s += fmt.Sprintf(", for %v of simulated time", time.Duration(a.ForNS))
	}
	return s
}

// simDuration is so many nanoseconds, or sim.Forever if they are more than
// simulated time can count.
func simDuration(ns int64) sim.Time {
	if ns > int64(sim.Forever/sim.Nanosecond) {
		return sim.Forever
	}
	return sim.Time(max(ns, -1)) * sim.Nanosecond
}

func (d *Daemon) fault(a FaultArgs) (string, error) {
	var err error
	var done string
	d.loop.Do(func() {
		switch a.Kind {
		case "link":
			err = d.fab.SetLink(a.Port, a.Up)
			done = fmt.Sprintf("link at %s is %s", a.Port, map[bool]string{true: "up", false: "down"}[a.Up])
		case "loss":
			err = d.fab.SetLoss(a.Port, a.Share)
			done = fmt.Sprintf("%s loses %s of the frames that it sends", a.Port, fabric.Percent(a.Share))
		case "mute":
			err = d.fab.SetMute(a.Port, !a.Up)
			done = a.Port + map[bool]string{true: " sends flow control packets again", false: " sends no flow control packets: its peer gets no credits"}[a.Up]
		case "storm":
			err = d.fab.Storm(a.Port, a.Priorities, a.Share, simDuration(a.ForNS))
			done = fmt.Sprintf("the storm at %s has ended", a.Port)
			if a.Share > 0 {
				done = stormed(a)
			}
		case "clear":
			d.fab.ClearFaults()
			done = "fabric " + d.spec().Name + " has no injected faults"
		default:
			err = fmt.Errorf("there is no fault %q; link, loss, storm, mute and clear are", a.Kind)
		}
	})
	return done, err
}
