package uverbs

import (
	"bytes"

	"golang.org/x/sys/unix"

	"cnuas/internal/seccomp"
)

// Op is which system call was trapped.
type Op uint8

// The calls that the filter traps.
const (
	OpIoctl Op = iota
	OpOpen     // open and openat
	OpRead
	OpWrite
)

// Syscall is a trapped call of a program, which waits until it is answered:
// exactly one of Reply, Continue and, for OpOpen, Become has to be called. Its
// memory is read and written by Read and Write of the Caller.
type Syscall struct {
	seccomp.Caller
	Op      Op
	FD      int    // descriptor, of OpIoctl, OpRead and OpWrite
	Request uint32 // of OpIoctl
	Addr    uint64 // argument of OpIoctl, buffer of OpRead and OpWrite
	Count   uint64 // bytes, of OpRead and OpWrite
	Flags   int    // of OpOpen

	s     *session
	id    uint64
	later bool
	done  bool
}

// Read fills b from the program's memory; EFAULT if a part is missing. Read
// each byte once, and ask Valid before acting on it.
func (t *Syscall) Read(addr uint64, b []byte) error {
	if err := t.Caller.Open(); err != nil {
		return err
	}
	if t.later {
		return t.Caller.Read(addr, b)
	}
	t.s.reading.Add(1)
	defer t.s.reading.Add(1)
	return t.Caller.Read(addr, b)
}

// Write stores b in the program's memory; EFAULT if a part is missing.
func (t *Syscall) Write(addr uint64, b []byte) error {
	if err := t.Caller.Open(); err != nil {
		return err
	}
	if t.later {
		return t.Caller.Write(addr, b)
	}
	t.s.reading.Add(1)
	defer t.s.reading.Add(1)
	return t.Caller.Write(addr, b)
}

// Later says that the call will be answered after Open or Trapped has returned.
func (t *Syscall) Later() { t.later = true }

// Valid tells whether the caller still waits.
func (t *Syscall) Valid() bool { return t.s.lst.Valid(t.id) }

// AddFD gives the program one more descriptor, close-on-exec, and returns its
// number there.
func (t *Syscall) AddFD(fd int) (int, error) { return t.s.lst.AddFD(t.id, fd) }

// Reply makes the call return val, or fail with e if that is not 0.
func (t *Syscall) Reply(val int64, e unix.Errno) {
	if t.finish() {
		t.s.log(t.s.lst.Respond(t.id, val, e))
		t.s.wait.Done()
	}
}

// Continue has the kernel execute the call as if it had not been trapped.
func (t *Syscall) Continue() {
	if t.finish() {
		t.s.log(t.s.lst.Continue(t.id))
		t.s.wait.Done()
	}
}

func (t *Syscall) finish() bool {
	if t.done {
		return false
	}
	t.done = true
	t.Caller.Close()
	return true
}

// Become makes a descriptor of the program stand for f, with the file that fd
// is as its other half: the descriptor that was called on or, for OpOpen, a new
// one, which answers the call. at is the new one's number; 0 leaves the choice
// to the kernel. O_NONBLOCK and O_CLOEXEC are as the program had them. The
// caller keeps its fd, and has to close it to see hang-ups, and calls release
// once the program has closed its own.
func (t *Syscall) Become(fd, at int, f File) (release func(), err error) {
	flags := t.Flags
	if t.Op != OpOpen {
		if flags, err = t.FDFlags(t.FD); err != nil {
			return nil, err
		}
	}
	if err := unix.SetNonblock(fd, flags&unix.O_NONBLOCK != 0); err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	id, n, s := fileID{uint64(st.Dev), st.Ino}, t.s.node, t.s
	if err := n.plug(id, plugged{f, s}); err != nil {
		return nil, err
	}
	cloexec := uint32(flags & unix.O_CLOEXEC)
	switch {
	case t.Op != OpOpen:
		err = s.lst.ReplaceFD(t.id, fd, t.FD, cloexec)
	case at != 0:
		if err = s.lst.ReplaceFD(t.id, fd, at, cloexec); err == nil {
			t.Reply(int64(at), 0)
		}
	default:
		if err = s.lst.RespondFD(t.id, fd, cloexec); err == nil && t.finish() {
			s.wait.Done()
		}
	}
	if err != nil {
		n.unplug(id, f)
		return nil, err
	}
	return func() { n.unplug(id, f) }, nil
}

// trap makes the Syscall of a notification; nil: the filter traps no such call.
func (s *session) trap(nt *seccomp.Notification) *Syscall {
	t := &Syscall{s: s, id: nt.ID, FD: int(int32(nt.Args[0])), Addr: nt.Args[1], Count: nt.Args[2]}
	switch seccomp.CallOf(nt.Arch, nt.Nr) {
	case seccomp.Ioctl:
		t.Op, t.Request, t.Addr = OpIoctl, uint32(nt.Args[1]), nt.Args[2]
	case seccomp.Read:
		t.Op = OpRead
	case seccomp.Write:
		t.Op = OpWrite
	case seccomp.Open:
		t.Op, t.Addr, t.Flags = OpOpen, nt.Args[0], int(int32(nt.Args[1]))
	case seccomp.OpenAt:
		t.Op, t.Addr, t.Flags = OpOpen, nt.Args[1], int(int32(nt.Args[2]))
	default:
		return nil
	}
	return t
}

// plugIn hands a call to the kind of device that it is for, which then answers
// it; false: to none. st is of the descriptor, except for OpOpen.
func (s *session) plugIn(t *Syscall, st *unix.Stat_t) bool {
	var path string
	var err error
	switch {
	case t.Op == OpOpen:
		path, err = t.path() // after an error the kernel knows what to answer
	default:
		if f := s.node.pluggedAt(fileID{uint64(st.Dev), st.Ino}); f != nil {
			s.wait.Add(1)
			f.Trapped(t)
			return true
		}
		if !isPlaceholder(st) {
			return false
		}
		path, err = t.FDPath(t.FD)
	}
	if err != nil {
		return false
	}
	k, name := s.node.kindOf(path)
	if k == nil || !t.Valid() {
		return false
	}
	s.wait.Add(1)
	k.Open(t, name)
	return true
}

// maxPath bounds the paths that are looked at: those of devices are shorter.
const maxPath = len(devDir) + 32

// path reads the path of an OpOpen as far as it can be a device's.
func (t *Syscall) path() (string, error) {
	b := make([]byte, maxPath)
	n := 0
	for n < len(b) { // the path may end just before a page that is not there
		end := min(len(b), n+32-int((t.Addr+uint64(n))%32))
		if err := t.Read(t.Addr+uint64(n), b[n:end]); err != nil {
			return "", err
		}
		if i := bytes.IndexByte(b[n:end], 0); i >= 0 {
			return string(b[:n+i]), nil
		}
		if n = end; n >= len(devDir) && string(b[:len(devDir)]) != devDir {
			break
		}
	}
	return string(b[:n]), nil
}
