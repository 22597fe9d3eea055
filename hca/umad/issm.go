package umad

import (
	"golang.org/x/sys/unix"

	"cnuas/hca/uverbs"
	"cnuas/internal/wire/mad"
)

// issm is an open issmN: as long as it is, the port tells the subnet that a
// subnet manager runs behind it (IBTA vol. 1 §14.4.1).
type issm struct {
	k    *Kind
	p    *port
	conn conn
}

// openSM opens issmN, which one program at a time can have: EAGAIN.
func (k *Kind) openSM(t *uverbs.Syscall, p *port) {
	s := &issm{k: k, p: p}
	free := false
	k.cfg.Do(func() {
		// A subnet manager of the fabric's own may be at the port too.
		if free = p.sm == nil && p.HCA.IB().CapMask()&mad.CapIsSM == 0; free {
			p.sm = s
		}
	})
	if !free {
		t.Reply(0, unix.EAGAIN)
		return
	}
	// The program may read or change the port right after: it is told first.
	k.cfg.Do(func() { p.HCA.SetIsSM(true) })
	if e := k.open(t, &s.conn, s); e != 0 {
		k.cfg.Do(s.leave)
		t.Reply(0, e)
		return
	}
	s.conn.start(s.drain, s.close)
	if t.Op != uverbs.OpOpen {
		s.Trapped(t)
	}
}

// leave ends what open began. The engine is held.
func (s *issm) leave() {
	s.p.HCA.SetIsSM(false)
	s.p.sm = nil
}

// Trapped implements uverbs.File: there is nothing to be done with the file but
// to have it open.
func (s *issm) Trapped(t *uverbs.Syscall) {
	if t.Op == uverbs.OpIoctl {
		t.Reply(0, unix.ENOTTY)
		return
	}
	t.Reply(0, unix.EINVAL)
}

// End implements uverbs.File.
func (s *issm) End() { s.close() }

// drain drops what the program writes.
func (s *issm) drain() bool {
	b := make([]byte, 64)
	for {
		n, closed := s.conn.receive(&b, len(b))
		if closed || n < 0 {
			return closed
		}
	}
}

func (s *issm) close() {
	s.conn.once.Do(func() {
		s.k.cfg.Do(func() {
			s.k.files--
			s.leave()
		})
		s.conn.file.Close()
		s.conn.release()
	})
}
