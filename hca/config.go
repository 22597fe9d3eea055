package hca

import "cnuas/internal/sim"

// Config describes a device with one port. Zero values take the defaults
// stated.
type Config struct {
	Name string
	GUID uint64
	MAC  [6]byte

	// MTU is the IP MTU of the port in bytes (default 4200). The largest path
	// MTU of 256 to 4096 whose packets fit is the active MTU.
	MTU int

	// Priority maps a DSCP to the priority, 0 to 7, in which its frames leave.
	Priority [64]uint8

	// DefaultTrafficClass is used by queue pairs whose address vector has
	// traffic class 0: most programs cannot set it, so sites configure it.
	DefaultTrafficClass uint8

	CNPTrafficClass uint8    // of congestion notification packets; default DSCP 48
	CNPInterval     sim.Time // least time between two CNPs of a queue pair; default 50 us

	Window   int // request packets that a queue pair may have outstanding; default 256
	AckEvery int // a request packet in this many asks for an ACK; default 16

	// KeySeed determines keys and queue pair numbers. A daemon passes entropy:
	// keys must not be guessable.
	KeySeed [32]byte

	MaxQP, MaxCQ, MaxMR, MaxPD int // per device; defaults 16384, 16384, 65536, 16384
	MaxSRQ, MaxAH              int // per device; defaults 16384, 65536
}

// Limits that a device reports.
const (
	MaxQPWR     = 16384
	MaxCQE      = 1<<18 - 1
	MaxSGE      = 32
	MaxInline   = 1024    // bytes
	MaxMsgSize  = 1 << 30 // bytes
	MaxRdAtomic = 128     // outstanding READs and atomics of a queue pair, each way
	MaxGIDs     = 128

	MaxGroups   = 4096  // multicast groups of a device
	MaxPerGroup = 128   // queue pairs in a group: a packet is copied to all at once
	MaxAttached = 65536 // queue pairs in all groups, each counted once per group
)

func (c *Config) setDefaults() {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	def(&c.MTU, 4200)
	def(&c.Window, 256)
	def(&c.AckEvery, 16)
	def(&c.MaxQP, 16384)
	def(&c.MaxCQ, 16384)
	def(&c.MaxMR, 65536)
	def(&c.MaxPD, 16384)
	def(&c.MaxSRQ, 16384)
	def(&c.MaxAH, 65536)
	if c.CNPTrafficClass == 0 {
		c.CNPTrafficClass = 48 << 2
	}
	if c.CNPInterval == 0 {
		c.CNPInterval = 50 * sim.Microsecond
	}
	for i := range c.Priority {
		c.Priority[i] &= 7
	}
	if c.Window > 1<<15 {
		c.Window = 1 << 15
	}
}
