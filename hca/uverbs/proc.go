package uverbs

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxProcs is how many processes can share a context after fork: the number
// that fits above the address bits of a Segment.
const maxProcs = 16

// process is an address space that a context may use. It stays bound to that
// address space: when the process ends or executes another program, copies
// fail, and cannot reach whoever gets its number.
type process struct {
	tgid  int
	pidfd int
	mem   int // /proc/TGID/mem
	gone  atomic.Bool
}

// openProcess opens process tgid. The caller has to verify afterwards that
// tgid still was the process it meant.
func openProcess(tgid int) (*process, error) {
	mem, err := unix.Open("/proc/"+strconv.Itoa(tgid)+"/mem", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("memory of process %d: %w", tgid, err)
	}
	fd, err := unix.PidfdOpen(tgid, 0)
	if err != nil {
		unix.Close(mem)
		return nil, fmt.Errorf("process %d: pidfd: %w", tgid, err)
	}
	return &process{tgid: tgid, pidfd: fd, mem: mem}, nil
}

func (p *process) close() {
	p.gone.Store(true)
	unix.Close(p.mem)
	unix.Close(p.pidfd)
}

// alive tells whether the address space is still there. The mem file knows: it
// returns no byte once the last user of the address space is gone, and an error
// for a page that is not mapped.
func (p *process) alive(addr uint64) bool {
	if p.gone.Load() {
		return false
	}
	var b byte
	n, _, e := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(p.mem), uintptr(unsafe.Pointer(&b)), 1, uintptr(addr), 0, 0)
	return e != 0 || n == 1
}

// kill ends the process.
func (p *process) kill() {
	_ = unix.PidfdSendSignal(p.pidfd, unix.SIGKILL, nil, 0) // gone already is as good
}
