package realtime

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// thread sets the attributes of the engine's thread. The engine is held.
func (l *Loop) thread() error {
	l.tid.Store(int32(unix.Gettid()))
	l.cpu0 = 0
	l.cpu0 = l.cpu()
	// Without this the kernel may round each timeout up by 50 us.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("realtime: prctl PR_SET_TIMERSLACK: %w", err)
	}
	if l.cfg.Slice < 0 {
		return nil
	}
	// Kernels before 6.12 ignore the slice of an ordinary thread. A sandbox
	// may forbid the call; the loop works without it, with longer tails.
	if a, err := unix.SchedGetAttr(0, 0); err == nil && a.Policy == unix.SCHED_NORMAL {
		a.Runtime = uint64(l.cfg.Slice)
		l.st.sliceErr = unix.SchedSetAttr(0, a, 0)
	}
	return nil
}

// cpu is the processor time that the engine's thread has used. The clock of a
// thread can be read from every thread of the process (pthread_getcpuclockid).
func (l *Loop) cpu() time.Duration {
	t := l.tid.Load()
	if t == 0 {
		return l.st.cpu
	}
	const perThreadSched = 4 | 2
	var ts unix.Timespec
	if unix.ClockGettime(^t<<3|perThreadSched, &ts) == nil {
		l.st.cpu = time.Duration(ts.Nano()) - l.cpu0
	}
	return l.st.cpu
}
