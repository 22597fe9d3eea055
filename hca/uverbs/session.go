package uverbs

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"cnuas/hca/uverbs/memfile"
	"cnuas/internal/seccomp"
)

// verbsIoctl is RDMA_VERBS_IOCTL, the only request of the interface.
const verbsIoctl = 0xc0181b01

// devicePath is where programs open device i.
const devicePath = devDir + "uverbs"

// session serves the programs that one `cnuas exec` started.
type session struct {
	srv  *Server
	node *Node
	conn *net.UnixConn
	lst  *seccomp.Listener
	open int // contexts; guarded by node.mu

	notes chan memfile.Note // for the supervisor
	wait  sync.WaitGroup    // calls that are answered later

	noteMu   sync.Mutex
	noteDone bool

	// For the watchdog: reading is odd while the thread is at a program's
	// memory, id and task say which call that is for.
	reading atomic.Uint64
	id      atomic.Uint64
	task    atomic.Int32
}

// Attach serves one session of package launch over conn until its last program
// has ended, and closes conn. Call it on a goroutine of its own, after the
// request and its answer have been exchanged.
func (n *Node) Attach(conn *net.UnixConn) error {
	defer conn.Close()
	fd, err := memfile.ReceiveListener(conn)
	if err != nil {
		return fmt.Errorf("node %s: %w", n.cfg.Name, err)
	}
	lst, err := seccomp.NewListener(fd)
	if err != nil {
		unix.Close(fd)
		return fmt.Errorf("node %s: %w", n.cfg.Name, err)
	}
	s := &session{srv: n.srv, node: n, conn: conn, lst: lst, notes: make(chan memfile.Note, 256)}
	defer lst.Close()
	if err := lst.SetSyncWakeUp(); err != nil && !errors.Is(err, seccomp.ErrNotSupported) {
		return fmt.Errorf("node %s: %w", n.cfg.Name, err)
	}
	if err := n.enter(s); err != nil {
		return err
	}
	defer n.leave(s)
	var notes sync.WaitGroup
	notes.Go(s.notify)
	if err = n.sysfs.current(); err == nil {
		err = memfile.Acknowledge(conn)
	}
	if err == nil {
		err = s.serve()
	}
	n.endFiles(s)
	s.wait.Wait()
	n.closeContexts(s)
	s.noteMu.Lock()
	s.noteDone = true
	close(s.notes)
	s.noteMu.Unlock()
	notes.Wait()
	if err != nil {
		return fmt.Errorf("node %s: %w", n.cfg.Name, err)
	}
	return nil
}

// notify tells the supervisor of contexts. It must not hold up the programs,
// and a supervisor that is stopped does not read.
func (s *session) notify() {
	for note := range s.notes {
		if err := memfile.Send(s.conn, note); err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, unix.EPIPE) {
			s.srv.cfg.Log("node %s: %v", s.node.cfg.Name, err)
		}
		if note.FD >= 0 {
			unix.Close(note.FD)
		}
	}
}

// tell queues a note; one that does not fit is dropped, and a program whose
// supervisor does not know it is not warned should the daemon die.
func (s *session) tell(note memfile.Note) {
	s.noteMu.Lock()
	defer s.noteMu.Unlock()
	if s.noteDone {
		if note.FD >= 0 {
			unix.Close(note.FD)
		}
		return
	}
	select {
	case s.notes <- note:
	default:
		if note.FD >= 0 {
			unix.Close(note.FD)
		}
	}
}

// serve answers until no program is left. Its thread keeps the core that a
// program hands over with a notification.
func (s *session) serve() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var nt seccomp.Notification
	for {
		if err := s.lst.Receive(&nt); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		s.id.Store(nt.ID)
		s.task.Store(int32(nt.PID))
		s.handle(&nt)
	}
}

// handle answers one notification, or has it answered later.
func (s *session) handle(nt *seccomp.Notification) {
	t := s.trap(nt)
	if t == nil {
		s.log(s.lst.Continue(nt.ID)) // the filter traps nothing else
		return
	}
	caller, err := seccomp.CallerOf(int(nt.PID)), error(nil)
	if t.Op != OpRead { // which may not need the memory
		if caller, err = seccomp.OpenCaller(int(nt.PID)); err != nil {
			s.reply(nt.ID, unix.ESRCH)
			return
		}
	}
	t.Caller = caller
	var st unix.Stat_t
	if t.Op != OpOpen {
		err = caller.Stat(t.FD, &st)
	}
	switch {
	case err != nil:
		caller.Close()
		s.reply(nt.ID, unix.EBADF)
	case s.plugIn(t, &st):
	case t.Op == OpIoctl:
		s.verbs(&program{Caller: caller, s: s, id: nt.ID}, t, &st)
	default: // of a file that is not ours
		caller.Close()
		s.log(s.lst.Continue(nt.ID))
	}
}

