// Package daemon puts a fabric under the wall clock and ties it to the
// machine: namespaces and TAPs for its nodes, the verbs server for its
// programs, the control socket for the command line. One process per fabric.
package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"cnuas/hca"
	"cnuas/hca/uverbs"
	"cnuas/internal/control"
	"cnuas/internal/fabric"
	"cnuas/internal/host"
	"cnuas/internal/rack"
	"cnuas/internal/realtime"
	"cnuas/internal/sim"
	"cnuas/internal/status"
	"cnuas/internal/topology"
	"cnuas/internal/tunnel/udp"
)

// Config of a daemon.
type Config struct {
	Spec  *topology.Spec
	Scale float64   // wall time per simulated time; 1 is real time
	SM    string    // "": the subnet managers of the Spec; SMNone; or "h1", "h1:ib0": one there, as the Spec has it or by default
	Log   io.Writer // one line per event

	NoIPoIB bool // no IP interfaces on InfiniBand ports, which then send nothing by themselves
}

// Daemon is a running fabric.
type Daemon struct {
	cfg     Config
	dir     string
	began   time.Time
	fab     *fabric.Fabric
	loop    *realtime.Loop
	verbs   *uverbs.Server
	nodes   []*node
	journal *host.Journal
	tunnels *udp.Socket     // nil: no link goes over UDP
	rack    *rack.Rack      // nil: the topology has none
	loads   *loads          // of the nodes, for the rack
	ctx     context.Context // ends when the fabric is to go down
	cancel  context.CancelFunc

	mu      sync.Mutex
	act     activity
	smps    uint64    // that our subnet managers had sent at the end of the last span
	bmc     *bmcGuest // that runs; nil: none
	bmcLast *bmcGuest // that was started last

	bmcStart sync.Mutex // held while the BMC's guest is being started, and its end awaited
}

// Ready is what a daemon tells when its fabric is up.
type Ready struct {
	Error   string  `json:"error,omitempty"`
	Seconds float64 `json:"seconds"` // that it took
}

func (d *Daemon) spec() *topology.Spec { return d.cfg.Spec }

func (d *Daemon) logf(format string, args ...any) {
	fmt.Fprintf(d.cfg.Log, "cnuas %s: %s\n", d.spec().Name, fmt.Sprintf(format, args...))
}

func (d *Daemon) stopOnce() { d.cancel() }

// Run brings the fabric up, calls ready, serves until it is told to stop by
// OpDown, SIGINT or SIGTERM, and takes the fabric down again. Whatever fails
// on the way, nothing is left behind.
func Run(cfg Config, ready func(*Ready)) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, cfg, ready)
}

func run(ctx context.Context, cfg Config, ready func(*Ready)) error {
	return runWith(ctx, cfg, func(*Daemon) {}, ready)
}

// runWith is run that shows the daemon, before it is built, to whoever wants to
// call it.
func runWith(ctx context.Context, cfg Config, show func(*Daemon), ready func(*Ready)) (err error) {
	if cfg.Scale == 0 {
		cfg.Scale = 1
	}
	d := &Daemon{cfg: cfg, began: time.Now()}
	show(d)
	d.ctx, d.cancel = context.WithCancel(ctx)
	defer d.cancel()
	unlock, err := host.Lock(ctx)
	if err != nil {
		return err
	}
	unlock = sync.OnceFunc(unlock)
	defer unlock()
	if err := clearDead(cfg.Spec.Name); err != nil {
		return err
	}
	if err := nodesFree(cfg.Spec); err != nil {
		return err
	}
	if err := kernelStacksWork(cfg.Spec); err != nil {
		return err
	}
	if d.journal, err = host.OpenJournal(cfg.Spec.Name); err != nil {
		return err
	}
	d.dir = d.journal.Dir()
	defer func() { err = errors.Join(err, d.journal.Close()) }()
	if err := d.build(); err != nil {
		return errors.Join(err, d.close())
	}
	return d.serve(func(r *Ready) { unlock(); ready(r) })
}

