package uverbs

import (
	"time"

	"golang.org/x/sys/unix"
)

// watchdog ends programs whose memory does not answer. A copy from or to a page
// that its program handles itself (userfaultfd, FUSE) waits for the program,
// and with it would wait the engine and so every other program. Killing the
// program ends the wait.
type watchdog struct {
	srv  *Server
	quit chan struct{}
	last uint64
	seen map[*session]uint64
}

// patience is how long a copy may take, at least; at most it is twice that. An
// honest copy is at most 256 KiB and takes longer than a millisecond only when
// pages have to be read from disk.
const patience = 2 * time.Second

func (w *watchdog) init(s *Server) {
	w.srv, w.quit, w.seen = s, make(chan struct{}), map[*session]uint64{}
}

func (w *watchdog) stop() { close(w.quit) }

func (w *watchdog) run() {
	t := time.NewTicker(patience)
	defer t.Stop()
	for {
		select {
		case <-w.quit:
			return
		case <-t.C:
			w.look()
		}
	}
}

// look ends who holds up a thread since the last look.
func (w *watchdog) look() {
	c := &w.srv.copier
	seq := c.seq.Load()
	if p := c.who.Load(); seq&1 == 1 && seq == w.last && p != nil {
		w.srv.cfg.Log("process %d: its memory does not answer, which would stop the fabric: ended", p.tgid)
		p.kill()
	}
	w.last = seq
	seen := map[*session]uint64{}
	for _, n := range w.srv.list() {
		n.mu.Lock()
		for s := range n.sessions {
			seen[s] = s.reading.Load()
		}
		n.mu.Unlock()
	}
	for s, seq := range seen {
		if seq&1 == 1 && w.seen[s] == seq && s.lst.Valid(s.id.Load()) {
			pid := int(s.task.Load())
			w.srv.cfg.Log("node %s: process %d: its memory does not answer: ended", s.node.cfg.Name, pid)
			_ = unix.Kill(pid, unix.SIGKILL) // gone already is as good
		}
	}
	w.seen = seen
}
