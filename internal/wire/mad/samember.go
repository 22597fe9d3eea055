package mad

import "cnuas/internal/wire"

// MCMemberRecordLen is the length of a MCMemberRecord in bytes.
const MCMemberRecordLen = 52

// MCMemberRecord is a member of a multicast group (IBTA vol. 1 §15.2.5.17).
type MCMemberRecord struct {
	MGID                   wire.GID
	PortGID                wire.GID
	QKey                   uint32
	MLID                   wire.LID
	MTUSelector            Selector
	MTU                    MTU
	TClass                 uint8
	PKey                   uint16
	RateSelector           Selector
	Rate                   Rate
	PacketLifeTimeSelector Selector
	PacketLifeTime         Timeout
	SL                     uint8
	FlowLabel              uint32
	HopLimit               uint8
	Scope                  uint8
	JoinState              JoinState
	ProxyJoin              bool
}

func (a *MCMemberRecord) layout(c *codec) {
	if !c.size(MCMemberRecordLen) {
		return
	}
	gid(c, "MGID", 0, &a.MGID)
	gid(c, "PortGID", 16, &a.PortGID)
	bits(c, "QKey", 32, 0, 32, &a.QKey)
	bits(c, "MLID", 36, 0, 16, &a.MLID)
	bits(c, "MTUSelector", 38, 0, 2, &a.MTUSelector)
	bits(c, "MTU", 38, 2, 6, &a.MTU)
	bits(c, "TClass", 39, 0, 8, &a.TClass)
	bits(c, "PKey", 40, 0, 16, &a.PKey)
	bits(c, "RateSelector", 42, 0, 2, &a.RateSelector)
	bits(c, "Rate", 42, 2, 6, &a.Rate)
	bits(c, "PacketLifeTimeSelector", 43, 0, 2, &a.PacketLifeTimeSelector)
	bits(c, "PacketLifeTime", 43, 2, 6, &a.PacketLifeTime)
	bits(c, "SL", 44, 0, 4, &a.SL)
	bits(c, "FlowLabel", 44, 4, 20, &a.FlowLabel)
	bits(c, "HopLimit", 47, 0, 8, &a.HopLimit)
	bits(c, "Scope", 48, 0, 4, &a.Scope)
	bits(c, "JoinState", 48, 4, 4, &a.JoinState)
	bit(c, "ProxyJoin", 49, 0, &a.ProxyJoin)
}

// ServiceRecordLen is the length of a ServiceRecord in bytes.
const ServiceRecordLen = 176

// ServiceRecord is a service that a port offers (IBTA vol. 1 §15.2.5.14).
type ServiceRecord struct {
	ServiceID    uint64
	ServiceGID   wire.GID
	ServicePKey  uint16
	ServiceLease uint32 // seconds
	ServiceKey   [16]byte
	ServiceName  [64]byte
	ServiceData  [64]byte
}

func (a *ServiceRecord) layout(c *codec) {
	if !c.size(ServiceRecordLen) {
		return
	}
	bits(c, "ServiceID", 0, 0, 64, &a.ServiceID)
	gid(c, "ServiceGID", 8, &a.ServiceGID)
	bits(c, "ServicePKey", 24, 0, 16, &a.ServicePKey)
	resv(c, 26, 0, 16)
	bits(c, "ServiceLease", 28, 0, 32, &a.ServiceLease)
	blob(c, "ServiceKey", 32, a.ServiceKey[:])
	blob(c, "ServiceName", 48, a.ServiceName[:])
	c.comps(30)
	blob(c, "ServiceData", 112, a.ServiceData[:])
}

// InformInfoRecordLen is the length of an InformInfoRecord in bytes.
const InformInfoRecordLen = 60

// InformInfoRecord is a subscription in SA (IBTA vol. 1 §15.2.5.12).
type InformInfoRecord struct {
	SubscriberGID wire.GID
	Enum          uint16
	InformInfo
}

func (a *InformInfoRecord) layout(c *codec) {
	if !c.size(InformInfoRecordLen) {
		return
	}
	gid(c, "SubscriberGID", 0, &a.SubscriberGID)
	bits(c, "Enum", 16, 0, 16, &a.Enum)
	resv(c, 18, 0, 48)
	c.off += 24
	a.InformInfo.layout(c)
	c.off -= 24
}

// NoticeRecordLen is the length of a NoticeRecord in bytes.
const NoticeRecordLen = 80

// NoticeRecord is a Notice in SA and in Reports: with the issuer's GID (IBTA
// vol. 1 §13.4.8.2).
type NoticeRecord struct {
	Notice
	IssuerGID wire.GID
}

func (a *NoticeRecord) layout(c *codec) {
	if !c.size(NoticeRecordLen) {
		return
	}
	a.Notice.layout(c)
	gid(c, "IssuerGID", 64, &a.IssuerGID)
}
