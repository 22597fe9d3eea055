package mad

import "fmt"

// Class is a management class (IBTA vol. 1 §13.4.4).
type Class uint8

// Management classes (IBTA vol. 1 §13.4.4, annex A10 for congestion control).
const (
	ClassSubnLID      Class = 0x01 // subnet management, LID routed
	ClassSubnDirected Class = 0x81 // subnet management, directed route
	ClassSubnAdm      Class = 0x03 // subnet administration
	ClassPerf         Class = 0x04 // performance management
	ClassBoard        Class = 0x05 // baseboard management
	ClassDevice       Class = 0x06 // device management
	ClassComm         Class = 0x07 // communication management
	ClassSNMP         Class = 0x08 // SNMP tunnelling
	ClassVendor1Min   Class = 0x09 // vendor specific without OUI
	ClassVendor1Max   Class = 0x0f
	ClassMellanox     Class = 0x0a // what vendstat asks
	ClassDevAdm       Class = 0x10
	ClassBootMgt      Class = 0x11
	ClassBIS          Class = 0x12
	ClassCongestion   Class = 0x21 // congestion control, annex A10
	ClassVendor2Min   Class = 0x30 // vendor specific with OUI and RMPP
	ClassVendor2Max   Class = 0x4f
	ClassPing         Class = 0x32 // OpenIB ping (ibping)
	ClassSysStat      Class = 0x33 // OpenIB system statistics (ibsysstat)
)

// BaseVersion of every MAD (IBTA vol. 1 §13.4.3).
const BaseVersion = 1

// OUIOpenIB is the OUI in MADs of ibping and ibsysstat.
const OUIOpenIB = 0x001405

// Version is the ClassVersion in use: 2 for SA, CM and congestion control, else
// 1 (IBTA vol. 1 §15.2.1, §12.6.1, annex A10.4).
func (c Class) Version() uint8 {
	switch c {
	case ClassSubnAdm, ClassComm, ClassCongestion:
		return 2
	}
	return 1
}

// Subn tells whether the class is subnet management: SMPs, QP0, VL15.
func (c Class) Subn() bool { return c&0x7f == ClassSubnLID }

// HasOUI tells whether MADs of the class name a vendor by OUI behind an RMPP
// header (IBTA vol. 1 §16.5.1).
func (c Class) HasOUI() bool { return c >= ClassVendor2Min && c <= ClassVendor2Max }

// HasRMPP tells whether MADs of the class have an RMPP header (IBTA vol. 1
// §13.6.1).
func (c Class) HasRMPP() bool {
	return c == ClassSubnAdm || c == ClassDevAdm || c == ClassBIS || c.HasOUI()
}

var classNames = map[Class]string{
	ClassSubnLID: "Subn", ClassSubnDirected: "SubnDR", ClassSubnAdm: "SubnAdm", ClassPerf: "Perf", ClassBoard: "BM",
	ClassDevice: "DevMgt", ClassComm: "ComMgt", ClassSNMP: "SNMP", ClassMellanox: "Vendor0a", ClassDevAdm: "DevAdm",
	ClassBootMgt: "BootMgt", ClassBIS: "BIS", ClassCongestion: "CC", ClassPing: "Ping", ClassSysStat: "SysStat",
}

// String names the class as a prefix of its methods.
func (c Class) String() string {
	if s := classNames[c]; s != "" {
		return s
	}
	if c.HasOUI() || c >= ClassVendor1Min && c <= ClassVendor1Max {
		return fmt.Sprintf("Vendor%02x", uint8(c))
	}
	return fmt.Sprintf("class %#02x", uint8(c))
}