// build makes everything; nothing runs yet.
func (d *Daemon) build() error {
	o := fabric.Options{Batch: hca.NewBatch()}
	if _, err := rand.Read(o.KeySeed[:]); err != nil {
		return fmt.Errorf("entropy for memory keys: %w", err)
	}
	var err error
	o.NoSM = d.cfg.SM != ""
	if o.Tunnels, err = d.listenTunnels(); err != nil {
		return err
	}
	if d.fab, err = fabric.Build(d.spec(), o); err != nil {
		return err
	}
	if o.NoSM && d.cfg.SM != SMNone {
		if _, err = d.fab.StartSM(d.cfg.SM, d.smDefaults(d.cfg.SM)); err != nil {
			return fmt.Errorf("--sm: %w", err)
		}
	}
	if d.loop, err = realtime.New(d.fab.Engine, realtime.Config{Scale: d.cfg.Scale}); err != nil {
		return err
	}
	d.loop.SetCommit(o.Batch.Commit)
	if err := d.startTunnels(); err != nil {
		return err
	}
	if d.verbs, err = uverbs.NewServer(uverbs.Config{Fabric: d.spec().Name, Do: d.loop.Do, Log: d.logf}); err != nil {
		return err
	}
	if err := d.loop.SetWork(d.verbs); err != nil {
		return err
	}
	cfgs := make([]host.NodeConfig, len(d.fab.Nodes()))
	for i, n := range d.fab.Nodes() {
		cfgs[i] = nodeConfig(n, d.journal.Marker().Token)
	}
	if !d.cfg.NoIPoIB {
		if err := d.fab.StartIPoIB(); err != nil {
			return err
		}
	}
	ipoibTAPs(d.fab, cfgs)
	managementTAPs(d.spec().Management, cfgs)
	kernels, err := host.NewNodes(d.journal, cfgs)
	if err != nil {
		return err
	}
	for i, n := range d.fab.Nodes() {
		d.nodes = append(d.nodes, &node{fab: n, host: kernels[i], logf: d.logf})
	}
	for _, n := range d.nodes {
		if err := n.attach(d); err != nil {
			return err
		}
	}
	if err := d.attachIPoIB(); err != nil {
		return err
	}
	if err := d.attachManagement(); err != nil {
		return err
	}
	if err := d.buildRack(); err != nil {
		return err
	}
	return d.addRDMA()
}

// serve runs the loop until the context ends, then takes everything down.
func (d *Daemon) serve(ready func(*Ready)) error {
	srv, err := control.Listen(filepath.Join(d.dir, socketName))
	if err != nil {
		return errors.Join(err, d.close())
	}
	d.register(srv)
	var wg sync.WaitGroup
	fail := make(chan error, 3)
	wg.Go(func() { fail <- d.loop.Run() })
	wg.Go(func() { fail <- srv.Serve() })
	d.runRack(&wg, fail)
	wg.Go(func() { d.watch(d.ctx) })
	wg.Go(func() { d.watchIPoIB(d.ctx) })
	d.awaitSubnet(d.ctx)
	d.settle()
	wg.Go(func() { d.account(d.ctx) })
	debug.FreeOSMemory() // what building used is not needed again
	ready(&Ready{Seconds: time.Since(d.began).Seconds()})

	select {
	case <-d.ctx.Done():
		err = nil
	case err = <-fail:
		d.logf("ends: %v", err)
	}
	d.cancel()
	st := d.status()
	d.logf("verdict: %s", st.Verdict)
	endPrograms(d.spec().Name)
	err = errors.Join(err, d.closeVerbs(), d.closeBMC())
	srv.Close()
	d.loop.Stop()
	wg.Wait()
	return errors.Join(err, d.close())
}

// closeVerbs ends what serves verbs programs.
func (d *Daemon) closeVerbs() error {
	err := d.verbs.Close()
	for _, n := range d.nodes {
		if n.cm != nil {
			n.cm.Close()
		}
	}
	return err
}

