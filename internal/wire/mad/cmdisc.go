package mad

// DisconnectRequestLen is the length of a DisconnectRequest in bytes.
const DisconnectRequestLen = 232

// DisconnectRequest is the DREQ message of the CM (IBTA vol. 1 §12.6.10).
type DisconnectRequest struct {
	LocalCommID  uint32
	RemoteCommID uint32
	RemoteQPN    uint32
	PrivateData  [220]byte
}

func (a *DisconnectRequest) layout(c *codec) {
	if !c.size(DisconnectRequestLen) {
		return
	}
	bits(c, "LocalCommID", 0, 0, 32, &a.LocalCommID)
	bits(c, "RemoteCommID", 4, 0, 32, &a.RemoteCommID)
	bits(c, "RemoteQPN", 8, 0, 24, &a.RemoteQPN)
	blob(c, "PrivateData", 12, a.PrivateData[:])
}

// DisconnectReplyLen is the length of a DisconnectReply in bytes.
const DisconnectReplyLen = 232

// DisconnectReply is the DREP message of the CM (IBTA vol. 1 §12.6.11).
type DisconnectReply struct {
	LocalCommID  uint32
	RemoteCommID uint32
	PrivateData  [224]byte
}

func (a *DisconnectReply) layout(c *codec) {
	if !c.size(DisconnectReplyLen) {
		return
	}
	bits(c, "LocalCommID", 0, 0, 32, &a.LocalCommID)
	bits(c, "RemoteCommID", 4, 0, 32, &a.RemoteCommID)
	blob(c, "PrivateData", 8, a.PrivateData[:])
}

// ServiceIDRequestLen is the length of a ServiceIDRequest in bytes.
const ServiceIDRequestLen = 232

// ServiceIDRequest is the SIDR_REQ message of the CM (IBTA vol. 1 §12.11.1).
type ServiceIDRequest struct {
	RequestID   uint32
	PKey        uint16
	ServiceID   uint64
	PrivateData [216]byte
}

func (a *ServiceIDRequest) layout(c *codec) {
	if !c.size(ServiceIDRequestLen) {
		return
	}
	bits(c, "RequestID", 0, 0, 32, &a.RequestID)
	bits(c, "PKey", 4, 0, 16, &a.PKey)
	bits(c, "ServiceID", 8, 0, 64, &a.ServiceID)
	blob(c, "PrivateData", 16, a.PrivateData[:])
}

// ServiceIDReplyLen is the length of a ServiceIDReply in bytes.
const ServiceIDReplyLen = 232

// ServiceIDReply is the SIDR_REP message of the CM (IBTA vol. 1 §12.11.2).
type ServiceIDReply struct {
	RequestID            uint32
	Status               uint8
	AdditionalInfoLength uint8
	QPN                  uint32
	ServiceID            uint64
	QKey                 uint32
	AdditionalInfo       [72]byte
	PrivateData          [136]byte
}

func (a *ServiceIDReply) layout(c *codec) {
	if !c.size(ServiceIDReplyLen) {
		return
	}
	bits(c, "RequestID", 0, 0, 32, &a.RequestID)
	bits(c, "Status", 4, 0, 8, &a.Status)
	bits(c, "AdditionalInfoLength", 5, 0, 8, &a.AdditionalInfoLength)
	bits(c, "QPN", 8, 0, 24, &a.QPN)
	bits(c, "ServiceID", 12, 0, 64, &a.ServiceID)
	bits(c, "QKey", 20, 0, 32, &a.QKey)
	blob(c, "AdditionalInfo", 24, a.AdditionalInfo[:])
	blob(c, "PrivateData", 96, a.PrivateData[:])
}
