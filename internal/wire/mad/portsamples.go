package mad

// PortSamplesControlLen is the length of a PortSamplesControl in bytes.
const PortSamplesControlLen = 80

// PortSamplesControl sets up sampling (IBTA vol. 1 §16.1.3.2).
type PortSamplesControl struct {
	OpCode                uint8
	PortSelect            uint8
	Tick                  uint8
	CounterWidth          uint8
	CounterMask0          uint8
	CounterMasks1to9      uint32
	CounterMasks10to14    uint16
	SampleMechanisms      uint8
	SampleStatus          uint8
	OptionMask            uint64
	VendorMask            uint64
	SampleStart           uint32
	SampleInterval        uint32
	Tag                   uint16
	CounterSelect         [15]uint16
	SamplesOnlyOptionMask uint64
}

func (a *PortSamplesControl) layout(c *codec) {
	if !c.size(PortSamplesControlLen) {
		return
	}
	bits(c, "OpCode", 0, 0, 8, &a.OpCode)
	bits(c, "PortSelect", 1, 0, 8, &a.PortSelect)
	bits(c, "Tick", 2, 0, 8, &a.Tick)
	bits(c, "CounterWidth", 3, 5, 3, &a.CounterWidth)
	bits(c, "CounterMask0", 4, 2, 3, &a.CounterMask0)
	bits(c, "CounterMasks1to9", 4, 5, 27, &a.CounterMasks1to9)
	bits(c, "CounterMasks10to14", 8, 1, 15, &a.CounterMasks10to14)
	bits(c, "SampleMechanisms", 10, 0, 8, &a.SampleMechanisms)
	bits(c, "SampleStatus", 11, 6, 2, &a.SampleStatus)
	bits(c, "OptionMask", 12, 0, 64, &a.OptionMask)
	bits(c, "VendorMask", 20, 0, 64, &a.VendorMask)
	bits(c, "SampleStart", 28, 0, 32, &a.SampleStart)
	bits(c, "SampleInterval", 32, 0, 32, &a.SampleInterval)
	bits(c, "Tag", 36, 0, 16, &a.Tag)
	array(c, "CounterSelect", 38, 0, 16, a.CounterSelect[:])
	bits(c, "SamplesOnlyOptionMask", 72, 0, 64, &a.SamplesOnlyOptionMask)
}

// PortSamplesResultLen is the length of a PortSamplesResult in bytes.
const PortSamplesResultLen = 64

// PortSamplesResult holds what was sampled (IBTA vol. 1 §16.1.3.4).
type PortSamplesResult struct {
	Tag          uint16
	SampleStatus uint8
	Counter      [15]uint32
}

func (a *PortSamplesResult) layout(c *codec) {
	if !c.size(PortSamplesResultLen) {
		return
	}
	bits(c, "Tag", 0, 0, 16, &a.Tag)
	bits(c, "SampleStatus", 3, 6, 2, &a.SampleStatus)
	array(c, "Counter", 4, 0, 32, a.Counter[:])
}
