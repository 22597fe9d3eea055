package mad

import "cnuas/internal/wire"

// LoadAlternatePathLen is the length of a LoadAlternatePath in bytes.
const LoadAlternatePathLen = 232

// LoadAlternatePath is the LAP message of the CM (IBTA vol. 1 §12.8.1).
type LoadAlternatePath struct {
	LocalCommID              uint32
	RemoteCommID             uint32
	RemoteQPN                uint32
	RemoteCMResponseTimeout  Timeout
	AlternateLocalLID        wire.LID
	AlternateRemoteLID       wire.LID
	AlternateLocalGID        wire.GID
	AlternateRemoteGID       wire.GID
	AlternateFlowLabel       uint32
	AlternateTrafficClass    uint8
	AlternateHopLimit        uint8
	AlternatePacketRate      Rate
	AlternateSL              uint8
	AlternateSubnetLocal     bool
	AlternateLocalAckTimeout Timeout
	PrivateData              [168]byte
}

func (a *LoadAlternatePath) layout(c *codec) {
	if !c.size(LoadAlternatePathLen) {
		return
	}
	bits(c, "LocalCommID", 0, 0, 32, &a.LocalCommID)
	bits(c, "RemoteCommID", 4, 0, 32, &a.RemoteCommID)
	bits(c, "RemoteQPN", 12, 0, 24, &a.RemoteQPN)
	bits(c, "RemoteCMResponseTimeout", 15, 0, 5, &a.RemoteCMResponseTimeout)
	bits(c, "AlternateLocalLID", 20, 0, 16, &a.AlternateLocalLID)
	bits(c, "AlternateRemoteLID", 22, 0, 16, &a.AlternateRemoteLID)
	gid(c, "AlternateLocalGID", 24, &a.AlternateLocalGID)
	gid(c, "AlternateRemoteGID", 40, &a.AlternateRemoteGID)
	bits(c, "AlternateFlowLabel", 56, 0, 20, &a.AlternateFlowLabel)
	bits(c, "AlternateTrafficClass", 59, 0, 8, &a.AlternateTrafficClass)
	bits(c, "AlternateHopLimit", 60, 0, 8, &a.AlternateHopLimit)
	bits(c, "AlternatePacketRate", 61, 2, 6, &a.AlternatePacketRate)
	bits(c, "AlternateSL", 62, 0, 4, &a.AlternateSL)
	bit(c, "AlternateSubnetLocal", 62, 4, &a.AlternateSubnetLocal)
	bits(c, "AlternateLocalAckTimeout", 63, 0, 5, &a.AlternateLocalAckTimeout)
	blob(c, "PrivateData", 64, a.PrivateData[:])
}

// AlternatePathResponseLen is the length of an AlternatePathResponse in bytes.
const AlternatePathResponseLen = 232

// AlternatePathResponse is the APR message of the CM (IBTA vol. 1 §12.8.2).
type AlternatePathResponse struct {
	LocalCommID          uint32
	RemoteCommID         uint32
	AdditionalInfoLength uint8
	APStatus             uint8
	AdditionalInfo       [72]byte
	PrivateData          [148]byte
}

func (a *AlternatePathResponse) layout(c *codec) {
	if !c.size(AlternatePathResponseLen) {
		return
	}
	bits(c, "LocalCommID", 0, 0, 32, &a.LocalCommID)
	bits(c, "RemoteCommID", 4, 0, 32, &a.RemoteCommID)
	bits(c, "AdditionalInfoLength", 8, 0, 8, &a.AdditionalInfoLength)
	bits(c, "APStatus", 9, 0, 8, &a.APStatus)
	blob(c, "AdditionalInfo", 12, a.AdditionalInfo[:])
	blob(c, "PrivateData", 84, a.PrivateData[:])
}