// verbs answers an ioctl that may be one on uverbsN.
func (s *session) verbs(env *program, t *Syscall, st *unix.Stat_t) {
	c, err := s.contextOf(env, st, t)
	switch {
	case err != nil:
		s.reply(t.id, errno(err))
	case c == nil:
		s.log(s.lst.Continue(t.id))
	case t.Request != verbsIoctl:
		s.reply(t.id, unix.ENOTTY)
	default:
		s.call(env, c, t.Addr)
		return
	}
	env.Close()
}

// call executes one command. One that has to wait for the network does so on
// its own, or it would hold up every program of the session.
func (s *session) call(env *program, c *context, addr uint64) {
	s.reading.Add(1)
	k, err := decode(c, env, addr)
	s.reading.Add(1)
	if err == nil && k.m.slow != nil && k.m.slow(k) {
		s.wait.Go(func() {
			s.answer(env, k, k.finish())
		})
		return
	}
	if err == nil {
		err = k.finish()
	}
	s.answer(env, k, err)
}

func (s *session) answer(env *program, k *call, err error) {
	if e := errno(err); e == unix.EIO || e == unix.EMFILE || e == unix.ENFILE {
		s.srv.cfg.Log("node %s: %s: %v", s.node.cfg.Name, k.name(), err)
	}
	s.reply(env.id, errno(err))
	env.Close()
}

func (s *session) reply(id uint64, e unix.Errno) { s.log(s.lst.Respond(id, 0, e)) }

func (s *session) log(err error) {
	if err != nil {
		s.srv.cfg.Log("node %s: %v", s.node.cfg.Name, err)
	}
}

// contextOf returns the context that a descriptor stands for. A descriptor of
// the device that has not been used yet is replaced by the memory file of a new
// context; nil means that the descriptor is not ours.
func (s *session) contextOf(env *program, st *unix.Stat_t, t *Syscall) (*context, error) {
	if c := s.node.context(fileID{uint64(st.Dev), st.Ino}); c != nil {
		return c, nil
	}
	// The device file is /dev/null bound to the device's path: rdma-core wants
	// a character device with the number that sysfs states.
	if !isPlaceholder(st) || t.Request != verbsIoctl {
		return nil, nil
	}
	path, err := env.FDPath(t.FD)
	if err != nil {
		return nil, unix.EBADF
	}
	number, ok := strings.CutPrefix(path, devicePath)
	dev, err := strconv.Atoi(number)
	if !ok || err != nil || dev < 0 || dev >= len(s.node.cfg.Devices) {
		return nil, nil
	}
	return s.openDevice(env, t.FD, dev)
}

func (s *session) openDevice(env *program, fd, dev int) (*context, error) {
	flags, err := env.FDFlags(fd)
	if err != nil {
		return nil, err
	}
	tgid, err := env.TGID()
	if err != nil {
		return nil, unix.ESRCH
	}
	p, err := openProcess(tgid)
	if err != nil {
		return nil, err
	}
	if !env.Valid() {
		p.close()
		return nil, unix.ESRCH
	}
	c, err := s.node.newContext(s, dev, p)
	if err != nil {
		p.close()
		return nil, err
	}
	if err := s.node.remember(c); err != nil {
		c.close()
		return nil, err
	}
	if err := s.lst.ReplaceFD(env.id, c.file.fd, fd, uint32(flags&unix.O_CLOEXEC)); err != nil {
		c.close()
		return nil, err
	}
	if dup, err := unix.FcntlInt(uintptr(c.file.fd), unix.F_DUPFD_CLOEXEC, 0); err == nil {
		s.tell(memfile.Note{Opened: true, File: c.file.id.ino, PID: int32(tgid), FD: dup})
	}
	return c, nil
}

// program implements environment for a notification.
type program struct {
	seccomp.Caller
	s  *session
	id uint64
}

// CheckRange tells whether the caller may read, or write, the range.
func (p *program) CheckRange(start, length uint64, write bool) error {
	return p.Mapped(start, length, write)
}

// Valid tells whether the caller still waits.
func (p *program) Valid() bool { return p.s.lst.Valid(p.id) }

// AddFD gives the program a descriptor.
func (p *program) AddFD(fd int) (int, error) { return p.s.lst.AddFD(p.id, fd) }

// FileID identifies one of the program's descriptors.
func (p *program) FileID(fd int) (fileID, error) {
	var st unix.Stat_t
	err := p.Stat(fd, &st)
	return fileID{uint64(st.Dev), st.Ino}, err
}
