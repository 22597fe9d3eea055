package uverbs

import (
	"errors"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"cnuas/hca"
)

var errFault = errors.New("memory of the program is not accessible")

// procShift puts a process's index above the addresses of user space (57 bits
// with five-level page tables), so that regions registered by a child after a
// fork name the child's memory.
const procShift = 58

// maxIOV is the kernel's limit of pieces per copy (UIO_MAXIOV).
const maxIOV = 1024

// smallCopy is the length up to which the mem file is as fast as
// process_vm_readv for one piece. It cannot miss the process, so nothing has to
// be checked.
const smallCopy = 4096

// copier holds what copies need, so that they allocate nothing. All programs of
// a server share one: copies are made while the engine is held.
type copier struct {
	local  [maxIOV]unix.Iovec
	remote [maxIOV]unix.RemoteIovec

	// seq is odd while a copy runs and who is the process it waits for: what
	// the watchdog looks at.
	seq atomic.Uint64
	who atomic.Pointer[process]
}

// memory implements hca.Memory for the programs of one context.
type memory struct {
	c     *copier
	procs [maxProcs]atomic.Pointer[process]
}

func (m *memory) proc(s hca.Segment) (*process, uint64) {
	i := s.Addr >> procShift
	if i >= maxProcs {
		return nil, 0
	}
	return m.procs[i].Load(), s.Addr &^ (uint64(maxProcs-1) << procShift)
}

func (c *copier) begin(p *process) {
	c.who.Store(p)
	c.seq.Add(1)
}

func (c *copier) end() { c.seq.Add(1) }

// Gather implements hca.Memory.
func (m *memory) Gather(dst []byte, src []hca.Segment) error {
	for len(src) > 0 {
		p, addr := m.proc(src[0])
		if p == nil || p.gone.Load() {
			return errFault
		}
		if len(src) == 1 && len(dst) <= smallCopy {
			if uint64(len(dst)) != src[0].Len {
				return errFault
			}
			return m.small(unix.SYS_PREAD64, p, addr, dst)
		}
		n, bytes := m.fill(p, src, uint64(len(dst)))
		if bytes > 0 {
			m.c.local[0] = unix.Iovec{Base: &dst[0], Len: bytes}
			if !m.vm(unix.SYS_PROCESS_VM_READV, p, 1, n, bytes) || !p.named() {
				return errFault // or read from who has the number now: nothing of it is used
			}
		}
		dst, src = dst[bytes:], src[n:]
	}
	if len(dst) != 0 {
		return errFault
	}
	return nil
}

// fill makes remote pieces of the leading segments of one process, at most
// limit bytes, and returns how many segments and bytes they are.
func (m *memory) fill(p *process, segs []hca.Segment, limit uint64) (n int, bytes uint64) {
	for n < len(segs) && n < maxIOV {
		q, addr := m.proc(segs[n])
		if q != p || segs[n].Len > limit-bytes {
			break
		}
		m.c.remote[n] = unix.RemoteIovec{Base: uintptr(addr), Len: int(segs[n].Len)}
		bytes += segs[n].Len
		n++
	}
	if n == 0 {
		n = len(segs) // lengths do not agree: the caller sees that bytes remain
	}
	return n, bytes
}

// Scatter implements hca.Memory.
func (m *memory) Scatter(dst []hca.Segment, src [][]byte) error {
	off := 0 // bytes of src[0] that are written
	for len(dst) > 0 {
		p, addr := m.proc(dst[0])
		if p == nil || p.gone.Load() {
			return errFault
		}
		if len(dst) == 1 && len(src) == 1 && len(src[0])-off <= smallCopy {
			if uint64(len(src[0])-off) != dst[0].Len {
				return errFault
			}
			return m.small(unix.SYS_PWRITE64, p, addr, src[0][off:])
		}
		n, bytes := m.fill(p, dst, 1<<62)
		left := bytes
		for left > 0 {
			l, o, nl := 0, off, uint64(0)
			for l < len(src) && l < maxIOV && nl < left {
				b := src[l][o:]
				if uint64(len(b)) > left-nl {
					b = b[:left-nl]
				}
				o = 0
				if len(b) > 0 {
					m.c.local[l] = unix.Iovec{Base: &b[0], Len: uint64(len(b))}
				} else {
					m.c.local[l] = unix.Iovec{}
				}
				nl += uint64(len(b))
				l++
			}
			if nl == 0 {
				return errFault // less data than room
			}
			rn := m.trim(n, nl)
			if !p.named() || !m.vm(unix.SYS_PROCESS_VM_WRITEV, p, l, rn, nl) {
				return errFault
			}
			left -= nl
			m.advance(n, nl)
			for nl > 0 { // step over what was written
				k := uint64(len(src[0]) - off)
				if nl < k {
					off += int(nl)
					break
				}
				nl -= k
				src, off = src[1:], 0
			}
		}
		dst = dst[n:]
	}
	return nil
}

// trim returns how many of the n remote pieces are needed for bytes. The last
// may be longer: the kernel stops where the local pieces end.
func (m *memory) trim(n int, bytes uint64) int {
	for i := range n {
		if l := uint64(m.c.remote[i].Len); l >= bytes {
			return i + 1
		} else {
			bytes -= l
		}
	}
	return n
}

// advance cuts bytes from the front of the n remote pieces.
func (m *memory) advance(n int, bytes uint64) {
	for i := range n {
		r := &m.c.remote[i]
		k := min(uint64(r.Len), bytes)
		r.Base += uintptr(k)
		r.Len -= int(k)
		bytes -= k
	}
}

// vm copies with process_vm_readv or process_vm_writev, all or nothing as far
// as the caller is told.
func (m *memory) vm(nr uintptr, p *process, local, remote int, want uint64) bool {
	m.c.begin(p)
	// Raw: the thread is the engine's own, and a copy is shorter than what the
	// scheduler does around a blocking call.
	n, _, e := unix.RawSyscall6(nr, uintptr(p.tgid), uintptr(unsafe.Pointer(&m.c.local[0])), uintptr(local),
		uintptr(unsafe.Pointer(&m.c.remote[0])), uintptr(remote), 0)
	m.c.end()
	return e == 0 && uint64(n) == want
}

func (m *memory) small(nr uintptr, p *process, addr uint64, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	m.c.begin(p)
	n, _, e := unix.RawSyscall6(nr, uintptr(p.mem), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(addr), 0, 0)
	m.c.end()
	if e != 0 || n != uintptr(len(b)) {
		return errFault
	}
	return nil
}
