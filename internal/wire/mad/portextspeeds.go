package mad

// PortExtendedSpeedsCountersLen is the length of a PortExtendedSpeedsCounters in bytes.
const PortExtendedSpeedsCountersLen = 140

// PortExtendedSpeedsCounters counts errors of extended speeds by lane, without
// RS-FEC (IBTA vol. 1 §16.1.4).
type PortExtendedSpeedsCounters struct {
	PortSelect                   uint8
	CounterSelect                uint64
	SyncHeaderErrorCounter       uint16
	UnknownBlockCounter          uint16
	ErrorDetectionCounterLane    [12]uint16
	FECCorrectableBlockCtrLane   [12]uint32
	FECUncorrectableBlockCtrLane [12]uint32
}

func (a *PortExtendedSpeedsCounters) layout(c *codec) {
	if !c.size(PortExtendedSpeedsCountersLen) {
		return
	}
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "CounterSelect", 8, 0, 64, &a.CounterSelect)
	bits(c, "SyncHeaderErrorCounter", 16, 0, 16, &a.SyncHeaderErrorCounter)
	bits(c, "UnknownBlockCounter", 18, 0, 16, &a.UnknownBlockCounter)
	array(c, "ErrorDetectionCounterLane", 20, 0, 16, a.ErrorDetectionCounterLane[:])
	array(c, "FECCorrectableBlockCtrLane", 44, 0, 32, a.FECCorrectableBlockCtrLane[:])
	array(c, "FECUncorrectableBlockCtrLane", 92, 0, 32, a.FECUncorrectableBlockCtrLane[:])
}

// PortExtendedSpeedsRSFECLen is the length of a PortExtendedSpeedsRSFEC in bytes.
const PortExtendedSpeedsRSFECLen = 152

// PortExtendedSpeedsRSFEC is PortExtendedSpeedsCounters of a port with RS-FEC
// (IBTA vol. 1 §16.1.4).
type PortExtendedSpeedsRSFEC struct {
	PortSelect                   uint8
	CounterSelect                uint64
	SyncHeaderErrorCounter       uint16
	UnknownBlockCounter          uint16
	FECCorrectableSymbolCtrLane  [12]uint32
	PortFECCorrectableBlockCtr   uint32
	PortFECUncorrectableBlockCtr uint32
	PortFECCorrectedSymbolCtr    uint32
}

func (a *PortExtendedSpeedsRSFEC) layout(c *codec) {
	if !c.size(PortExtendedSpeedsRSFECLen) {
		return
	}
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "CounterSelect", 8, 0, 64, &a.CounterSelect)
	bits(c, "SyncHeaderErrorCounter", 16, 0, 16, &a.SyncHeaderErrorCounter)
	bits(c, "UnknownBlockCounter", 18, 0, 16, &a.UnknownBlockCounter)
	array(c, "FECCorrectableSymbolCtrLane", 44, 0, 32, a.FECCorrectableSymbolCtrLane[:])
	bits(c, "PortFECCorrectableBlockCtr", 140, 0, 32, &a.PortFECCorrectableBlockCtr)
	bits(c, "PortFECUncorrectableBlockCtr", 144, 0, 32, &a.PortFECUncorrectableBlockCtr)
	bits(c, "PortFECCorrectedSymbolCtr", 148, 0, 32, &a.PortFECCorrectedSymbolCtr)
}
