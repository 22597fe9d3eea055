package uverbs

import (
	"encoding/binary"

	"cnuas/hca"
)

var le = binary.LittleEndian

// Lengths of struct ib_uverbs_comp_event_desc and ib_uverbs_async_event_desc.
const (
	compEventLen  = 8
	asyncEventLen = 16
)

// compEvent tells the program that a completion queue it has armed has a
// completion. The engine calls it.
func (c *context) compEvent(o *object) {
	var b [compEventLen]byte
	le.PutUint64(b[:], o.user)
	if o.channel != nil && o.channel.send(b[:]) {
		o.events++
	}
}

// asyncEvent tells the program of an asynchronous event. The engine calls it.
func (c *context) asyncEvent(e hca.Event) {
	if c.events == nil {
		return
	}
	var b [asyncEventLen]byte
	le.PutUint32(b[8:], uint32(e.Type))
	var o *object
	switch {
	case e.QP != nil:
		o = c.live[uint32(e.QP.UserHandle)]
	case e.CQ != nil:
		o = c.live[uint32(e.CQ.UserHandle)]
	case e.SRQ != nil:
		o = c.live[uint32(e.SRQ.UserHandle)]
	default:
		le.PutUint64(b[:], uint64(e.Port))
	}
	if o != nil {
		le.PutUint64(b[:], o.user)
	}
	if c.events.send(b[:]) && o != nil {
		o.asyncEvents++
	}
}

// isAsyncOf tells whether the event is about the object. Objects of different
// kinds may have the same name in the program, so the type counts.
func isAsyncOf(e []byte, o *object) bool {
	of := kindQP
	switch hca.EventType(le.Uint32(e[8:])) {
	case hca.EventPortActive, hca.EventPortErr, hca.EventGIDChange, hca.EventDeviceFatal,
		hca.EventLIDChange, hca.EventPKeyChange, hca.EventSMChange, hca.EventClientReregister:
		return false
	case hca.EventCQErr:
		of = kindCQ
	case hca.EventSRQErr, hca.EventSRQLimit:
		of = kindSRQ
	}
	return le.Uint64(e) == o.user && of == o.kind
}
