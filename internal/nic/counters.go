package nic

import (
	"fmt"

	"cnuas/internal/frame"
)

// DropReason says why the NIC dropped a frame.
type DropReason uint8

// The reasons.
const (
	DropMalformed DropReason = iota // no complete Ethernet header
	DropOtherMAC                    // unicast for another station
	DropNoHost                      // for the kernel, and there is none
	DropControl                     // MAC control that is not PFC
	DropLinkDown                    // from the kernel while the link was down
	NumDropReasons
)

var dropNames = [NumDropReasons]string{"malformed", "other_mac", "no_host", "mac_control", "link_down"}

// String returns the reason as counters show it.
func (r DropReason) String() string {
	if r < NumDropReasons {
		return dropNames[r]
	}
	return fmt.Sprintf("drop_%d", uint8(r))
}

// Count is frames and their bytes from destination address to FCS.
type Count struct{ Frames, Bytes uint64 }

func (c *Count) add(f *frame.Frame) {
	c.Frames++
	c.Bytes += uint64(f.Len)
}

// Counters of a NIC. What the link counts is in link.Port and link.Pause.
type Counters struct {
	TxHost   [8]Count // sent for the kernel, by priority, CNPs included
	TxSource [8]Count // sent for the HCA, by priority
	FromHost Count    // taken from the kernel
	HostPeak int64    // most bytes of the kernel that ever waited

	Received Count // all that arrived
	RxHost   Count // given to the kernel
	RxSource Count // given to the HCA
	RxPFC    uint64
	TxPFC    uint64 // by Storm

	PauseSent [8]uint64 // PFC frames of Storm that stopped the priority

	Rewritten uint64 // frames of the kernel that got DSCP or ECT from the RoCERule

	// Of the congestion points, see Congestion.
	ECNMarked      uint64 // RoCE frames for the kernel that carried the CE mark
	CNPSent        uint64 // CNPs that answered them
	CNPUnknownFlow uint64 // marks not answered: the sender's queue pair is not known (yet)
	CNPReceived    uint64 // CNPs for the kernel, which end in the NIC

	TxDrops [NumDropReasons]uint64 // of the kernel's frames, before they left
	RxDrops [NumDropReasons]uint64 // of frames that arrived
}

func (n *NIC) dropTx(f *frame.Frame, r DropReason) {
	n.count.TxDrops[r]++
	n.pool.Put(f)
}

func (n *NIC) dropRx(f *frame.Frame, r DropReason) {
	n.count.RxDrops[r]++
	n.pool.Put(f)
}

// Counters returns a copy of the counters.
func (n *NIC) Counters() Counters { return n.count }

// Conservation checks that every frame that came in went somewhere or still
// waits; the error names what does not add up.
func (n *NIC) Conservation() error {
	c := &n.count
	var sent, waits, tx, rx uint64
	for p := range c.TxHost {
		sent += c.TxHost[p].Frames
		waits += uint64(n.queue[p].Len())
	}
	for r := range c.TxDrops {
		tx += c.TxDrops[r]
		rx += c.RxDrops[r]
	}
	if in := c.FromHost.Frames + c.CNPSent; in != sent+waits+tx {
		return fmt.Errorf("nic %s: the kernel gave %d frames and %d CNPs were made, of which %d were sent, %d wait, %d were dropped",
			n.cfg.Name, c.FromHost.Frames, c.CNPSent, sent, waits, tx)
	}
	if got := c.RxHost.Frames + c.RxSource.Frames + c.RxPFC + c.CNPReceived; c.Received.Frames != got+rx {
		return fmt.Errorf("nic %s: %d frames arrived, %d were used, %d dropped", n.cfg.Name, c.Received.Frames, got, rx)
	}
	return nil
}
