package hca

import "cnuas/internal/frame"

// Batch collects effects on programs: bytes for their memories, completions,
// ring space, events.
type Batch struct {
	held frame.FIFO
}

// NewBatch returns an empty batch.
func NewBatch() *Batch { return &Batch{} }

// Commit applies what was collected.
func (b *Batch) Commit() {}

// Pending tells whether something waits for Commit.
func (b *Batch) Pending() bool { return false }

type scatter struct{}

func (s *scatter) reset() {}
