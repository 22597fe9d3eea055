package mad

import "fmt"

// AttrID is the AttributeID of a MAD. The same number means different things
// in different classes: see AttrName.
type AttrID uint16

// Attributes that classes share (IBTA vol. 1 §13.4.8).
const (
	AttrClassPortInfo AttrID = 0x0001
	AttrNotice        AttrID = 0x0002
	AttrInformInfo    AttrID = 0x0003
)

// Attributes of subnet management (IBTA vol. 1 §14.2.5).
const (
	AttrNodeDescription      AttrID = 0x0010
	AttrNodeInfo             AttrID = 0x0011
	AttrSwitchInfo           AttrID = 0x0012
	AttrGUIDInfo             AttrID = 0x0014
	AttrPortInfo             AttrID = 0x0015
	AttrPKeyTable            AttrID = 0x0016
	AttrSLtoVL               AttrID = 0x0017
	AttrVLArbitration        AttrID = 0x0018
	AttrLinearForwarding     AttrID = 0x0019
	AttrRandomForwarding     AttrID = 0x001a
	AttrMulticastForwarding  AttrID = 0x001b
	AttrLinkSpeedWidthPairs  AttrID = 0x001c
	AttrVendorSpecificMads   AttrID = 0x001d
	AttrHierarchyInfo        AttrID = 0x001e
	AttrSMInfo               AttrID = 0x0020
	AttrVendorDiag           AttrID = 0x0030
	AttrLedInfo              AttrID = 0x0031
	AttrPortInfoExtended     AttrID = 0x0033
	AttrMlnxExtendedPortInfo AttrID = 0xff90
)

// Attributes of performance management (IBTA vol. 1 §16.1.3, §16.1.4, annex
// A10.5).
const (
	AttrPortSamplesControl            AttrID = 0x0010
	AttrPortSamplesResult             AttrID = 0x0011
	AttrPortCounters                  AttrID = 0x0012
	AttrPortRcvErrorDetails           AttrID = 0x0015
	AttrPortXmitDiscardDetails        AttrID = 0x0016
	AttrPortOpRcvCounters             AttrID = 0x0017
	AttrPortFlowCtlCounters           AttrID = 0x0018
	AttrPortVLOpPackets               AttrID = 0x0019
	AttrPortVLOpData                  AttrID = 0x001a
	AttrPortVLXmitFlowCtlUpdateErrors AttrID = 0x001b
	AttrPortVLXmitWaitCounters        AttrID = 0x001c
	AttrPortCountersExtended          AttrID = 0x001d
	AttrPortSamplesResultExtended     AttrID = 0x001e
	AttrPortExtendedSpeedsCounters    AttrID = 0x001f
	AttrSwPortVLCongestion            AttrID = 0x0030
	AttrPortRcvConCtrl                AttrID = 0x0031
	AttrPortSLRcvFECN                 AttrID = 0x0032
	AttrPortSLRcvBECN                 AttrID = 0x0033
	AttrPortXmitConCtrl               AttrID = 0x0034
	AttrPortVLXmitTimeCong            AttrID = 0x0035
	AttrPortXmitDataSL                AttrID = 0x0036
	AttrPortRcvDataSL                 AttrID = 0x0037
)

// Attributes of subnet administration (IBTA vol. 1 §15.2.5).
const (
	AttrNodeRecord                AttrID = 0x0011
	AttrPortInfoRecord            AttrID = 0x0012
	AttrSLtoVLRecord              AttrID = 0x0013
	AttrSwitchInfoRecord          AttrID = 0x0014
	AttrLinearForwardingRecord    AttrID = 0x0015
	AttrRandomForwardingRecord    AttrID = 0x0016
	AttrMulticastForwardingRecord AttrID = 0x0017
	AttrSMInfoRecord              AttrID = 0x0018
	AttrLinkRecord                AttrID = 0x0020
	AttrGUIDInfoRecord            AttrID = 0x0030
	AttrServiceRecord             AttrID = 0x0031
	AttrPKeyTableRecord           AttrID = 0x0033
	AttrPathRecord                AttrID = 0x0035
	AttrVLArbitrationRecord       AttrID = 0x0036
	AttrMCMemberRecord            AttrID = 0x0038
	AttrTraceRecord               AttrID = 0x0039
	AttrMultiPathRecord           AttrID = 0x003a
	AttrServiceAssociationRecord  AttrID = 0x003b
	AttrInformInfoRecord          AttrID = 0x00f3
	AttrNoticeRecord              AttrID = 0x00f4
)

