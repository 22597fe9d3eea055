package sm

import (
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm/route"
)

// Config is what a Manager is made of. Zero values of numbers and times mean
// the default that is named, which is opensm's.
type Config struct {
	Proc   *sim.Proc
	Port   MADPort
	GUID   wire.GUID    // of the port that the manager runs at
	Engine route.Engine // "": minhop
	Roots  []wire.GUID  // switches at the top, for updn and ftree; none: the engine finds them
	Strict bool         // no fallback to minhop if the engine refuses

	Priority   uint8          // 0 to 15
	SMKey      uint64         // of all managers of the subnet; 0: 1
	MKey       uint64         // set in every port
	MKeyBits   uint8          // M_KeyProtectBits
	MKeyLease  uint16         // seconds
	Prefix     uint64         // of GIDs; 0: the default one
	LMC        uint8          // 2^LMC LIDs for each end port
	LIDs       []GUIDLID      // of a previous life
	Partitions *PartitionFile // nil: Default=0x7fff,ipoib:ALL=full;
	QoS        *QoS           // nil: SL2VL and VL arbitration stay as they are

	MaxSMPs     int      // outstanding; 0: 4
	Timeout     sim.Time // of an SMP; 0: 200 ms
	Retries     int      // of an SMP; 0: 3, below 0: none
	Sweep       sim.Time // between light sweeps; 0: only traps lead to sweeps
	RetryTime   sim.Time // after a sweep with errors; 0: 1 s
	PollTime    sim.Time // between questions to the master; 0: 10 s
	PollRetries int      // of those without an answer; 0: 4

	// TIDHigh is the high half of the transaction IDs of all requests: who shares
	// the port's MADs with others gets its responses by it.
	TIDHigh uint32

	SubnetTimeout mad.Timeout // 0: 18
	PacketLife    mad.Timeout // SwitchInfo.LifeTimeValue; 0: 18
	HOQLife       mad.Timeout // between switches; 0: 18
	LeafHOQLife   mad.Timeout // towards end nodes; 0: 16
	VLStall       uint8       // 0: 7
	MaxVLs        mad.VLs     // 0: VL0to14
	MasterSL      uint8       // MasterSMSL

	Observer Observer // may be nil
}

// GUIDLID says which LID a port has, the first of 2^LMC.
type GUIDLID struct {
	GUID wire.GUID
	LID  wire.LID
}

// Observer is told what happens; subnet administration is one.
type Observer interface {
	// SubnetUp: a heavy sweep of the master has ended. in and out are end ports
	// that came into or went out of service.
	SubnetUp(now sim.Time, in, out []EndPort)
	// Notice: a trap arrived that was not a repetition.
	Notice(now sim.Time, n *mad.Notice)
}

// EndPort names a port that has LIDs.
type EndPort struct {
	GUID wire.GUID
	LID  wire.LID
	LMC  uint8
	Keys []uint16 // its P_Keys, to be read only
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// fill sets what was left to defaults.
func (c *Config) fill() {
	c.SMKey = or(c.SMKey, 1)
	c.Prefix = or(c.Prefix, wire.DefaultGIDPrefix)
	c.MaxSMPs = min(max(or(c.MaxSMPs, 4), 1), maxSlots)
	c.Timeout = or(c.Timeout, 200*sim.Millisecond)
	c.Retries = max(or(c.Retries, 3), 0)
	c.RetryTime = or(c.RetryTime, sim.Second)
	c.PollTime = or(c.PollTime, 10*sim.Second)
	c.PollRetries = or(c.PollRetries, 4)
	c.SubnetTimeout = or(c.SubnetTimeout, 18)
	c.PacketLife = or(c.PacketLife, 18)
	c.HOQLife = or(c.HOQLife, 18)
	c.LeafHOQLife = or(c.LeafHOQLife, 16)
	c.VLStall = or(c.VLStall, 7)
	c.MaxVLs = or(c.MaxVLs, mad.VL0to14)
	c.LMC = min(c.LMC, 7)
	c.Priority &= 15
	c.Engine = or(c.Engine, route.EngineMinHop)
	if c.Partitions == nil {
		c.Partitions = NoPartitionFile()
	}
}
