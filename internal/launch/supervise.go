package launch

import (
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/hca/uverbs/memfile"
)

// Times after the daemon's end. Programs that look at their completion queues
// end by themselves within milliseconds; those that wait in memory for a byte
// from their peer cannot notice anything.
const (
	rescueEvery = 5 * time.Millisecond
	termAfter   = 4 * time.Second
	killAfter   = 4600 * time.Millisecond
)

// supervisor follows which devices the programs have open, so that it can end
// their work if the daemon dies: nobody else is left to do so.
type supervisor struct {
	node string
	conn *net.UnixConn
	done chan struct{}
	wait sync.WaitGroup
	on   bool

	files map[uint64]int // memory files by inode
}

func newSupervisor(cfg *Config) *supervisor {
	return &supervisor{node: cfg.Node, conn: cfg.Conn, done: make(chan struct{}), files: map[uint64]int{}}
}

// start follows the daemon's notes until close.
func (s *supervisor) start() {
	s.on = true
	s.wait.Go(s.run)
}

// close ends the supervision: the program has ended.
func (s *supervisor) close() {
	close(s.done)
	s.conn.Close()
	s.wait.Wait()
	for _, fd := range s.files {
		unix.Close(fd)
	}
}

func (s *supervisor) run() {
	for {
		n, err := memfile.Receive(s.conn)
		if err != nil {
			break
		}
		if old, ok := s.files[n.File]; ok {
			unix.Close(old)
			delete(s.files, n.File)
		}
		if n.Opened {
			s.files[n.File] = n.FD
		}
	}
	select {
	case <-s.done:
	default:
		s.rescue()
	}
}

// rescue ends the work of all programs that have devices open, and then the
// programs that do not notice: those that wait in memory, or for a peer whose
// network has gone with ours. Shells stay.
func (s *supervisor) rescue() {
	var list []*patient
	for _, fd := range s.files {
		if p, err := newPatient(fd); err == nil {
			list = append(list, p)
			defer p.close()
		}
	}
	begin := time.Now()
	tick := time.NewTicker(rescueEvery)
	defer tick.Stop()
	told := map[int]bool{}
	for {
		for _, p := range list {
			p.treat()
		}
		if t := time.Since(begin); t > termAfter {
			left := holders(s.files)
			for _, pid := range strays() {
				if !slices.Contains(left, pid) {
					left = append(left, pid)
				}
			}
			for _, pid := range left {
				if !told[pid] {
					told[pid] = true
					fmt.Fprintf(os.Stderr, "cnuas: the fabric of node %s has gone; ending %s (process %d), which still waits for it\n", s.node, comm(pid), pid)
				}
				sig := unix.SIGTERM
				if t > killAfter {
					sig = unix.SIGKILL
				}
				_ = unix.Kill(pid, sig) // it holds the device, and is gone at worst
			}
			if len(left) == 0 {
				return
			}
			tick.Reset(200 * time.Millisecond)
		}
		select {
		case <-s.done:
			return
		case <-tick.C:
		}
	}
}
