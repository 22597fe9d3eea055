package sa

import (
	"cnuas/internal/wire/mad"
)

// kind of a method: Get and GetTable have the same handlers.
type kind uint8

const (
	kindQuery kind = iota
	kindSet
	kindDelete
	kindMulti
)

func kindOf(m mad.Method) kind {
	switch m {
	case mad.MethodSet:
		return kindSet
	case mad.MethodDelete:
		return kindDelete
	case mad.MethodGetMulti:
		return kindMulti
	}
	return kindQuery
}

type handlerKey struct {
	attr mad.AttrID
	kind kind
}

var handlers map[handlerKey]func(*query)

func init() {
	handlers = map[handlerKey]func(*query){
		{mad.AttrClassPortInfo, kindQuery}:             (*query).classPortInfo,
		{mad.AttrNodeRecord, kindQuery}:                (*query).nodes,
		{mad.AttrPortInfoRecord, kindQuery}:            (*query).ports,
		{mad.AttrSwitchInfoRecord, kindQuery}:          (*query).switches,
		{mad.AttrLinearForwardingRecord, kindQuery}:    (*query).linear,
		{mad.AttrMulticastForwardingRecord, kindQuery}: (*query).multicast,
		{mad.AttrSLtoVLRecord, kindQuery}:              (*query).sl2vl,
		{mad.AttrVLArbitrationRecord, kindQuery}:       (*query).vlarb,
		{mad.AttrPKeyTableRecord, kindQuery}:           (*query).pkeys,
		{mad.AttrGUIDInfoRecord, kindQuery}:            (*query).guids,
		{mad.AttrLinkRecord, kindQuery}:                (*query).links,
		{mad.AttrSMInfoRecord, kindQuery}:              (*query).managers,
		{mad.AttrPathRecord, kindQuery}:                (*query).paths,
		{mad.AttrMultiPathRecord, kindMulti}:           (*query).multiPaths,
		{mad.AttrMCMemberRecord, kindQuery}:            (*query).members,
		{mad.AttrMCMemberRecord, kindSet}:              (*query).join,
		{mad.AttrMCMemberRecord, kindDelete}:           (*query).leave,
		{mad.AttrServiceRecord, kindQuery}:             (*query).services,
		{mad.AttrServiceRecord, kindSet}:               (*query).offer,
		{mad.AttrServiceRecord, kindDelete}:            (*query).withdraw,
		{mad.AttrInformInfo, kindSet}:                  (*query).inform,
		{mad.AttrInformInfoRecord, kindQuery}:          (*query).informs,
	}
}
