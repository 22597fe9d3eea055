package agent

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// starter starts processes and learns how they end. As process 1 it also waits
// for the orphans that it inherits, which os/exec could not share with it.
type starter struct {
	init bool

	mu      sync.Mutex
	waiting map[int]chan syscall.WaitStatus
}

// start is fork and exec. The channel gets the status when the process ended;
// from then on its number may belong to another.
func (s *starter) start(path string, argv []string, a *syscall.ProcAttr) (pid int, ended <-chan syscall.WaitStatus, err error) {
	ch := make(chan syscall.WaitStatus, 1)
	if !s.init {
		if pid, err = syscall.ForkExec(path, argv, a); err != nil {
			return 0, nil, err
		}
		go func() {
			var w syscall.WaitStatus
			for {
				_, err := syscall.Wait4(pid, &w, 0, nil)
				if err != syscall.EINTR {
					break
				}
			}
			ch <- w
		}()
		return pid, ch, nil
	}
	// Under the lock: a process that ends at once must be in the table when
	// reap looks.
	s.mu.Lock()
	defer s.mu.Unlock()
	if pid, err = syscall.ForkExec(path, argv, a); err != nil {
		return 0, nil, err
	}
	if s.waiting == nil {
		s.waiting = map[int]chan syscall.WaitStatus{}
	}
	s.waiting[pid] = ch
	return pid, ch, nil
}

// reap waits for every child for ever. Only process 1 does this.
func (s *starter) reap() {
	sig := make(chan os.Signal, 1)
	signal.Notify(sig, syscall.SIGCHLD)
	for range sig {
		s.reapNow()
	}
}

func (s *starter) reapNow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		var w syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &w, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if ch := s.waiting[pid]; ch != nil {
			delete(s.waiting, pid)
			ch <- w
		}
	}
}
