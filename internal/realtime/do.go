package realtime

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Do holds the engine and runs f on the calling thread, with the engine's
// clock advanced to now, or to the earliest event that is due and not handled.
// Afterwards effects are committed and the loop is woken if it sleeps longer
// than it now may.
//
// Do has priority: the loop lets every call that waits have the engine before
// it takes the next turn. It holds the fabric up while f runs, so f does not
// block. Do may be called before Run and after it ended, and by code that
// holds the engine on its own thread, which then simply runs f.
func (l *Loop) Do(f func()) {
	if l.onEngineThread() {
		f()
		return
	}
	l.hold()
	defer l.mu.Unlock()
	l.st.dos++
	if l.began && !l.closed {
		l.eng.Advance(l.now())
	}
	f()
	l.settle()
}

// hold takes the engine for a thread other than the loop's. A loop that waits
// already goes first: a Mutex lets those pass that happen to be running, and
// three threads full of commands left the fabric half of its time.
func (l *Loop) hold() {
	for l.turning.Load() {
		runtime.Gosched()
	}
	l.arrived.Add(1)
	l.mu.Lock()
	l.entered.Add(1)
}

func (l *Loop) onEngineThread() bool {
	t := l.tid.Load()
	return t != 0 && int(t) == unix.Gettid()
}

// settle makes the effects of a Do visible. f may have let a queue pair send
// whose ring is full already, which no doorbell will announce again: a loop
// that sleeps would not see it, hence the sweep.
func (l *Loop) settle() {
	if l.asleep && l.work != nil {
		l.work.Sweep()
	}
	l.effects()
	if next, _ := l.eng.Next(); l.asleep && next < l.until {
		l.until = next // one wake is enough
		l.wake()
	}
}

func (l *Loop) effects() {
	l.commit()
	for _, f := range l.flush {
		f()
	}
}

func (l *Loop) wake() {
	if !l.closed {
		l.poll.wake()
		l.st.wakes++
	}
}
