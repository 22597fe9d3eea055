package mad

import "strings"

// CapMask is the CapabilityMask of PortInfo (IBTA vol. 1 §14.2.5.6).
type CapMask uint32

// Bits of CapabilityMask.
const (
	CapIsSM                  CapMask = 1 << 1
	CapNotice                CapMask = 1 << 2
	CapTrap                  CapMask = 1 << 3
	CapOptionalIPD           CapMask = 1 << 4
	CapAutoMigration         CapMask = 1 << 5
	CapSLMapping             CapMask = 1 << 6
	CapMKeyNV                CapMask = 1 << 7
	CapPKeyNV                CapMask = 1 << 8
	CapLedInfo               CapMask = 1 << 9
	CapSMDisabled            CapMask = 1 << 10
	CapSystemImageGUID       CapMask = 1 << 11
	CapPKeySwitchTrap        CapMask = 1 << 12
	CapCableInfo             CapMask = 1 << 13
	CapExtendedSpeeds        CapMask = 1 << 14
	CapCapMask2              CapMask = 1 << 15
	CapCommMgt               CapMask = 1 << 16
	CapSNMPTunneling         CapMask = 1 << 17
	CapReinit                CapMask = 1 << 18
	CapDeviceMgt             CapMask = 1 << 19
	CapVendorClass           CapMask = 1 << 20
	CapDRNotice              CapMask = 1 << 21
	CapCapMaskNotice         CapMask = 1 << 22
	CapBootMgt               CapMask = 1 << 23
	CapLinkRoundTrip         CapMask = 1 << 24
	CapClientReregistration  CapMask = 1 << 25
	CapOtherLocalChanges     CapMask = 1 << 26
	CapLinkSpeedWidthPairs   CapMask = 1 << 27
	CapVendorSpecificMads    CapMask = 1 << 28
	CapMcastPKeyTrapSuppress CapMask = 1 << 29
	CapMulticastFDBTop       CapMask = 1 << 30
	CapHierarchyInfo         CapMask = 1 << 31
)

var capNames = [32]string{1: "IsSM", 2: "Notice", 3: "Trap", 4: "OptionalIPD", 5: "AutoMigration", 6: "SLMapping", 7: "MKeyNV",
	8: "PKeyNV", 9: "LedInfo", 10: "SMDisabled", 11: "SystemImageGUID", 12: "PKeySwitchTrap", 13: "CableInfo",
	14: "ExtendedSpeeds", 15: "CapMask2", 16: "CommMgt", 17: "SNMPTunneling", 18: "Reinit", 19: "DeviceMgt",
	20: "VendorClass", 21: "DRNotice", 22: "CapMaskNotice", 23: "BootMgt", 24: "LinkRoundTrip",
	25: "ClientReregistration", 26: "OtherLocalChanges", 27: "LinkSpeedWidthPairs", 28: "VendorSpecificMads",
	29: "McastPKeyTrapSuppression", 30: "MulticastFDBTop", 31: "HierarchyInfo"}

// String lists the bits.
func (m CapMask) String() string { return bitNames(uint32(m), capNames[:]) }

// CapMask2 is the CapabilityMask2 of PortInfo (IBTA vol. 1 §14.2.5.6).
type CapMask2 uint16

// Bits of CapabilityMask2.
const (
	Cap2SetNodeDescription CapMask2 = 1 << 0
	Cap2PortInfoExtended   CapMask2 = 1 << 1
	Cap2Virtualization     CapMask2 = 1 << 2
	Cap2SwitchPortState    CapMask2 = 1 << 3
	Cap2Width2X            CapMask2 = 1 << 4
	Cap2SpeedHDR           CapMask2 = 1 << 5
	Cap2SpeedNDR           CapMask2 = 1 << 10
)

// String lists the bits.
func (m CapMask2) String() string {
	return bitNames(uint32(m), []string{0: "SetNodeDescription", 1: "PortInfoExtended", 2: "Virtualization",
		3: "SwitchPortState", 4: "Width2X", 5: "SpeedHDR", 10: "SpeedNDR"})
}

// Bits of the CapabilityMask of a ClassPortInfo that every class has (IBTA
// vol. 1 §13.4.8.1), and of that of performance management (§16.1.3.1).
const (
	ClassCapTrap               uint16 = 1 << 0
	ClassCapNotice             uint16 = 1 << 1
	PerfCapAllPortSelect       uint16 = 1 << 8
	PerfCapExtendedWidth       uint16 = 1 << 9 // PortCountersExtended
	PerfCapExtendedWidthNoIETF uint16 = 1 << 10
	PerfCapSamplesOnly         uint16 = 1 << 11
	PerfCapXmitWait            uint16 = 1 << 12
	PerfCapMcastPKeyInhibit    uint16 = 1 << 13
	PerfCapRSFEC               uint16 = 1 << 14
	PerfCapQP1Dropped          uint16 = 1 << 15
)

// Bits of the CapabilityMask of the ClassPortInfo of subnet administration
// (IBTA vol. 1 §15.2.5.1).
const (
	SACapOptionalRecords  uint16 = 1 << 8
	SACapUDMulticast      uint16 = 1 << 9
	SACapMultiPath        uint16 = 1 << 10
	SACapReinit           uint16 = 1 << 12
	SACapPortInfoCapMatch uint16 = 1 << 13
)

func bitNames(v uint32, names []string) string {
	var l []string
	for i := range 32 {
		if v&(1<<i) == 0 {
			continue
		}
		if i < len(names) && names[i] != "" {
			l = append(l, names[i])
		} else {
			l = append(l, "bit"+string(rune('0'+i/10))+string(rune('0'+i%10)))
		}
	}
	return strings.Join(l, "|")
}
