package mad

import "cnuas/internal/wire"

// ConnectRequestLen is the length of a ConnectRequest in bytes.
const ConnectRequestLen = 232

// ConnectRequest is the REQ message of the CM (IBTA vol. 1 §12.6.5).
type ConnectRequest struct {
	LocalCommID              uint32
	ServiceID                uint64
	LocalCAGUID              wire.GUID
	LocalQKey                uint32
	LocalQPN                 uint32
	ResponderResources       uint8
	LocalEECN                uint32
	InitiatorDepth           uint8
	RemoteEECN               uint32
	RemoteCMResponseTimeout  Timeout
	TransportServiceType     uint8 // 0 RC, 1 UC, 2 RD, 3 see the extended type
	EndToEndFlowControl      bool
	StartingPSN              uint32
	LocalCMResponseTimeout   Timeout
	RetryCount               uint8
	PKey                     uint16
	PathMTU                  MTU
	RDCExists                bool
	RNRRetryCount            uint8
	MaxCMRetries             uint8
	SRQ                      bool
	ExtendedTransportType    uint8
	PrimaryLocalLID          wire.LID
	PrimaryRemoteLID         wire.LID
	PrimaryLocalGID          wire.GID
	PrimaryRemoteGID         wire.GID
	PrimaryFlowLabel         uint32
	PrimaryPacketRate        Rate
	PrimaryTrafficClass      uint8
	PrimaryHopLimit          uint8
	PrimarySL                uint8
	PrimarySubnetLocal       bool
	PrimaryLocalAckTimeout   Timeout
	AlternateLocalLID        wire.LID
	AlternateRemoteLID       wire.LID
	AlternateLocalGID        wire.GID
	AlternateRemoteGID       wire.GID
	AlternateFlowLabel       uint32
	AlternatePacketRate      Rate
	AlternateTrafficClass    uint8
	AlternateHopLimit        uint8
	AlternateSL              uint8
	AlternateSubnetLocal     bool
	AlternateLocalAckTimeout Timeout
	PrivateData              [92]byte
}

func (a *ConnectRequest) layout(c *codec) {
	if !c.size(ConnectRequestLen) {
		return
	}
	bits(c, "LocalCommID", 0, 0, 32, &a.LocalCommID)
	bits(c, "ServiceID", 8, 0, 64, &a.ServiceID)
	bits(c, "LocalCAGUID", 16, 0, 64, &a.LocalCAGUID)
	bits(c, "LocalQKey", 28, 0, 32, &a.LocalQKey)
	bits(c, "LocalQPN", 32, 0, 24, &a.LocalQPN)
	bits(c, "ResponderResources", 35, 0, 8, &a.ResponderResources)
	bits(c, "LocalEECN", 36, 0, 24, &a.LocalEECN)
	bits(c, "InitiatorDepth", 39, 0, 8, &a.InitiatorDepth)
	bits(c, "RemoteEECN", 40, 0, 24, &a.RemoteEECN)
	bits(c, "RemoteCMResponseTimeout", 43, 0, 5, &a.RemoteCMResponseTimeout)
	bits(c, "TransportServiceType", 43, 5, 2, &a.TransportServiceType)
	bit(c, "EndToEndFlowControl", 43, 7, &a.EndToEndFlowControl)
	bits(c, "StartingPSN", 44, 0, 24, &a.StartingPSN)
	bits(c, "LocalCMResponseTimeout", 47, 0, 5, &a.LocalCMResponseTimeout)
	bits(c, "RetryCount", 47, 5, 3, &a.RetryCount)
	bits(c, "PKey", 48, 0, 16, &a.PKey)
	bits(c, "PathMTU", 50, 0, 4, &a.PathMTU)
	bit(c, "RDCExists", 50, 4, &a.RDCExists)
	bits(c, "RNRRetryCount", 50, 5, 3, &a.RNRRetryCount)
	bits(c, "MaxCMRetries", 51, 0, 4, &a.MaxCMRetries)
	bit(c, "SRQ", 51, 4, &a.SRQ)
	bits(c, "ExtendedTransportType", 51, 5, 3, &a.ExtendedTransportType)
	bits(c, "PrimaryLocalLID", 52, 0, 16, &a.PrimaryLocalLID)
	bits(c, "PrimaryRemoteLID", 54, 0, 16, &a.PrimaryRemoteLID)
	gid(c, "PrimaryLocalGID", 56, &a.PrimaryLocalGID)
	gid(c, "PrimaryRemoteGID", 72, &a.PrimaryRemoteGID)
	bits(c, "PrimaryFlowLabel", 88, 0, 20, &a.PrimaryFlowLabel)
	bits(c, "PrimaryPacketRate", 91, 2, 6, &a.PrimaryPacketRate)
	bits(c, "PrimaryTrafficClass", 92, 0, 8, &a.PrimaryTrafficClass)
	bits(c, "PrimaryHopLimit", 93, 0, 8, &a.PrimaryHopLimit)
	bits(c, "PrimarySL", 94, 0, 4, &a.PrimarySL)
	bit(c, "PrimarySubnetLocal", 94, 4, &a.PrimarySubnetLocal)
	bits(c, "PrimaryLocalAckTimeout", 95, 0, 5, &a.PrimaryLocalAckTimeout)
	bits(c, "AlternateLocalLID", 96, 0, 16, &a.AlternateLocalLID)
	bits(c, "AlternateRemoteLID", 98, 0, 16, &a.AlternateRemoteLID)
	gid(c, "AlternateLocalGID", 100, &a.AlternateLocalGID)
	gid(c, "AlternateRemoteGID", 116, &a.AlternateRemoteGID)
	bits(c, "AlternateFlowLabel", 132, 0, 20, &a.AlternateFlowLabel)
	bits(c, "AlternatePacketRate", 135, 2, 6, &a.AlternatePacketRate)
	bits(c, "AlternateTrafficClass", 136, 0, 8, &a.AlternateTrafficClass)
	bits(c, "AlternateHopLimit", 137, 0, 8, &a.AlternateHopLimit)
	bits(c, "AlternateSL", 138, 0, 4, &a.AlternateSL)
	bit(c, "AlternateSubnetLocal", 138, 4, &a.AlternateSubnetLocal)
	bits(c, "AlternateLocalAckTimeout", 139, 0, 5, &a.AlternateLocalAckTimeout)
	blob(c, "PrivateData", 140, a.PrivateData[:])
}
