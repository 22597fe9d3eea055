// Package rdmacm plays the kernel's rdma_cm to unmodified programs: what they
// write to /dev/infiniband/rdma_cm becomes calls into package cm, and what
// happens to connections becomes events that they read.
//
// Read include/uapi/rdma/rdma_user_cm.h and drivers/infiniband/core/{ucma,cma}.c
// of Linux before editing. Everything that a program says is checked once, in
// the functions of commands.
//
// Threads: state is touched on the engine's thread, or inside Config.Do, which
// holds the engine. A program's memory is read and written outside of it.
package rdmacm

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"cnuas/hca"
	"cnuas/hca/cm"
	mads "cnuas/hca/mad"
	"cnuas/internal/ipoib"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Device is an HCA of the node.
type Device struct {
	HCA  *hca.Device
	MADs *mads.Table // of the port; the connection manager becomes one of its agents
	Rate int64       // of the port's link, bits per second
	IP   IPoIB       // of an InfiniBand port; nil: it has no addresses
}

// IPoIB is what an InfiniBand port's network interface knows (RFC 4391). It is
// called while the engine is held.
type IPoIB interface {
	// Addrs are the interface's addresses.
	Addrs() []netip.Prefix
	// ResolveIP finds the GID of the port that has an address in the interface's
	// subnet, and calls done once, then or later, on the engine's thread.
	ResolveIP(ip netip.Addr, done func(hca.GID, error))
	// Broadcast is the record of the interface's broadcast group, whose values
	// other groups have too; false: it is not known yet.
	Broadcast() (mad.MCMemberRecord, bool)
}

// Route is how the node reaches an address.
type Route struct {
	Dev int        // number of the device; -1: none of them
	Src netip.Addr // address that the node uses
	Hop netip.Addr // next hop; the destination itself if there is no gateway
	MAC [6]byte    // of the next hop, with RoCE; none of a group
}

// Config of a Service.
type Config struct {
	Node    string
	Devices []Device
	Proc    func() *sim.Proc // makes processes of the engine, for New

	// Do runs f on the calling goroutine while the engine stands still. It is
	// not reentrant.
	Do func(f func())

	// Route finds the way to dst as the node's tables say. src may be invalid:
	// the tables choose. It may take a while, and is called without the engine.
	// Errors that wrap an errno are told to the program.
	Route func(ctx context.Context, dst, src netip.Addr) (Route, error)

	// Log receives one line per event that a user may want to know; nil
	// discards them.
	Log func(format string, args ...any)

	Limits Limits // zero values take the defaults
}

// Limits bound what programs can take of the daemon.
type Limits struct {
	Files  int // open files of the node; default 4096
	IDs    int // identifiers per file; default 16384
	Events int // events that wait in a file before commands fail; default 65536
	Groups int // multicast groups per identifier; default 256
}

func (l *Limits) setDefaults() {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	def(&l.Files, 4096)
	def(&l.IDs, 16384)
	def(&l.Events, 65536)
	def(&l.Groups, 256)
}

// maxHandle is the most identifiers of a node: librdmacm has no room for
// handles of more than 16 bits.
const maxHandle = 1 << 16

// Service is the rdma_cm of one node. It is a uverbs.Kind.
type Service struct {
	cfg  Config
	devs []*device

	// The rest is touched with the engine held.
	files  map[fileID]*file
	ids    handles[*id]
	groups handles[*member]
	ports  map[uint32][]*id // bound identifiers by port space and port
	native []*id            // listeners with AF_IB addresses
	rand   *sim.Rand
	closed bool

	listeners int

	ctx    context.Context // ends look-ups
	cancel context.CancelFunc
	slots  chan struct{} // look-ups at a time
	wait   sync.WaitGroup
}

// device is a Device with its connection manager.
type device struct {
	Device
	index  int
	mgr    *cm.Manager
	agent  *mads.Agent
	listen *cm.Service

	// InfiniBand.
	sa      *ipoib.Client
	members map[groupKey]int // identifiers that share a membership
}

// guid is that of the adapter, by which programs and peers know it.
func (d *device) guid() uint64 {
	if ca := d.HCA.CA(); ca != nil {
		return uint64(ca.Agent().Info().NodeGUID)
	}
	return d.HCA.Config().GUID
}

