package uverbs

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/uverbs/memfile"
)

// file is a context's memory file as the daemon holds it.
type file struct {
	fd   int // shares its position with the program's descriptor
	id   fileID
	path []byte // /proc/self/fd/N with a zero at the end, for inotify

	dir     memfile.Directory
	dirMem  []byte
	next    int64 // where the next queue goes
	used    int64 // bytes of queues
	freeCQ  slots
	freeQP  slots
	maxUsed int64
}

// fileID identifies an open file of a program.
type fileID struct{ dev, ino uint64 }

// queue is a ring in the memory file.
type queue struct {
	memfile.Queue
	size int64
	mem  []byte
	ring *ring.Ring
}

func newFile(limit int64) (*file, error) {
	fd, err := unix.MemfdCreate("uverbs", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL { // before Linux 6.3
		fd, err = unix.MemfdCreate("uverbs", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("memory file: %w", err)
	}
	f, err := setupFile(fd, limit)
	unix.Close(fd)
	return f, err
}

// setupFile sizes and seals the file and opens it a second time: on kernels
// from 6.14 writes through the descriptor of memfd_create raise no inotify
// events, those through a reopened one do.
func setupFile(first int, limit int64) (*file, error) {
	if err := unix.Ftruncate(first, memfile.Size); err != nil {
		return nil, fmt.Errorf("memory file: size: %w", err)
	}
	// Without the seal a program could shorten the file and the daemon would
	// get SIGBUS from its queues.
	if _, err := unix.FcntlInt(uintptr(first), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return nil, fmt.Errorf("memory file: seal: %w", err)
	}
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(first), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("memory file: reopen: %w", err)
	}
	f := &file{fd: fd, path: []byte("/proc/self/fd/" + strconv.Itoa(fd) + "\x00"), maxUsed: limit}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		f.id = fileID{uint64(st.Dev), st.Ino}
		f.dirMem, err = unix.Mmap(fd, memfile.DirectoryOffset, memfile.DirectorySize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err == nil {
		_, err = unix.Seek(fd, memfile.LogOffset, unix.SEEK_SET)
	}
	if err != nil {
		f.close()
		return nil, fmt.Errorf("memory file: %w", err)
	}
	f.dir = memfile.NewDirectory(f.dirMem)
	f.freeCQ.max, f.freeQP.max = memfile.MaxCQ, memfile.MaxQP
	return f, nil
}

// rewind puts the program's next doorbell at the log's beginning.
func (f *file) rewind() {
	_, _, _ = unix.RawSyscall(unix.SYS_LSEEK, uintptr(f.fd), uintptr(memfile.LogOffset), unix.SEEK_SET)
}

// newQueue makes a ring for n elements of elem bytes. Addresses are never used
// again, so a program that still has an old queue mapped does not see a new one.
func (f *file) newQueue(n, elem int) (*queue, error) {
	q := &queue{}
	slots := ring.Slots(n)
	q.Slots, q.Elem = uint32(slots), uint32(ring.ElemSize(elem))
	page := int64(unix.Getpagesize())
	q.size = (int64(ring.Size(slots, int(q.Elem))) + page - 1) &^ (page - 1)
	if f.used+q.size > f.maxUsed || f.next+q.size > memfile.QueueSpace {
		return nil, hca.ErrNoMemory
	}
	q.Offset = f.next
	mem, err := unix.Mmap(f.fd, q.Offset, int(q.size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("queue: map: %w", err)
	}
	r, err := ring.New(mem, slots, int(q.Elem))
	if err != nil {
		_ = unix.Munmap(mem)
		return nil, fmt.Errorf("queue: %w: %w", hca.ErrInvalid, err)
	}
	q.mem, q.ring = mem, r
	f.next += q.size
	f.used += q.size
	return q, nil
}

// freeQueue unmaps the ring and gives its memory back. The engine must not
// know it any more.
func (f *file) freeQueue(q *queue) {
	if q == nil || q.mem == nil {
		return
	}
	_ = unix.Munmap(q.mem) // it was mapped
	q.mem, q.ring = nil, nil
	f.used -= q.size
	_ = unix.Fallocate(f.fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, q.Offset, q.size) // memory is only kept longer if it fails
}

func (f *file) close() {
	if f.dirMem != nil {
		_ = unix.Munmap(f.dirMem)
		f.dirMem = nil
	}
	unix.Close(f.fd)
}

// slots hands out small numbers, the lowest that was given back first.
type slots struct {
	max, next int
	free      []int
}

func (s *slots) get() (int, bool) {
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		return i, true
	}
	if s.next == s.max {
		return 0, false
	}
	s.next++
	return s.next - 1, true
}

func (s *slots) put(i int) { s.free = append(s.free, i) }
