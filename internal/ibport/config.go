package ibport

import (
	"errors"
	"fmt"

	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Overhead is what a packet occupies on the wire besides the bytes from LRH to
// VCRC: its start and end delimiter (IBTA vol. 1 §7.8, vol. 2 §5.6).
const Overhead = 2

// headBytes is what must have arrived for cut-through: start delimiter, LRH,
// GRH and BTH, so that every decision is possible. It is the same for packets
// without a GRH, which keeps the order of arrivals.
const headBytes = 1 + wire.LRHLen + wire.GRHLen + wire.BTHLen

// headerRoom is what a packet may have besides an MTU of payload, from LRH to
// ICRC (IBTA vol. 1 §7.7.8).
const headerRoom = 124

// Defaults of Config.
const (
	DefaultBuffer      = 64 << 10 // bytes a lane: 5.2 us at 100 Gb/s
	DefaultVL15        = 64       // packets; a sweep has few outstanding
	DefaultTraining    = sim.Millisecond
	DefaultRecovery    = 20 * sim.Microsecond
	DefaultVLArb       = 8 // entries of each table
	DefaultPKeys       = 32
	DefaultGUIDs       = 8
	DefaultSwitchDelay = 100 * sim.Nanosecond
)

// Config of a port. Fields that are 0 get their default where there is one.
type Config struct {
	Name string // as users write it: "s1:1", "h1:ib0"
	Num  uint8  // in its device
	Node mad.NodeType
	GUID wire.GUID // PortGUID

	Widths    mad.LinkWidth    // LinkWidthSupported; default 1X and 4X
	Speeds    mad.LinkSpeed    // LinkSpeedSupported; default SDR, DDR, QDR
	SpeedsExt mad.LinkSpeedExt // LinkSpeedExtSupported; 0: none
	MTU       mad.MTU          // MTUCap; default 4096
	VLs       mad.VLs          // VLCap; default VL0-3
	CapMask   mad.CapMask      // CapabilityMask
	CapMask2  mad.CapMask2

	BufferBytes int // receive buffer of each data lane, whole blocks of 64 are used
	VL15Packets int // receive buffer of VL15
	VLArbHigh   int // entries of the high-priority table, 1 to 64
	VLArbLow    int
	PKeys       int // entries of the P_Key table
	GUIDs       int // entries of the GUID table, GUIDCap
	Ports       int // of the switch: SL2VL tables are kept by input port

	// Training is the time from polling to LinkUp when both ends are there,
	// Recovery that of a link error recovery.
	Training, Recovery sim.Time

	// Latency is added to the arrival of every packet. With CutThrough it counts
	// from the headers, else from the last byte. A packet that was delivered
	// early is never sent faster than it comes in, and is taken to be intact: one
	// that a symbol error hits is dropped where it was hit, and one whose cable
	// is pulled behind its headers is whole.
	Latency    sim.Time
	CutThrough bool

	// ExactFlow sends flow control packets at the intervals of the standard even
	// where they say nothing new. Without it those are left out as long as the
	// wire has no errors, which changes nothing else and spares an idle fabric
	// all events.
	ExactFlow bool
}

func (c *Config) fill() error {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&c.BufferBytes, DefaultBuffer)
	def(&c.VL15Packets, DefaultVL15)
	def(&c.VLArbHigh, DefaultVLArb)
	def(&c.VLArbLow, DefaultVLArb)
	def(&c.PKeys, DefaultPKeys)
	def(&c.GUIDs, DefaultGUIDs)
	if c.Widths == 0 {
		c.Widths = mad.Width1X | mad.Width4X
	}
	if c.Speeds == 0 {
		c.Speeds = mad.SpeedSDR | mad.SpeedDDR | mad.SpeedQDR
	}
	if c.MTU == 0 {
		c.MTU = mad.MTU4096
	}
	if c.VLs == 0 {
		c.VLs = mad.VL0to3
	}
	if c.Training == 0 {
		c.Training = DefaultTraining
	}
	if c.Recovery == 0 {
		c.Recovery = DefaultRecovery
	}
	return c.check()
}

func (c *Config) check() error {
	var errs []error
	bad := func(wrong bool, format string, a ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, a...))
		}
	}
	bad(c.MTU.Bytes() == 0, "MTU code %d does not exist", uint8(c.MTU))
	bad(c.VLs.Count() == 0, "VLCap %d does not exist", uint8(c.VLs))
	least := wire.FlowBlock * wire.FlowBlocks(c.MTU.Bytes()+headerRoom+wire.VCRCLen)
	bad(c.BufferBytes < least, "a buffer of %d bytes holds no packet of MTU %v: use at least %d", c.BufferBytes, c.MTU, least)
	bad(c.BufferBytes > 64<<20, "a buffer of %d bytes is too large: use at most 64 MiB", c.BufferBytes)
	bad(c.VL15Packets < 1, "VL15 needs room for a packet, not %d", c.VL15Packets)
	bad(c.VLArbHigh < 1 || c.VLArbHigh > 64 || c.VLArbLow < 1 || c.VLArbLow > 64, "arbitration tables of %d and %d entries: use 1 to 64", c.VLArbHigh, c.VLArbLow)
	bad(c.PKeys < 1 || c.PKeys > 0xffff, "a P_Key table of %d entries", c.PKeys)
	bad(c.GUIDs < 1 || c.GUIDs > 255, "a GUID table of %d entries", c.GUIDs)
	bad(c.Num == 255, "port number 255 means all ports")
	bad(c.Training < 0 || c.Recovery < 0 || c.Latency < 0, "a time is negative")
	return errors.Join(errs...)
}
