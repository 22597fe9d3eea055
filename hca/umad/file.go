package umad

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	mads "cnuas/hca/mad"
	"cnuas/hca/uverbs"
)

// maxAgents is how many agents a file may have (IB_UMAD_MAX_AGENTS).
const maxAgents = 32

// maxMessage is the longest user MAD that a program may write, with header.
const maxMessage = 4 << 20

// maxBacklog bounds the bytes that wait for a program that does not read.
const maxBacklog = 16 << 20

// file is an open umadN.
type file struct {
	k    *Kind
	p    *port
	conn conn

	in   sync.Mutex // held while messages of the program are taken
	buf  []byte
	dead bool // the descriptor is not used any more

	// With the engine held.
	agents  [maxAgents]*mads.Agent
	header  int // bytes of the user MAD's header: 56, or 64 with a P_Key index
	used    bool
	closed  bool
	backlog [][]byte // messages that the socket had no room for
	waiting int      // bytes of them
	lost    uint64
	flusher bool

	// long tells that a message longer than a MAD may be in the socket: reads
	// have to look. It is cleared when the socket was found empty.
	long atomic.Bool
}

// Trapped implements uverbs.File.
func (f *file) Trapped(t *uverbs.Syscall) {
	switch t.Op {
	case uverbs.OpIoctl:
		f.drain() // what was written before the call comes first
		t.Reply(0, f.ioctl(t))
	case uverbs.OpRead:
		f.read(t)
	default:
		t.Continue()
	}
}

// End implements uverbs.File.
func (f *file) End() { f.close() }

// drain takes what the program has written. It reports whether the program has
// closed the file.
func (f *file) drain() bool {
	f.in.Lock()
	defer f.in.Unlock()
	if f.buf == nil {
		f.buf = make([]byte, 4096)
	}
	for {
		if f.dead {
			return true
		}
		n, closed := f.conn.receive(&f.buf, maxMessage)
		if closed {
			return true
		}
		if n < 0 {
			return false
		}
		f.k.cfg.Do(func() { f.write(f.buf[:n]) })
		if len(f.buf) > 64<<10 {
			f.buf = f.buf[:4096:4096]
		}
	}
}

// close frees everything the program had.
func (f *file) close() {
	f.conn.once.Do(func() {
		f.k.cfg.Do(func() {
			f.closed = true
			f.k.files--
			for i, a := range f.agents {
				if a != nil {
					a.Close()
					f.agents[i] = nil
				}
			}
			f.backlog, f.waiting = nil, 0
		})
		f.in.Lock()
		f.dead = true
		f.in.Unlock() // Close waits for the reader, which may wait for the lock
		f.conn.file.Close()
		f.conn.release()
		if f.lost > 0 {
			f.k.cfg.Log("umad%d: a program did not read its MADs: %d were lost", f.p.num, f.lost)
		}
	})
}

// deliver gives the program a message, whose bytes belong to f from now on if
// the socket has no room for them. The engine is held.
func (f *file) deliver(b []byte) {
	if f.closed {
		return
	}
	if len(b) > headerLen+madLen {
		f.long.Store(true)
	}
	if len(f.backlog) == 0 {
		err := f.conn.send(b)
		if err == nil {
			return
		}
		if err != unix.EAGAIN && err != unix.ENOBUFS && err != unix.ENOMEM {
			f.lost++ // it has closed its end, or the message is too long for the socket
			return
		}
	}
	if f.waiting+len(b) > maxBacklog {
		f.lost++
		return
	}
	f.backlog = append(f.backlog, append([]byte(nil), b...))
	f.waiting += len(b)
	if !f.flusher {
		f.flusher = true
		f.conn.wait.Go(f.flush)
	}
}

// flush writes what waits as the program reads.
func (f *file) flush() {
	err := f.conn.raw.Write(func(uintptr) (done bool) {
		f.k.cfg.Do(func() {
			for !f.closed && len(f.backlog) > 0 && f.conn.send(f.backlog[0]) == nil {
				f.waiting -= len(f.backlog[0])
				f.backlog[0] = nil
				f.backlog = f.backlog[1:]
			}
			if done = f.closed || len(f.backlog) == 0; done {
				f.flusher = false
			}
		})
		return done
	})
	if err != nil {
		f.k.cfg.Do(func() { f.flusher = false })
	}
}

// read answers a read of as many bytes as a single MAD has. One message that
// is longer stays where it is, and the program gets its beginning and ENOSPC:
// it will ask for all of it. Any other the kernel hands over.
func (f *file) read(t *uverbs.Syscall) {
	if !f.long.Load() {
		t.Continue()
		return
	}
	fd, err := programFD(t)
	if err != nil {
		t.Continue()
		return
	}
	defer unix.Close(fd)
	var b [headerLen + madLen]byte
	n, _, err := unix.Recvfrom(fd, b[:], unix.MSG_PEEK|unix.MSG_TRUNC|unix.MSG_DONTWAIT)
	if err == unix.EAGAIN {
		f.k.cfg.Do(func() { // nothing is being delivered
			if _, _, err := unix.Recvfrom(fd, b[:1], unix.MSG_PEEK|unix.MSG_DONTWAIT); err == unix.EAGAIN && len(f.backlog) == 0 {
				f.long.Store(false)
			}
		})
	}
	if err != nil || n <= int(t.Count) {
		t.Continue()
		return
	}
	if err := t.Write(t.Addr, b[:min(len(b), int(t.Count))]); err != nil {
		t.Reply(0, unix.EFAULT)
		return
	}
	t.Reply(0, unix.ENOSPC)
}

// programFD gets a copy of the descriptor that the program reads from: a peek
// needs the program's end of the pair.
func programFD(t *uverbs.Syscall) (int, error) {
	pid, err := unix.PidfdOpen(t.Thread(), 0)
	if err != nil { // a thread that is not the process's first
		tgid, err := t.TGID()
		if err != nil {
			return -1, err
		}
		if pid, err = unix.PidfdOpen(tgid, 0); err != nil {
			return -1, err
		}
	}
	defer unix.Close(pid)
	if !t.Valid() {
		return -1, unix.ESRCH
	}
	return unix.PidfdGetfd(pid, t.FD, 0)
}
