package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"cnuas/internal/control"
	"cnuas/internal/vm/agent"
	"cnuas/modbus/bmc"
)

// Operations of the control socket about the BMC. After the answer the
// connection of the console is the guest's serial line, and that of exec has one
// stream of package agent.
const (
	OpBMC        = "bmc"
	OpBMCConsole = "bmc-console"
	OpBMCExec    = "bmc-exec"
)

// BMCArgs ask for something about the rack's BMC.
type BMCArgs struct {
	Action  string `json:"action"`            // up, down, status, unplug, replug
	Image   string `json:"image,omitempty"`   // up: flash image, an absolute path; "": the topology's
	Machine string `json:"machine,omitempty"` // up: "" is the topology's
	Bridge  int    `json:"bridge,omitempty"`  // unplug, replug: 1, 2, 3; 0: all
}

// BMCReply is the answer.
type BMCReply struct {
	Done   string     `json:"done,omitempty"`
	Status *BMCStatus `json:"status,omitempty"`
}

// BMCStatus tells how the BMC is.
type BMCStatus struct {
	Name    string      `json:"name"`
	Up      bool        `json:"up"`
	Image   string      `json:"image,omitempty"` // "": the stand-in
	Machine string      `json:"machine"`
	PID     int         `json:"pid,omitempty"` // of QEMU
	Seconds float64     `json:"seconds,omitempty"`
	Ready   float64     `json:"ready_seconds,omitempty"` // that the stand-in took; 0: not yet, or no stand-in
	MAC     string      `json:"mac,omitempty"`
	Address string      `json:"address,omitempty"`
	Console string      `json:"console_log,omitempty"` // path
	Bridges []BMCBridge `json:"bridges,omitempty"`
	Ports   []BMCPort   `json:"ports,omitempty"`
}

// bmcGuest is a guest, with all that joins it to the rack and the network.
type bmcGuest struct {
	d       *Daemon
	guest   *bmc.Guest
	nic     *bmcNIC // nil: it has no network
	bridges []*bmcBridge
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	gone    chan struct{} // closed when nothing of it is left
	taken   bool          // down, on demand; guarded by the daemon's mu
}

// bmcReadyLimit is how long the stand-in may take to boot on a busy machine.
const bmcReadyLimit = 3 * time.Minute

// bmcOp does what the command line asks of the BMC.
func (d *Daemon) bmcOp(a BMCArgs) (r BMCReply, err error) {
	if d.rack == nil {
		return r, d.noRack()
	}
	if d.spec().Rack.BMC == nil {
		return r, fmt.Errorf("the rack of fabric %s has no BMC; add [rack.bmc] to its topology", d.spec().Name)
	}
	switch a.Action {
	case "up":
		r.Done, err = d.bmcUp(a)
	case "down":
		g := d.theBMC()
		if g == nil {
			return r, errNoBMC
		}
		d.mu.Lock()
		g.taken = true
		d.mu.Unlock()
		err = g.close()
		r.Done = "the BMC is off"
	case "status":
		r.Status = d.bmcStatus()
	case "unplug", "replug":
		r.Done, err = d.bmcPlug(a)
	default:
		err = fmt.Errorf("there is no %q of BMCs", a.Action)
	}
	return r, err
}

var errNoBMC = errors.New("the BMC is off; start it: cnuas bmc up")

// theBMC is the guest that runs, or nil.
func (d *Daemon) theBMC() *bmcGuest {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bmc
}

// bmcUp starts the guest, and waits until the stand-in can be used.
func (d *Daemon) bmcUp(a BMCArgs) (string, error) {
	d.bmcStart.Lock()
	if d.theBMC() != nil {
		d.bmcStart.Unlock()
		return "", errors.New("the BMC is on already; take it down first: cnuas bmc down")
	}
	g, err := d.startBMC(a)
	d.bmcStart.Unlock()
	if err != nil {
		return "", err
	}
	if s := g.guest.Status(); s.Image != "" {
		return fmt.Sprintf("the BMC boots %s on %s; look at it with: cnuas bmc console", s.Image, s.Machine), nil
	}
	ctx, cancel := context.WithTimeout(d.ctx, bmcReadyLimit)
	defer cancel()
	if err := g.guest.Ready(ctx); err != nil {
		if g.isTaken() {
			return "", errors.New("the BMC was taken down while it booted")
		}
		return "", errors.Join(err, g.close())
	}
	return fmt.Sprintf("the stand-in BMC is up after %.1f s", g.guest.Status().Ready), nil
}

func (d *Daemon) startBMC(a BMCArgs) (*bmcGuest, error) {
	if err := d.ctx.Err(); err != nil {
		return nil, err // the fabric is going down
	}
	d.awaitBMC() // one that ends takes away sockets of the same names
	g := &bmcGuest{d: d, gone: make(chan struct{})}
	var ctx context.Context
	ctx, g.cancel = context.WithCancel(d.ctx)
	if err := g.start(ctx, a); err != nil {
		g.cancel()
		g.release()
		return nil, err
	}
	for i, b := range g.bridges {
		b.serve(ctx, &g.wg, g.guest.USBSocket(i))
	}
	d.mu.Lock()
	d.bmc, d.bmcLast = g, g
	d.mu.Unlock()
	go g.watch()
	return g, nil
}

