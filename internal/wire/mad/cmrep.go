package mad

import "cnuas/internal/wire"

// ConnectReplyLen is the length of a ConnectReply in bytes.
const ConnectReplyLen = 232

// ConnectReply is the REP message of the CM (IBTA vol. 1 §12.6.8).
type ConnectReply struct {
	LocalCommID         uint32
	RemoteCommID        uint32
	LocalQKey           uint32
	LocalQPN            uint32
	LocalEECN           uint32
	StartingPSN         uint32
	ResponderResources  uint8
	InitiatorDepth      uint8
	TargetAckDelay      Timeout
	FailoverAccepted    uint8
	EndToEndFlowControl bool
	RNRRetryCount       uint8
	SRQ                 bool
	LocalCAGUID         wire.GUID
	PrivateData         [196]byte
}

func (a *ConnectReply) layout(c *codec) {
	if !c.size(ConnectReplyLen) {
		return
	}
	bits(c, "LocalCommID", 0, 0, 32, &a.LocalCommID)
	bits(c, "RemoteCommID", 4, 0, 32, &a.RemoteCommID)
	bits(c, "LocalQKey", 8, 0, 32, &a.LocalQKey)
	bits(c, "LocalQPN", 12, 0, 24, &a.LocalQPN)
	bits(c, "LocalEECN", 16, 0, 24, &a.LocalEECN)
	bits(c, "StartingPSN", 20, 0, 24, &a.StartingPSN)
	bits(c, "ResponderResources", 24, 0, 8, &a.ResponderResources)
	bits(c, "InitiatorDepth", 25, 0, 8, &a.InitiatorDepth)
	bits(c, "TargetAckDelay", 26, 0, 5, &a.TargetAckDelay)
	bits(c, "FailoverAccepted", 26, 5, 2, &a.FailoverAccepted)
	bit(c, "EndToEndFlowControl", 26, 7, &a.EndToEndFlowControl)
	bits(c, "RNRRetryCount", 27, 0, 3, &a.RNRRetryCount)
	bit(c, "SRQ", 27, 3, &a.SRQ)
	bits(c, "LocalCAGUID", 28, 0, 64, &a.LocalCAGUID)
	blob(c, "PrivateData", 36, a.PrivateData[:])
}

// ReadyToUseLen is the length of a ReadyToUse in bytes.
const ReadyToUseLen = 232

// ReadyToUse is the RTU message of the CM (IBTA vol. 1 §12.6.9).
type ReadyToUse struct {
	LocalCommID  uint32
	RemoteCommID uint32
	PrivateData  [224]byte
}

func (a *ReadyToUse) layout(c *codec) {
	if !c.size(ReadyToUseLen) {
		return
	}
	bits(c, "LocalCommID", 0, 0, 32, &a.LocalCommID)
	bits(c, "RemoteCommID", 4, 0, 32, &a.RemoteCommID)
	blob(c, "PrivateData", 8, a.PrivateData[:])
}

// MessageReceiptAckLen is the length of a MessageReceiptAck in bytes.
const MessageReceiptAckLen = 232

// MessageReceiptAck is the MRA message of the CM (IBTA vol. 1 §12.6.6).
type MessageReceiptAck struct {
	LocalCommID    uint32
	RemoteCommID   uint32
	MessageMRAed   CMMessage
	ServiceTimeout Timeout
	PrivateData    [222]byte
}

func (a *MessageReceiptAck) layout(c *codec) {
	if !c.size(MessageReceiptAckLen) {
		return
	}
	bits(c, "LocalCommID", 0, 0, 32, &a.LocalCommID)
	bits(c, "RemoteCommID", 4, 0, 32, &a.RemoteCommID)
	bits(c, "MessageMRAed", 8, 0, 2, &a.MessageMRAed)
	bits(c, "ServiceTimeout", 9, 0, 5, &a.ServiceTimeout)
	blob(c, "PrivateData", 10, a.PrivateData[:])
}

// ConnectRejectLen is the length of a ConnectReject in bytes.
const ConnectRejectLen = 232

// ConnectReject is the REJ message of the CM (IBTA vol. 1 §12.6.7).
type ConnectReject struct {
	LocalCommID      uint32
	RemoteCommID     uint32
	MessageRejected  CMMessage
	RejectInfoLength uint8
	Reason           RejectReason
	ARI              [72]byte
	PrivateData      [148]byte
}

func (a *ConnectReject) layout(c *codec) {
	if !c.size(ConnectRejectLen) {
		return
	}
	bits(c, "LocalCommID", 0, 0, 32, &a.LocalCommID)
	bits(c, "RemoteCommID", 4, 0, 32, &a.RemoteCommID)
	bits(c, "MessageRejected", 8, 0, 2, &a.MessageRejected)
	bits(c, "RejectInfoLength", 9, 0, 7, &a.RejectInfoLength)
	bits(c, "Reason", 10, 0, 16, &a.Reason)
	blob(c, "ARI", 12, a.ARI[:])
	blob(c, "PrivateData", 84, a.PrivateData[:])
}