// settleTime bounds how long the first frames of the nodes' kernels are waited
// for.
const settleTime = 500 * time.Millisecond

// settle waits until the frames by which the kernels greet their new links have
// passed, so that they belong to no run: no frame is alive and no event has
// happened for a while.
func (d *Daemon) settle() {
	var before uint64
	for end := time.Now().Add(settleTime); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		var live int
		var events uint64
		d.loop.Do(func() { live, events = d.fab.Pool.Live(), d.fab.Engine.Fired() })
		if live == 0 && events == before {
			break
		}
		before = events
	}
	d.loop.Mark()
}

// close gives everything back that build made. The loop has ended, or never ran.
func (d *Daemon) close() error {
	var errs []error
	if d.verbs != nil {
		errs = append(errs, d.closeVerbs())
	}
	if d.loop != nil {
		d.loop.Stop()
	}
	errs = append(errs, d.closeTunnels(), d.closeRack())
	kernels := make([]*host.Node, len(d.nodes))
	for i, n := range d.nodes {
		kernels[i] = n.host
	}
	errs = append(errs, host.CloseNodes(kernels))
	for _, n := range d.nodes {
		if n.kernel != nil {
			errs = append(errs, awaitRDMAGone(n.kernel.devices))
		}
	}
	return errors.Join(errs...)
}

func (d *Daemon) node(name string) *node {
	for _, n := range d.nodes {
		if n.name() == name {
			return n
		}
	}
	return nil
}

// status takes a snapshot of everything.
func (d *Daemon) status() *status.Fabric {
	act := d.closeSpan()
	rings := d.rings()
	lostIPoIB := d.lostIPoIB()
	var s *status.Fabric
	var broken []string
	d.loop.Do(func() {
		s = d.fab.Snapshot()
		d.tellTunnels(s)
		broken = d.fab.Check()
		lostIPoIB(s)
		for i, n := range d.nodes {
			for j, p := range n.ports {
				rings[i][j].TxDropped = p.kernel.ringLoss(rings[i][j].TxDropped)
				rings[i][j].RxDropped = p.kernel.unwritten
				s.Nodes[i].Interfaces[j].Mirrored = p.mirror != nil && p.mirror.on
			}
		}
	})
	s.PID, s.Scale, s.Seconds = os.Getpid(), d.cfg.Scale, time.Since(d.began).Seconds()
	for i, n := range d.nodes {
		for j := range n.ports {
			s.Nodes[i].Interfaces[j].Ring = rings[i][j]
		}
		s.Nodes[i].Programs = n.programs()
		if n.cm != nil {
			s.Nodes[i].Listeners = n.cm.Usage().Listeners
		}
		if n.kernel != nil {
			n.kernel.tell(&s.Nodes[i])
		}
	}
	d.lostManagement(s)
	s.Rack = d.rackStatus()
	st := d.loop.Stats()
	e := &s.Engine
	e.LagMS, e.MaxLagMS, e.SlipMS = ms(st.Lag), ms(st.MaxLag), ms(st.Slip)
	e.SlipShare, e.LateShare, e.BusyShare = act.slipShare(), act.lateShare(), st.Busy()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	e.HeapMB = float64(m.HeapInuse) / 1e6
	judge(s, act, broken)
	return s
}

// rings asks the kernels what they lost. It is done without the engine: each
// question is a system call.
func (d *Daemon) rings() [][]status.Ring {
	l := make([][]status.Ring, len(d.nodes))
	for i, n := range d.nodes {
		l[i] = make([]status.Ring, len(n.ports))
		for j, p := range n.ports {
			if k, err := p.tap.Kernel(); err == nil {
				l[i][j] = status.Ring{TxDropped: k.Lost()}
			}
		}
	}
	return l
}

func ms(t sim.Time) float64 { return float64(t) / float64(sim.Millisecond) }

// wallOfZero is the wall time of simulated time zero, given the present one.
func (d *Daemon) wallOfZero(now sim.Time) time.Time {
	return time.Now().Add(-time.Duration(now.Nanoseconds()))
}
