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

// process is an address space that a context may use. Copies fail when the
// process has ended, and do not reach whoever gets its number.
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
func (p *process) alive() bool {
	if p.gone.Load() {
		return false
	}
	var b byte
	n, _, e := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(p.mem), uintptr(unsafe.Pointer(&b)), 1, 0, 0, 0)
	return e != 0 || n == 1
}

// named tells whether tgid still is this process's number, at half the cost of
// alive. A process keeps its number until it has been waited for, and then the
// kernel goes through all other numbers before it gives this one away again.
// So a copy by number right after it cannot meet a stranger. It can meet
// another program that the same process executes; the descriptors of the
// context are closed by that, and the watcher closes the context.
func (p *process) named() bool {
	_, _, e := unix.RawSyscall6(unix.SYS_PIDFD_SEND_SIGNAL, uintptr(p.pidfd), 0, 0, 0, 0, 0)
	return e == 0
}

// kill ends the process.
func (p *process) kill() {
	_ = unix.PidfdSendSignal(p.pidfd, unix.SIGKILL, nil, 0) // gone already is as good
}
