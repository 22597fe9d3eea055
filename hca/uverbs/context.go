package uverbs

import (
	"sync"

	"golang.org/x/sys/unix"

	"cnuas/hca"
)

// context is an open device of a program. Its descriptor may be shared by
// several processes after a fork; it lives until all of them have closed it.
//
// Locks: mu first, then the engine (Server.do). What the engine's thread calls
// (events) takes no lock and touches only what is changed while it is held.
type context struct {
	srv  *Server
	node *Node
	sess *session
	dev  int

	file *file
	mem  memory
	hctx *hca.Context

	mu       sync.Mutex
	closed   bool
	objects  map[uint32]*object
	handle   uint32
	channels map[fileID]*channel
	procs    []*process // as in mem.procs
	watches  []uint64   // registrations of processes

	// Changed only while the engine is held, and used by its thread.
	events *channel           // where asynchronous events go
	live   map[uint32]*object // CQs, QPs and SRQs by handle

	// Of the doorbells, engine's thread only.
	wd int32 // inotify watch, -1: none
}

// newContext opens device dev for the process. It is not registered yet.
func (n *Node) newContext(s *session, dev int, p *process) (*context, error) {
	f, err := newFile(n.srv.cfg.Limits.RingBytes)
	if err != nil {
		return nil, err
	}
	c := &context{
		srv: n.srv, node: n, sess: s, dev: dev, file: f, wd: -1,
		objects: map[uint32]*object{}, live: map[uint32]*object{}, channels: map[fileID]*channel{},
	}
	c.mem.c = &n.srv.copier
	if err := c.addProcess(p); err != nil {
		f.close()
		return nil, err
	}
	n.srv.do(func() {
		c.hctx = n.cfg.Devices[dev].HCA.Open(&c.mem, c.asyncEvent)
		n.srv.bells.add(c)
	})
	return c, nil
}

// addProcess makes p's memory usable by the context and takes ownership of p.
func (c *context) addProcess(p *process) error {
	if len(c.procs) >= c.srv.cfg.Limits.Processes {
		return hca.ErrNoMemory
	}
	id, err := c.srv.watch.add(p.pidfd, unix.EPOLLIN, func(uint32) { c.exited(p) })
	if err != nil {
		return err
	}
	c.mem.procs[len(c.procs)].Store(p)
	c.procs = append(c.procs, p)
	c.watches = append(c.watches, id)
	return nil
}

// processIndex returns the index of the process with the address space, adding
// it if it is new. check confirms that tgid still names the caller.
func (c *context) processIndex(tgid int, check func() bool) (int, error) {
	for i, p := range c.procs {
		if p.tgid == tgid && p.alive() {
			return i, nil
		}
	}
	p, err := openProcess(tgid)
	if err != nil {
		return 0, err
	}
	if !check() {
		p.close()
		return 0, unix.ESRCH
	}
	if err := c.addProcess(p); err != nil {
		p.close()
		return 0, err
	}
	return len(c.procs) - 1, nil
}

// exited is called when a process of the context has ended. A child may go on
// using the context; without an event file nobody would tell us of its end.
func (c *context) exited(p *process) {
	p.gone.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, q := range c.procs {
		if q == p {
			c.srv.watch.remove(c.watches[i])
		}
	}
	if c.aliveLocked() {
		return
	}
	c.closeLocked()
}

// aliveLocked tells whether some process may still hold the context: one of
// its own lives, or somebody has its event file open.
func (c *context) aliveLocked() bool {
	for _, p := range c.procs {
		if !p.gone.Load() {
			return true
		}
	}
	for _, ch := range c.channels {
		if ch.async && !ch.closed {
			return true
		}
	}
	return false
}

// addChannel makes a channel whose reading end the caller closes when the
// program has it.
func (c *context) addChannel(size int, async bool) (*channel, int, error) {
	if len(c.channels) >= c.srv.cfg.Limits.Channels {
		return nil, -1, hca.ErrNoMemory
	}
	ch, read, err := newChannel(size, async)
	if err != nil {
		return nil, -1, err
	}
	ch.ctx = c
	c.channels[ch.id] = ch
	if ch.watch, err = c.srv.watch.add(ch.w, 0, func(ev uint32) { c.channelEvent(ch, ev) }); err != nil {
		delete(c.channels, ch.id)
		unix.Close(read)
		ch.close()
		return nil, -1, err
	}
	return ch, read, nil
}

func (c *context) channelEvent(ch *channel, ev uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.channels[ch.id] != ch {
		return
	}
	if ev&(unix.EPOLLERR|unix.EPOLLHUP) == 0 {
		c.srv.do(ch.flush)
		return
	}
	c.dropChannel(ch)
	// ibv_close_device closes the event file, and so does the end of a
	// program: the device is closed with its last event file.
	if ch.async && !c.hasAsync() {
		c.closeLocked()
	}
}

func (c *context) hasAsync() bool {
	for _, ch := range c.channels {
		if ch.async {
			return true
		}
	}
	return false
}

// dropChannel frees a channel that the program has closed.
func (c *context) dropChannel(ch *channel) {
	delete(c.channels, ch.id)
	c.srv.watch.remove(ch.watch)
	c.srv.do(func() {
		if c.events == ch {
			c.events = nil
		}
		ch.close()
	})
}

// close frees everything the program had.
func (c *context) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeLocked()
}

func (c *context) closeLocked() {
	if c.closed {
		return
	}
	c.closed = true
	for _, id := range c.watches {
		c.srv.watch.remove(id)
	}
	for _, ch := range c.channels {
		c.srv.watch.remove(ch.watch)
	}
	c.srv.do(func() {
		c.hctx.Close()
		c.srv.bells.remove(c)
		c.events = nil
		for _, ch := range c.channels {
			ch.close()
		}
		for _, p := range c.procs {
			p.gone.Store(true)
		}
	})
	// The engine has forgotten the context: what it used can be unmapped.
	for _, o := range c.objects {
		o.freeQueues(c.file)
	}
	c.file.close()
	for _, p := range c.procs {
		p.close()
	}
	c.node.forget(c)
}
