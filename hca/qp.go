package hca

import (
	"cnuas/hca/ring"
	"cnuas/internal/frame"
)

// QPInit describes a queue pair to be made. SQ and RQ are the rings for work
// requests; a slot has room for a WQE with Cap's SGEs and inline data.
type QPInit struct {
	PD             *PD
	Type           QPType
	SendCQ, RecvCQ *CQ
	SQ, RQ         *ring.Ring
	Cap            QPCap
	SigAll         bool
}

// QP is a queue pair (IBTA vol. 1 §10.3).
type QP struct {
	// UserHandle is for the owner's use.
	UserHandle uint64

	num  uint32
	ctx  *Context
	attr QPAttr
	cap  QPCap
}

// CreateQP makes a queue pair in state Reset. Services other than RC give
// ErrNotSupported.
func (c *Context) CreateQP(in QPInit) (*QP, error) { return nil, ErrNotSupported }

// Num is the number of the queue pair, 24 bits.
func (q *QP) Num() uint32 { return q.num }

// Context returns the context of the queue pair.
func (q *QP) Context() *Context { return q.ctx }

// State returns the state.
func (q *QP) State() QPState { return q.attr.State }

// Modify changes attributes and the state (IBTA vol. 1 §11.2.5.2).
func (q *QP) Modify(a *QPAttr, m AttrMask) error { return ErrNotSupported }

// Query returns the attributes and the sizes.
func (q *QP) Query() (QPAttr, QPCap) { return q.attr, q.cap }

// Destroy frees the queue pair.
func (q *QP) Destroy() error { return nil }

// Doorbell looks at the send queue for new work requests.
func (q *QP) Doorbell() {}

func (q *QP) remove() {}

// Sweep looks at the send queues of all queue pairs for new work requests and
// reports whether it found any.
func (d *Device) Sweep() bool { return false }

// Ready is the set of priorities that Next may have a frame for.
func (d *Device) Ready() uint8 { return d.readyMask }

// Next hands out the next frame of a priority; nil if there is none after all.
func (d *Device) Next(prio int) *frame.Frame { return nil }

// Receive takes a RoCE frame that has arrived.
func (d *Device) Receive(f *frame.Frame) { d.pool.Put(f) }

type qpTable struct{}

func (*qpTable) init(int) {}

type qpList struct{}