// New makes the rdma_cm of a node. The engine must be held, or not run yet.
func New(cfg Config) (*Service, error) {
	if cfg.Do == nil || cfg.Route == nil || cfg.Proc == nil {
		return nil, errors.New("rdma_cm: no way to hold the engine, to find routes or to make processes")
	}
	if cfg.Log == nil {
		cfg.Log = func(string, ...any) {}
	}
	cfg.Limits.setDefaults()
	s := &Service{cfg: cfg, files: map[fileID]*file{}, ports: map[uint32][]*id{}, slots: make(chan struct{}, 64)}
	s.ids.max, s.groups.max = maxHandle, maxHandle
	s.rand = cfg.Proc().NewRand(0xc3a)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for i, d := range cfg.Devices {
		x := &device{Device: d, index: i}
		c := cm.Config{GUID: x.guid(), PortNum: uint8(d.HCA.PortNum()), RoCE: d.HCA.IB() == nil}
		if p := d.HCA.IB(); p != nil {
			c.LID = func() (wire.LID, uint8) { return p.LID(), p.LMC() }
		}
		x.mgr = cm.New(d.HCA, cfg.Proc(), c)
		var err error
		if x.agent, err = x.mgr.Attach(d.MADs); err == nil {
			// All RDMA IP CM services, and Linux's for InfiniBand.
			x.listen, err = x.mgr.Listen(0, ^uint64(0xffffffff), &acceptor{s, x})
		}
		if err == nil && !x.roce() {
			err = x.subnet(cfg.Proc())
		}
		if err != nil {
			return nil, fmt.Errorf("node %s: device %s: rdma_cm: %w", cfg.Node, d.HCA.Name(), err)
		}
		s.devs = append(s.devs, x)
	}
	return s, nil
}

// Close ends all connections, and the look-ups of addresses. Sessions must have
// ended.
func (s *Service) Close() {
	s.cancel()
	s.cfg.Do(func() {
		s.closed = true
		for _, d := range s.devs {
			d.agent.Close()
			d.mgr.Close()
			if d.sa != nil {
				d.sa.Close()
			}
		}
	})
	s.wait.Wait()
}

// Usage counts what is open.
type Usage struct {
	Files, IDs, Conns, Listeners int
}

// Usage returns the present numbers. The engine must not be held.
func (s *Service) Usage() (u Usage) {
	s.cfg.Do(func() {
		u.Files, u.IDs, u.Listeners = len(s.files), s.ids.n, s.listeners
		for _, d := range s.devs {
			u.Conns += d.mgr.Conns()
		}
	})
	return u
}

// deviceOf finds the device that has an address, and the index of its GID.
func (s *Service) deviceOf(ip netip.Addr) (*device, uint8) {
	for _, d := range s.devs {
		if d.HCA.IB() != nil {
			if d.has(ip) {
				return d, 0
			}
			continue
		}
		if i, ok := d.gidIndex(gidOf(ip)); ok {
			return d, i
		}
	}
	return nil, 0
}

func (d *device) gidIndex(g hca.GID) (uint8, bool) {
	for i, e := range d.HCA.GIDs() {
		if e.Valid && e.GID == g {
			return uint8(i), true
		}
	}
	return 0, false
}

// roce tells whether the port is one.
func (d *device) roce() bool { return d.HCA.IB() == nil }

// gidOf is the GID that RoCE makes of an address.
func gidOf(ip netip.Addr) hca.GID { return ip.As16() }

// handles gives out numbers, small ones first, as idr_alloc of Linux does.
type handles[T any] struct {
	max  int
	list []*T
	free []uint32
	n    int
}

func (h *handles[T]) add(v T) (uint32, bool) {
	if h.n >= h.max {
		return 0, false
	}
	h.n++
	if n := len(h.free); n > 0 {
		i := h.free[n-1]
		h.free = h.free[:n-1]
		h.list[i] = &v
		return i, true
	}
	h.list = append(h.list, &v)
	return uint32(len(h.list) - 1), true
}

func (h *handles[T]) get(i uint32) (v T, ok bool) {
	if int(i) >= len(h.list) || h.list[i] == nil {
		return v, false
	}
	return *h.list[i], true
}

func (h *handles[T]) remove(i uint32) {
	h.list[i] = nil
	h.free = append(h.free, i)
	h.n--
}
