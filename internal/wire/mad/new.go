package mad

// New returns an empty attribute for what a MAD of the class carries in Data,
// nil if this package does not know it. A PortExtendedSpeedsCounters and a
// CongestionLog have two forms: New returns those without RS-FEC and of a CA.
func New(c Class, id AttrID) Attribute {
	if c == ClassSubnDirected {
		c = ClassSubnLID
	}
	if f := makers[c][id]; f != nil {
		return f()
	}
	if f := makers[0][id]; f != nil && c != ClassComm {
		return f()
	}
	return nil
}

func make1[T any, P interface {
	*T
	Attribute
}]() Attribute {
	return P(new(T))
}

var makers = map[Class]map[AttrID]func() Attribute{
	0: {AttrClassPortInfo: make1[ClassPortInfo], AttrNotice: make1[Notice], AttrInformInfo: make1[InformInfo]},
	ClassSubnLID: {
		AttrNodeDescription: make1[NodeDescription], AttrNodeInfo: make1[NodeInfo], AttrSwitchInfo: make1[SwitchInfo],
		AttrGUIDInfo: make1[GUIDInfo], AttrPortInfo: make1[PortInfo], AttrPKeyTable: make1[PKeyTable], AttrSLtoVL: make1[SLtoVL],
		AttrVLArbitration: make1[VLArbitration], AttrLinearForwarding: make1[LinearForwarding],
		AttrMulticastForwarding: make1[MulticastForwarding], AttrSMInfo: make1[SMInfo], AttrVendorDiag: make1[VendorDiag],
		AttrLedInfo: make1[LedInfo], AttrPortInfoExtended: make1[PortInfoExtended], AttrMlnxExtendedPortInfo: make1[MlnxExtendedPortInfo],
	},
	ClassPerf: {
		AttrPortSamplesControl: make1[PortSamplesControl], AttrPortSamplesResult: make1[PortSamplesResult],
		AttrPortCounters: make1[PortCounters], AttrPortRcvErrorDetails: make1[PortRcvErrorDetails],
		AttrPortXmitDiscardDetails: make1[PortXmitDiscardDetails], AttrPortOpRcvCounters: make1[PortOpRcvCounters],
		AttrPortFlowCtlCounters: make1[PortFlowCtlCounters], AttrPortVLOpPackets: make1[PortVLOpPackets],
		AttrPortVLOpData: make1[PortVLOpData], AttrPortVLXmitFlowCtlUpdateErrors: make1[PortVLXmitFlowCtlUpdateErrors],
		AttrPortVLXmitWaitCounters: make1[PortVLXmitWaitCounters], AttrPortCountersExtended: make1[PortCountersExtended],
		AttrPortExtendedSpeedsCounters: make1[PortExtendedSpeedsCounters], AttrSwPortVLCongestion: make1[SwPortVLCongestion],
		AttrPortRcvConCtrl: make1[PortRcvConCtrl], AttrPortSLRcvFECN: make1[PortSLRcvFECN], AttrPortSLRcvBECN: make1[PortSLRcvBECN],
		AttrPortXmitConCtrl: make1[PortXmitConCtrl], AttrPortVLXmitTimeCong: make1[PortVLXmitTimeCong],
		AttrPortXmitDataSL: make1[PortXmitDataSL], AttrPortRcvDataSL: make1[PortRcvDataSL],
	},
	ClassSubnAdm: {
		AttrNodeRecord: make1[NodeRecord], AttrPortInfoRecord: make1[PortInfoRecord], AttrSLtoVLRecord: make1[SLtoVLRecord],
		AttrSwitchInfoRecord: make1[SwitchInfoRecord], AttrLinearForwardingRecord: make1[LinearForwardingRecord],
		AttrMulticastForwardingRecord: make1[MulticastForwardingRecord], AttrSMInfoRecord: make1[SMInfoRecord],
		AttrLinkRecord: make1[LinkRecord], AttrGUIDInfoRecord: make1[GUIDInfoRecord], AttrServiceRecord: make1[ServiceRecord],
		AttrPKeyTableRecord: make1[PKeyTableRecord], AttrPathRecord: make1[PathRecord], AttrVLArbitrationRecord: make1[VLArbitrationRecord],
		AttrMCMemberRecord: make1[MCMemberRecord], AttrMultiPathRecord: make1[MultiPathRecord],
		AttrInformInfoRecord: make1[InformInfoRecord], AttrNoticeRecord: make1[NoticeRecord], AttrNotice: make1[NoticeRecord],
	},
	ClassComm: {
		AttrClassPortInfo:  make1[ClassPortInfo],
		AttrConnectRequest: make1[ConnectRequest], AttrMessageReceiptAck: make1[MessageReceiptAck], AttrConnectReject: make1[ConnectReject],
		AttrConnectReply: make1[ConnectReply], AttrReadyToUse: make1[ReadyToUse], AttrDisconnectRequest: make1[DisconnectRequest],
		AttrDisconnectReply: make1[DisconnectReply], AttrServiceIDRequest: make1[ServiceIDRequest], AttrServiceIDReply: make1[ServiceIDReply],
		AttrLoadAlternatePath: make1[LoadAlternatePath], AttrAlternatePathResponse: make1[AlternatePathResponse],
	},
	ClassCongestion: {
		AttrCongestionInfo: make1[CongestionInfo], AttrCongestionKeyInfo: make1[CongestionKeyInfo],
		AttrSwitchCongestionSetting: make1[SwitchCongestionSetting], AttrSwitchPortCongestionSetting: make1[SwitchPortCongestionSetting],
		AttrCACongestionSetting: make1[CACongestionSetting], AttrCongestionControlTable: make1[CongestionControlTable],
		AttrTimestamp: make1[CongestionTimestamp], AttrCongestionLog: make1[CongestionLogCA],
	},
}

// NewTrapData returns an empty attribute for the DataDetails of a trap, nil for
// one that is not known.
func NewTrapData(t Trap) Attribute {
	switch t {
	case TrapGIDInService, TrapGIDOutOfService, TrapGroupCreated, TrapGroupDeleted:
		return new(TrapGIDData)
	case TrapLinkState:
		return new(TrapLinkStateData)
	case TrapLinkIntegrity, TrapBufferOverrun, TrapFlowControlTimeout:
		return new(TrapPortData)
	case TrapCapabilityChange:
		return new(TrapChangeData)
	case TrapSystemImageGUID:
		return new(TrapSystemImageData)
	case TrapBadMKey:
		return new(TrapMKeyData)
	case TrapBadPKey, TrapBadQKey:
		return new(TrapKeyData)
	case TrapBadPKeySwitch:
		return new(TrapSwitchPKeyData)
	}
	return nil
}
