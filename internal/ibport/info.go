package ibport

import (
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// settings are what the subnet manager sets of a port (IBTA vol. 1 §14.2.5.6),
// and the counts that PortInfo holds.
type settings struct {
	mkey        uint64
	mkeyProtect uint8
	mkeyLease   uint16 // seconds
	prefix      uint64
	lid, smLID  wire.LID
	lmc, smSL   uint8

	widths      mad.LinkWidth // enabled
	speeds      mad.LinkSpeed
	exts        mad.LinkSpeedExt
	downDefault mad.PhysState

	mtu        mad.MTU // NeighborMTU
	operVLs    mad.VLs
	stallCount uint8
	hoqLife    mad.Timeout
	lifetime   mad.Timeout // of the switch
	pkeyIn     bool
	pkeyOut    bool
	filterIn   bool
	filterOut  bool
	subnetTime mad.Timeout
	mcastPKey  uint8
	reregister bool
	phyErrors  uint8
	overruns   uint8
	capMask    mad.CapMask
	capMask2   mad.CapMask2
	maxCredits uint16
	initReply  uint8

	mkeyViolations, pkeyViolations, qkeyViolations uint16
}

// respTime is RespTimeValue: 4.096 us x 2^n within which an agent answers.
const respTime = 8

func (p *Port) initSettings() {
	c := &p.cfg
	p.set = settings{
		prefix: wire.DefaultGIDPrefix,
		widths: c.Widths, speeds: c.Speeds, exts: c.SpeedsExt, downDefault: mad.PhysPolling,
		hoqLife: mad.TimeoutInfinite, lifetime: mad.TimeoutInfinite, subnetTime: 18,
		phyErrors: 8, overruns: 8, capMask: c.CapMask, capMask2: c.CapMask2,
	}
	if c.SpeedsExt != 0 {
		p.set.capMask |= mad.CapExtendedSpeeds
	}
	p.pkeys = make([]uint16, c.PKeys)
	p.pkeys[0] = wire.DefaultPKey
	p.guids = make([]wire.GUID, c.GUIDs)
	p.guids[0] = c.GUID
	p.setMTU(c.MTU)
	p.setVLs(c.VLs)
}

func (p *Port) setMTU(m mad.MTU) {
	p.set.mtu = m
	p.maxLen = int32(m.Bytes() + headerRoom + wire.VCRCLen)
	// Both ends count with the same packet even if their MTUs differ for a while.
	p.mtuCost = uint16(wire.FlowBlocks(p.cfg.MTU.Bytes() + headerRoom + wire.VCRCLen))
}

func (p *Port) setVLs(v mad.VLs) {
	p.set.operVLs, p.vls = v, uint8(v.Count())
	if p.ownSL2VL {
		p.defaultSL2VL()
	}
}

// Info returns PortInfo as a Get answers it; the M_Key is in it.
func (p *Port) Info() mad.PortInfo {
	c, s := &p.cfg, &p.set
	a := mad.PortInfo{
		MKey: s.mkey, GIDPrefix: s.prefix, LID: s.lid, MasterSMLID: s.smLID, CapabilityMask: s.capMask,
		MKeyLeasePeriod: s.mkeyLease, LocalPortNum: c.Num,
		LinkWidthEnabled: s.widths, LinkWidthSupported: c.Widths, LinkWidthActive: p.phys.width,
		LinkSpeedSupported: c.Speeds, LinkSpeedEnabled: s.speeds, LinkSpeedActive: p.phys.speed,
		LinkSpeedExtSupported: c.SpeedsExt, LinkSpeedExtEnabled: s.exts, LinkSpeedExtActive: p.phys.ext,
		PortState: p.state, PortPhysicalState: p.phys.state, LinkDownDefaultState: s.downDefault,
		MKeyProtectBits: s.mkeyProtect, LMC: s.lmc, NeighborMTU: s.mtu, MTUCap: c.MTU, MasterSMSL: s.smSL,
		VLCap: c.VLs, OperationalVLs: s.operVLs, VLHighLimit: p.arb.limit, InitTypeReply: s.initReply,
		VLArbitrationHighCap: uint8(c.VLArbHigh), VLArbitrationLowCap: uint8(c.VLArbLow),
		VLStallCount: s.stallCount, HOQLife: min(s.hoqLife, 31),
		PartitionEnforcementInbound: s.pkeyIn, PartitionEnforcementOutbound: s.pkeyOut,
		FilterRawInbound: s.filterIn, FilterRawOutbound: s.filterOut,
		MKeyViolations: s.mkeyViolations, PKeyViolations: s.pkeyViolations, QKeyViolations: s.qkeyViolations,
		GUIDCap: uint8(c.GUIDs), McastPKeyTrapSuppression: s.mcastPKey, ClientReregister: s.reregister,
		SubnetTimeOut: s.subnetTime, RespTimeValue: respTime, LocalPhyErrors: s.phyErrors, OverrunErrors: s.overruns,
		MaxCreditHint: s.maxCredits, CapabilityMask2: s.capMask2,
	}
	if p.link == nil || p.phys.width == 0 { // what it could be, as real ports say
		a.LinkWidthActive, a.LinkSpeedActive, a.LinkSpeedExtActive = negotiate(s.widths, s.speeds, s.exts)
	}
	return a
}

// LID is the base LID, 0 before the subnet manager has set one.
func (p *Port) LID() wire.LID { return p.set.lid }

// LMC: the port has 2^LMC LIDs from LID on.
func (p *Port) LMC() uint8 { return p.set.lmc }

// HasLID tells whether l is one of the port's.
func (p *Port) HasLID(l wire.LID) bool {
	return p.set.lid != 0 && l&^(1<<p.set.lmc-1) == p.set.lid
}

// SMLID is where the master subnet manager is, SMSL the service level to it.
func (p *Port) SMLID() (lid wire.LID, sl uint8) { return p.set.smLID, p.set.smSL }

// Prefix is the subnet prefix of the port's GIDs.
func (p *Port) Prefix() uint64 { return p.set.prefix }

// SubnetTimeout is how long a packet may take through the subnet.
func (p *Port) SubnetTimeout() mad.Timeout { return p.set.subnetTime }

// MTU is NeighborMTU.
func (p *Port) MTU() mad.MTU { return p.set.mtu }

// VLs is the number of data lanes in use.
func (p *Port) VLs() int { return int(p.vls) }

// CapMask is CapabilityMask, with IsSM while a subnet manager runs here.
func (p *Port) CapMask() mad.CapMask { return p.set.capMask }

// SetCapMask changes bits of CapabilityMask: those in mask become those in v.
// It reports whether one changed, which trap 144 is to tell.
func (p *Port) SetCapMask(mask, v mad.CapMask) bool {
	old := p.set.capMask
	p.set.capMask = old&^mask | v&mask
	return p.set.capMask != old
}

// MKey is the management key, how it protects, and its lease in seconds, 0 for
// ever (IBTA vol. 1 §14.2.4).
func (p *Port) MKey() (key uint64, protect uint8, lease uint16) {
	return p.set.mkey, p.set.mkeyProtect, p.set.mkeyLease
}

// MKeyViolation counts an SMP with a wrong M_Key.
func (p *Port) MKeyViolation() { saturate(&p.set.mkeyViolations) }

// MKeyExpired ends the protection when the lease has run out.
func (p *Port) MKeyExpired() { p.set.mkeyProtect = 0 }
