package seccomp

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrGone is returned when a process no longer has the memory that it had when
// it was opened: it has ended or has executed another program.
var ErrGone = errors.New("the process is gone")

// Caller is the address space of a thread that waits in a trapped call. It is
// bound to the memory, not to the number: a number that is used again cannot
// lead to another program. Check Listener.Valid once after OpenCaller.
type Caller struct {
	tid int
	mem int // /proc/TID/mem
}

// OpenCaller opens the address space of a notification's thread.
func OpenCaller(tid int) (Caller, error) {
	mem, err := openMem(tid)
	if err != nil {
		return Caller{tid: tid, mem: -1}, err
	}
	return Caller{tid: tid, mem: mem}, nil
}

// TID is the number of the thread.
func (c Caller) TID() int { return c.tid }

// CallerOf returns a Caller whose memory is not open yet: see Open.
func CallerOf(tid int) Caller { return Caller{tid: tid, mem: -1} }

// Open opens the memory of a Caller if it is not open.
func (c *Caller) Open() error {
	if c.mem >= 0 {
		return nil
	}
	o, err := OpenCaller(c.tid)
	*c = o
	return err
}

// Close frees the descriptor.
func (c Caller) Close() {
	if c.mem >= 0 {
		unix.Close(c.mem)
	}
}

// Read fills b from the caller's memory at addr; EFAULT if a part is missing.
func (c Caller) Read(addr uint64, b []byte) error { return memRead(c.mem, addr, b) }

// Write stores b in the caller's memory at addr; EFAULT if a part is missing.
func (c Caller) Write(addr uint64, b []byte) error { return memWrite(c.mem, addr, b) }

// Thread is the calling thread's number.
func (c Caller) Thread() int { return c.tid }

// TGID is the process that the thread belongs to.
func (c Caller) TGID() (int, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(c.tid) + "/status")
	if err != nil {
		return 0, ErrGone
	}
	_, rest, ok := strings.Cut(string(b), "\nTgid:")
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if !ok || err != nil {
		return 0, fmt.Errorf("thread %d: no process in its status", c.tid)
	}
	return n, nil
}

// Stat identifies one of the caller's descriptors by device and inode.
func (c Caller) Stat(fd int, st *unix.Stat_t) error {
	return unix.Stat(c.fdPath(fd), st)
}

// FDPath is the path by which the caller's descriptor was opened, as far as
// the kernel can tell it.
func (c Caller) FDPath(fd int) (string, error) { return os.Readlink(c.fdPath(fd)) }

func (c Caller) fdPath(fd int) string {
	return "/proc/" + strconv.Itoa(c.tid) + "/fd/" + strconv.Itoa(fd)
}

// FDFlags returns the status flags (O_NONBLOCK, ...) and O_CLOEXEC of one of
// the caller's descriptors.
func (c Caller) FDFlags(fd int) (int, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(c.tid) + "/fdinfo/" + strconv.Itoa(fd))
	if err != nil {
		return 0, unix.EBADF
	}
	_, rest, _ := strings.Cut(string(b), "flags:")
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseInt(strings.TrimSpace(line), 8, 64)
	if err != nil {
		return 0, unix.EBADF
	}
	return int(n), nil
}

func openMem(pid int) (int, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/mem", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT || err == unix.ESRCH {
		return -1, ErrGone
	}
	if err != nil {
		return -1, fmt.Errorf("memory of process %d: %w", pid, err)
	}
	return fd, nil
}

// memRead and memWrite translate what the mem file says: 0 bytes mean that the
// address space is gone, EIO and a short count that a page is missing.
func memRead(mem int, addr uint64, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Pread(mem, b, int64(addr))
		if err := memError(n, err); err != nil {
			return err
		}
		b, addr = b[n:], addr+uint64(n)
	}
	return nil
}

func memWrite(mem int, addr uint64, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Pwrite(mem, b, int64(addr))
		if err := memError(n, err); err != nil {
			return err
		}
		b, addr = b[n:], addr+uint64(n)
	}
	return nil
}

func memError(n int, err error) error {
	switch {
	case err == unix.EINTR:
		return nil
	case err != nil:
		return unix.EFAULT
	case n == 0:
		return ErrGone
	}
	return nil
}

// Mapped tells whether the caller may read, or also write, every byte of a
// range: EFAULT if not.
func (c Caller) Mapped(start, length uint64, write bool) error {
	if length == 0 {
		return nil
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(c.tid) + "/maps")
	if err != nil {
		return ErrGone
	}
	return covered(string(b), start, length, write)
}

// covered reads the text of a maps file, whose lines are in ascending order.
func covered(maps string, start, length uint64, write bool) error {
	end := start + length
	if end < start {
		return unix.EFAULT
	}
	for line := range strings.Lines(maps) {
		lo, rest, ok1 := strings.Cut(line, "-")
		hi, rest, ok2 := strings.Cut(rest, " ")
		a, err1 := strconv.ParseUint(lo, 16, 64)
		z, err2 := strconv.ParseUint(hi, 16, 64)
		if !ok1 || !ok2 || err1 != nil || err2 != nil || len(rest) < 4 {
			return fmt.Errorf("maps of a process: line %q", line)
		}
		if z <= start {
			continue
		}
		if a > start || rest[0] != 'r' || write && rest[1] != 'w' {
			return unix.EFAULT
		}
		if start = z; start >= end {
			return nil
		}
	}
	return unix.EFAULT
}