// start makes what the guest is joined to, and starts it.
func (g *bmcGuest) start(ctx context.Context, a BMCArgs) (err error) {
	d, m := g.d, g.d.spec().Rack.BMC
	c := bmc.Config{Name: m.Name, Dir: filepath.Join(d.dir, "bmc"), Image: a.Image, Machine: a.Machine, MAC: m.MAC.String(), Log: d.logf}
	if c.Image == "" {
		c.Image = m.Image
	}
	if c.Machine == "" {
		c.Machine = m.Machine
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return fmt.Errorf("BMC: %w", err)
	}
	if g.bridges, err = d.newBMCBridges(); err != nil {
		return err
	}
	c.Bridges = len(g.bridges)
	if d.fab.Management() != nil {
		if g.nic, c.Net, err = d.newBMCNIC(); err != nil {
			return err
		}
		c.Addr = m.Addr
	}
	g.guest, err = bmc.Start(ctx, c)
	return err
}

func (g *bmcGuest) isTaken() bool {
	g.d.mu.Lock()
	defer g.d.mu.Unlock()
	return g.taken
}

// watch cleans up after a guest that has ended by itself.
func (g *bmcGuest) watch() {
	<-g.guest.Done()
	why, taken := g.guest.Err(), g.isTaken()
	err := g.close()
	if !taken && g.d.ctx.Err() == nil {
		g.d.logf("the BMC: %v", errors.Join(why, err))
	}
}

// close ends the guest and takes away what joined it; only the first call does.
func (g *bmcGuest) close() error {
	g.d.mu.Lock()
	mine := g.d.bmc == g
	if mine {
		g.d.bmc = nil
	}
	g.d.mu.Unlock()
	if !mine {
		return nil
	}
	defer close(g.gone)
	g.cancel()
	err := g.guest.Close()
	g.wg.Wait()
	g.release()
	return err
}

func (g *bmcGuest) release() {
	closeBridges(g.d, g.bridges)
	if g.nic != nil {
		g.nic.close()
	}
}

// closeBMC ends the guest with the fabric.
func (d *Daemon) closeBMC() (err error) {
	d.bmcStart.Lock() // not while one starts
	defer d.bmcStart.Unlock()
	if g := d.theBMC(); g != nil {
		err = g.close()
	}
	d.awaitBMC()
	return err
}

// awaitBMC waits for the end of a guest that is being closed.
func (d *Daemon) awaitBMC() {
	d.mu.Lock()
	g, on := d.bmcLast, d.bmc != nil
	d.mu.Unlock()
	if g != nil && !on {
		<-g.gone
	}
}

func (d *Daemon) bmcStatus() *BMCStatus {
	m := d.spec().Rack.BMC
	r := &BMCStatus{Name: m.Name, Image: m.Image, Machine: m.Machine}
	g := d.theBMC()
	if g == nil {
		return r
	}
	s := g.guest.Status()
	r.Up, r.Image, r.Machine, r.PID, r.Seconds, r.Ready = true, s.Image, s.Machine, s.PID, s.Seconds, s.Ready
	r.MAC, r.Address, r.Console = s.MAC, s.Addr, s.ConsoleLog
	d.rack.Do(func() {
		for i, b := range g.bridges {
			s, ports := b.status(i + 1)
			r.Bridges, r.Ports = append(r.Bridges, s), append(r.Ports, ports...)
		}
	})
	return r
}

// bmcPlug pulls or puts the USB plugs of bridges.
func (d *Daemon) bmcPlug(a BMCArgs) (string, error) {
	g := d.theBMC()
	if g == nil {
		return "", errNoBMC
	}
	if a.Bridge < 0 || a.Bridge > len(g.bridges) {
		return "", fmt.Errorf("the BMC has no USB bridge %d: their number is %d", a.Bridge, len(g.bridges))
	}
	what, done := "the USB bridges are", "unplugged"
	if a.Bridge > 0 {
		what = fmt.Sprintf("USB bridge %d is", a.Bridge)
	}
	if a.Action == "replug" {
		done = "plugged in"
	}
	d.rack.Do(func() {
		for i, b := range g.bridges {
			switch {
			case a.Bridge != 0 && a.Bridge != i+1:
			case a.Action == "replug":
				b.host.Plug()
			default:
				b.host.Unplug()
			}
		}
	})
	return what + " " + done, nil
}

// registerBMC binds the operations about the BMC.
func (d *Daemon) registerBMC(s *control.Server) {
	running := func(run func(g *bmcGuest, c *net.UnixConn)) (any, error) {
		if _, err := d.bmcOp(BMCArgs{Action: "status"}); err != nil {
			return nil, err
		}
		g := d.theBMC()
		if g == nil {
			return nil, errNoBMC
		}
		return &control.Takeover{Run: func(c *net.UnixConn) { run(g, c) }}, nil
	}
	s.Handle(OpBMC, func(raw json.RawMessage) (any, error) {
		a, err := decode[BMCArgs](raw)
		if err != nil {
			return nil, err
		}
		return d.bmcOp(a)
	})
	s.Handle(OpBMCConsole, func(json.RawMessage) (any, error) {
		return running(func(g *bmcGuest, c *net.UnixConn) { g.guest.Console().Attach(c) })
	})
	s.Handle(OpBMCExec, func(json.RawMessage) (any, error) {
		return running(func(g *bmcGuest, c *net.UnixConn) { agent.ServeExec(c, g.guest.Exec) })
	})
}
