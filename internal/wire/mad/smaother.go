package mad

// VendorDiagLen is the length of a VendorDiag in bytes.
const VendorDiagLen = 64

// VendorDiag is diagnostic data of the vendor (IBTA vol. 1 §14.2.5.14).
type VendorDiag struct {
	NextIndex uint16
	DiagData  [62]byte
}

func (a *VendorDiag) layout(c *codec) {
	if !c.size(VendorDiagLen) {
		return
	}
	bits(c, "NextIndex", 0, 0, 16, &a.NextIndex)
	blob(c, "DiagData", 2, a.DiagData[:])
}

// LedInfoLen is the length of a LedInfo in bytes.
const LedInfoLen = 4

// LedInfo switches a port's beacon (IBTA vol. 1 §14.2.5.15).
type LedInfo struct {
	LedMask bool
}

func (a *LedInfo) layout(c *codec) {
	if !c.size(LedInfoLen) {
		return
	}
	bit(c, "LedMask", 0, 0, &a.LedMask)
}

// PortInfoExtendedLen is the length of a PortInfoExtended in bytes.
const PortInfoExtendedLen = 24

// PortInfoExtended holds the FEC modes of a port, as the architecture places
// them; libibmad 44 reads the last ones elsewhere.
type PortInfoExtended struct {
	CapMask             uint32
	FECModeActive       uint16
	FDRFECModeSupported uint16
	FDRFECModeEnabled   uint16
	EDRFECModeSupported uint16
	EDRFECModeEnabled   uint16
	HDRFECModeSupported uint16
	HDRFECModeEnabled   uint16
	NDRFECModeSupported uint16
	NDRFECModeEnabled   uint16
}

func (a *PortInfoExtended) layout(c *codec) {
	if !c.size(PortInfoExtendedLen) {
		return
	}
	bits(c, "CapMask", 0, 0, 32, &a.CapMask)
	bits(c, "FECModeActive", 4, 0, 16, &a.FECModeActive)
	bits(c, "FDRFECModeSupported", 6, 0, 16, &a.FDRFECModeSupported)
	bits(c, "FDRFECModeEnabled", 8, 0, 16, &a.FDRFECModeEnabled)
	bits(c, "EDRFECModeSupported", 10, 0, 16, &a.EDRFECModeSupported)
	bits(c, "EDRFECModeEnabled", 12, 0, 16, &a.EDRFECModeEnabled)
	bits(c, "HDRFECModeSupported", 14, 0, 16, &a.HDRFECModeSupported)
	bits(c, "HDRFECModeEnabled", 16, 0, 16, &a.HDRFECModeEnabled)
	bits(c, "NDRFECModeSupported", 18, 0, 16, &a.NDRFECModeSupported)
	bits(c, "NDRFECModeEnabled", 20, 0, 16, &a.NDRFECModeEnabled)
}

// MlnxExtendedPortInfoLen is the length of a MlnxExtendedPortInfo in bytes.
const MlnxExtendedPortInfoLen = 64

// MlnxExtendedPortInfo is the vendor's attribute 0xff90, by which FDR10 is
// found.
type MlnxExtendedPortInfo struct {
	StateChangeEnable  uint8
	LinkSpeedSupported uint8
	LinkSpeedEnabled   uint8
	LinkSpeedActive    uint8
}

func (a *MlnxExtendedPortInfo) layout(c *codec) {
	if !c.size(MlnxExtendedPortInfoLen) {
		return
	}
	bits(c, "StateChangeEnable", 3, 0, 8, &a.StateChangeEnable)
	bits(c, "LinkSpeedSupported", 7, 0, 8, &a.LinkSpeedSupported)
	bits(c, "LinkSpeedEnabled", 11, 0, 8, &a.LinkSpeedEnabled)
	bits(c, "LinkSpeedActive", 15, 0, 8, &a.LinkSpeedActive)
}
