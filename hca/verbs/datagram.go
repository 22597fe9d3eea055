package verbs

import (
	"fmt"

	"cnuas/hca"
	"cnuas/hca/ring"
)

// SRQ is a shared receive queue with its ring.
type SRQ struct {
	*hca.SRQ
	r *ring.Ring
}

// NewSRQ makes a shared receive queue.
func (p *Program) NewSRQ(a hca.SRQAttr) (*SRQ, error) {
	r, err := newRing(int(a.MaxWR), ring.RecvWQELen+ring.SGELen*int(a.MaxSGE))
	if err != nil {
		return nil, err
	}
	s := &SRQ{r: r}
	s.SRQ, err = p.Context.CreateSRQ(p.PD, r, a)
	return s, err
}

// PostRecv posts a receive work request.
func (s *SRQ) PostRecv(id uint64, sges ...ring.SGE) error { return postRecv(s.r, id, sges) }

// RecvRing returns the queue.
func (s *SRQ) RecvRing() *ring.Ring { return s.r }

// Resize moves the queue to a ring for depth completions.
func (q *CQ) Resize(depth int) error {
	r, err := newRing(depth, ring.CQELen)
	if err != nil {
		return err
	}
	if err := q.CQ.Resize(r); err != nil {
		return err
	}
	q.r, q.next = r, r.Consumer()
	return nil
}

// Datagrams takes a UD queue pair from Reset to RTS.
func Datagrams(q *QP, qkey uint32) error {
	a := hca.QPAttr{Port: 1, QKey: qkey}
	for _, s := range []struct {
		to   hca.QPState
		mask hca.AttrMask
	}{
		{hca.Init, hca.AttrPKeyIndex | hca.AttrPort | hca.AttrQKey},
		{hca.RTR, 0},
		{hca.RTS, hca.AttrSQPSN},
	} {
		a.State = s.to
		if err := q.Modify(&a, s.mask|hca.AttrState); err != nil {
			return fmt.Errorf("queue pair %#x to %v: %w", q.Num(), s.to, err)
		}
	}
	return nil
}
