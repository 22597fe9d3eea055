// Package cc is congestion control for RoCEv2. It holds the notification
// point: the receiver that tells a sender that its packets met congestion
// (IBTA annex A17.9; the DCQCN paper, section 3.2).
package cc

import "cnuas/internal/sim"

// NotificationPoint limits the congestion notification packets of one flow.
// The zero value is ready.
type NotificationPoint struct {
	next sim.Time
}

// Marked tells the notification point that a packet with the CE mark arrived.
// It reports whether a CNP is due: the first mark is answered at once, then
// one mark in each interval is.
func (n *NotificationPoint) Marked(now, interval sim.Time) bool {
	if now < n.next {
		return false
	}
	n.next = now + interval
	return true
}

// ReactionPoint is the sender's side: it is told of every CNP and of every
// packet sent, and may put off the next one.
type ReactionPoint interface {
	// Notified tells of a CNP.
	Notified(now sim.Time)
	// Sent tells of a packet of so many bytes on the wire, and returns the
	// earliest time for the next one.
	Sent(now sim.Time, bytes int) sim.Time
}