// Attributes of communication management (IBTA vol. 1 §12.6).
const (
	AttrConnectRequest        AttrID = 0x0010 // REQ
	AttrMessageReceiptAck     AttrID = 0x0011 // MRA
	AttrConnectReject         AttrID = 0x0012 // REJ
	AttrConnectReply          AttrID = 0x0013 // REP
	AttrReadyToUse            AttrID = 0x0014 // RTU
	AttrDisconnectRequest     AttrID = 0x0015 // DREQ
	AttrDisconnectReply       AttrID = 0x0016 // DREP
	AttrServiceIDRequest      AttrID = 0x0017 // SIDR_REQ
	AttrServiceIDReply        AttrID = 0x0018 // SIDR_REP
	AttrLoadAlternatePath     AttrID = 0x0019 // LAP
	AttrAlternatePathResponse AttrID = 0x001a // APR
)

// Attributes of congestion control (IBTA vol. 1 annex A10.4.3).
const (
	AttrCongestionInfo              AttrID = 0x0011
	AttrCongestionKeyInfo           AttrID = 0x0012
	AttrCongestionLog               AttrID = 0x0013
	AttrSwitchCongestionSetting     AttrID = 0x0014
	AttrSwitchPortCongestionSetting AttrID = 0x0015
	AttrCACongestionSetting         AttrID = 0x0016
	AttrCongestionControlTable      AttrID = 0x0017
	AttrTimestamp                   AttrID = 0x0018
)

// Attributes of the OpenIB vendor classes, as ibping and ibsysstat ask them.
const (
	AttrPing        AttrID = 0x0000
	AttrSysStatPing AttrID = 0x0010
	AttrSysStatHost AttrID = 0x0011
	AttrSysStatCPU  AttrID = 0x0012
)

