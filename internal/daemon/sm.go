package daemon

import (
	"context"
	"fmt"
	"math"
	"time"

	"cnuas/internal/fabric"
	"cnuas/internal/sim"
	"cnuas/internal/status"
	"cnuas/internal/topology"
)

// SMNone as Config.SM: no subnet manager of ours runs at first.
const SMNone = "none"

// SMArgs ask for something about subnet managers. Nil pointers mean what the
// topology says of a manager at the port, or the defaults.
type SMArgs struct {
	Action     string         `json:"action"`         // start, stop, status, sweep
	Port       string         `json:"port,omitempty"` // "h1" or "h1:ib0"; of status and sweep: all
	Engine     *string        `json:"engine,omitempty"`
	Priority   *uint8         `json:"priority,omitempty"`
	LMC        *uint8         `json:"lmc,omitempty"`
	Sweep      *time.Duration `json:"sweep,omitempty"` // simulated time
	QoS        *bool          `json:"qos,omitempty"`
	Partitions *string        `json:"partitions,omitempty"` // text of a partition file
	Poll       time.Duration  `json:"poll,omitempty"`       // simulated time; 0: the default
	MaxSMPs    int            `json:"max_smps,omitempty"`   // 0: the default
	Verify     bool           `json:"verify,omitempty"`     // status: follow every path, however many there are
}

// SMReply is the answer: a line about what was done, and the managers.
type SMReply struct {
	Done     string      `json:"done,omitempty"`
	Managers []status.SM `json:"managers"`
}

// smDefaults is what the topology says of a subnet manager at a port, or what
// one has without that.
func (d *Daemon) smDefaults(port string) fabric.SMOptions {
	for _, m := range d.spec().SMs {
		n := &d.spec().Nodes[m.Node]
		if port == n.Name || port == n.Name+":"+n.IBPorts[m.Port].Name {
			return fabric.SMOptions{SM: m}
		}
	}
	return fabric.SMOptions{SM: topology.SM{Engine: topology.MinHop, Priority: topology.DefaultPriority, Sweep: topology.DefaultSweep * sim.Second}}
}

func set[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}

func (d *Daemon) smOptions(a *SMArgs) (o fabric.SMOptions, err error) {
	o = d.smDefaults(a.Port)
	if a.Engine != nil {
		o.Engine = topology.Engine(*a.Engine)
		o.QoS = o.QoS || o.Engine == topology.DFSSSP // which breaks credit loops by lanes
	}
	set(&o.Priority, a.Priority)
	set(&o.LMC, a.LMC)
	set(&o.QoS, a.QoS)
	set(&o.Partitions, a.Partitions)
	if a.Sweep != nil {
		o.Sweep = simDuration(a.Sweep.Nanoseconds())
	}
	o.Poll, o.MaxSMPs = simDuration(a.Poll.Nanoseconds()), a.MaxSMPs
	switch {
	case !o.Engine.Valid():
		return o, fmt.Errorf("there is no routing engine %q; use %s", o.Engine, topology.EngineNames)
	case o.Priority > 15:
		return o, fmt.Errorf("priority %d: a subnet manager has 0 to 15", o.Priority)
	case o.LMC > 7:
		return o, fmt.Errorf("lmc %d: use 0 to 7, for 2^lmc LIDs a port", o.LMC)
	case o.Sweep < 0 || o.Poll < 0 || o.MaxSMPs < 0:
		return o, fmt.Errorf("times and numbers of a subnet manager cannot be negative")
	}
	return o, nil
}

// sm does what the command line asks of subnet managers.
func (d *Daemon) sm(a SMArgs) (r SMReply, err error) {
	if !d.spec().HasIB() {
		return r, fmt.Errorf("fabric %s has no InfiniBand port, so no subnet manager", d.spec().Name)
	}
	switch a.Action {
	case "start":
		o, err := d.smOptions(&a)
		if err != nil {
			return r, err
		}
		var s *fabric.SubnetManager
		d.loop.Do(func() { s, err = d.fab.StartSM(a.Port, o) })
		if err != nil {
			return r, err
		}
		d.awaitSubnet(d.ctx)
		d.loop.Do(func() {
			state := s.Manager().Status()
			r.Done = fmt.Sprintf("a subnet manager runs at %s: %s", s.Port().Name(), state.State)
			if x := &state.Stats; x.LastUp > 0 {
				r.Done += fmt.Sprintf(" of %d nodes, %d of them switches, by %s", x.Nodes, x.Switches, x.Engine)
			}
		})
	case "stop":
		d.loop.Do(func() { err = d.fab.StopSM(a.Port) })
		if err != nil {
			return r, err
		}
		r.Done = "the subnet manager at " + a.Port + " has ended; what it set stays"
	case "sweep":
		d.loop.Do(func() { err = d.fab.Sweep(a.Port) })
		if err != nil {
			return r, err
		}
		d.awaitSubnet(d.ctx)
	case "status":
	default:
		return r, fmt.Errorf("there is no %q of subnet managers; start, stop, sweep and status are", a.Action)
	}
	most := verifyNodes
	if a.Verify {
		most = math.MaxInt
	}
	d.loop.Do(func() { r.Managers = d.fab.SMReport(most) })
	return r, nil
}

// verifyNodes is the size of a subnet up to which status follows all paths
// unasked.
const verifyNodes = 500

// subnetTime bounds how long a subnet manager's first sweep is waited for.
const subnetTime = 20 * time.Second

// awaitSubnet waits until the subnet managers that run are at rest: masters of a
// subnet that is up, or standbys.
func (d *Daemon) awaitSubnet(ctx context.Context) {
	t := time.NewTicker(2 * time.Millisecond)
	defer t.Stop()
	for end := time.Now().Add(subnetTime); time.Now().Before(end); {
		var rest bool
		d.loop.Do(func() { rest = d.fab.SubnetsAtRest() })
		if rest {
			return
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}