var attrNames = map[Class]map[AttrID]string{
	0: {AttrClassPortInfo: "ClassPortInfo", AttrNotice: "Notice", AttrInformInfo: "InformInfo"},
	ClassSubnLID: {
		AttrNodeDescription: "NodeDescription", AttrNodeInfo: "NodeInfo", AttrSwitchInfo: "SwitchInfo",
		AttrGUIDInfo: "GUIDInfo", AttrPortInfo: "PortInfo", AttrPKeyTable: "P_KeyTable", AttrSLtoVL: "SLtoVLMappingTable",
		AttrVLArbitration: "VLArbitrationTable", AttrLinearForwarding: "LinearForwardingTable",
		AttrRandomForwarding: "RandomForwardingTable", AttrMulticastForwarding: "MulticastForwardingTable",
		AttrLinkSpeedWidthPairs: "LinkSpeedWidthPairsTable", AttrVendorSpecificMads: "VendorSpecificMadsTable",
		AttrHierarchyInfo: "HierarchyInfo", AttrSMInfo: "SMInfo", AttrVendorDiag: "VendorDiag", AttrLedInfo: "LedInfo",
		AttrPortInfoExtended: "PortInfoExtended", AttrMlnxExtendedPortInfo: "MlnxExtendedPortInfo",
	},
	ClassPerf: {
		AttrPortSamplesControl: "PortSamplesControl", AttrPortSamplesResult: "PortSamplesResult",
		AttrPortCounters: "PortCounters", AttrPortRcvErrorDetails: "PortRcvErrorDetails",
		AttrPortXmitDiscardDetails: "PortXmitDiscardDetails", AttrPortOpRcvCounters: "PortOpRcvCounters",
		AttrPortFlowCtlCounters: "PortFlowCtlCounters", AttrPortVLOpPackets: "PortVLOpPackets",
		AttrPortVLOpData: "PortVLOpData", AttrPortVLXmitFlowCtlUpdateErrors: "PortVLXmitFlowCtlUpdateErrors",
		AttrPortVLXmitWaitCounters: "PortVLXmitWaitCounters", AttrPortCountersExtended: "PortCountersExtended",
		AttrPortSamplesResultExtended: "PortSamplesResultExtended", AttrPortExtendedSpeedsCounters: "PortExtendedSpeedsCounters",
		AttrSwPortVLCongestion: "SwPortVLCongestion", AttrPortRcvConCtrl: "PortRcvConCtrl",
		AttrPortSLRcvFECN: "PortSLRcvFECN", AttrPortSLRcvBECN: "PortSLRcvBECN", AttrPortXmitConCtrl: "PortXmitConCtrl",
		AttrPortVLXmitTimeCong: "PortVLXmitTimeCong", AttrPortXmitDataSL: "PortXmitDataSL", AttrPortRcvDataSL: "PortRcvDataSL",
	},
	ClassSubnAdm: {
		AttrNodeRecord: "NodeRecord", AttrPortInfoRecord: "PortInfoRecord", AttrSLtoVLRecord: "SLtoVLMappingTableRecord",
		AttrSwitchInfoRecord: "SwitchInfoRecord", AttrLinearForwardingRecord: "LinearForwardingTableRecord",
		AttrRandomForwardingRecord: "RandomForwardingTableRecord", AttrMulticastForwardingRecord: "MulticastForwardingTableRecord",
		AttrSMInfoRecord: "SMInfoRecord", AttrLinkRecord: "LinkRecord", AttrGUIDInfoRecord: "GUIDInfoRecord",
		AttrServiceRecord: "ServiceRecord", AttrPKeyTableRecord: "P_KeyTableRecord", AttrPathRecord: "PathRecord",
		AttrVLArbitrationRecord: "VLArbitrationTableRecord", AttrMCMemberRecord: "MCMemberRecord", AttrTraceRecord: "TraceRecord",
		AttrMultiPathRecord: "MultiPathRecord", AttrServiceAssociationRecord: "ServiceAssociationRecord",
		AttrInformInfoRecord: "InformInfoRecord", AttrNoticeRecord: "NoticeRecord",
	},
	ClassComm: {
		AttrConnectRequest: "ConnectRequest", AttrMessageReceiptAck: "MsgRcptAck", AttrConnectReject: "ConnectReject",
		AttrConnectReply: "ConnectReply", AttrReadyToUse: "ReadyToUse", AttrDisconnectRequest: "DisconnectRequest",
		AttrDisconnectReply: "DisconnectReply", AttrServiceIDRequest: "ServiceIDResReq", AttrServiceIDReply: "ServiceIDResReqResp",
		AttrLoadAlternatePath: "LoadAlternatePath", AttrAlternatePathResponse: "AlternatePathResponse",
	},
	ClassCongestion: {
		AttrCongestionInfo: "CongestionInfo", AttrCongestionKeyInfo: "CongestionKeyInfo", AttrCongestionLog: "CongestionLog",
		AttrSwitchCongestionSetting: "SwitchCongestionSetting", AttrSwitchPortCongestionSetting: "SwitchPortCongestionSetting",
		AttrCACongestionSetting: "CACongestionSetting", AttrCongestionControlTable: "CongestionControlTable", AttrTimestamp: "Timestamp",
	},
}

// AttrName names an attribute of a class.
func AttrName(c Class, a AttrID) string {
	if c == ClassSubnDirected {
		c = ClassSubnLID
	}
	if s := attrNames[c][a]; s != "" {
		return s
	}
	if s := attrNames[0][a]; s != "" {
		return s
	}
	return fmt.Sprintf("attribute %#04x", uint16(a))
}
