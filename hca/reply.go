package hca

import (
	"cnuas/internal/frame"
	"cnuas/internal/wire"
)

const (
	nakSequence          = wire.NAKSequence
	nakInvalidRequest    = wire.NAKInvalidRequest
	nakRemoteAccess      = wire.NAKRemoteAccess
	nakRemoteOperational = wire.NAKRemoteOperational
)

// nak answers the expected PSN with an error.
func (q *QP) nak(s wire.Syndrome) {
	r := &q.resp
	r.reply, r.syndrome, r.replyPSN, r.naked = replyNak, s, r.epsn, true
	q.makeReady()
}

// ack acknowledges everything up to psn.
func (q *QP) ack(psn uint32) {
	r := &q.resp
	r.reply, r.syndrome, r.replyPSN = replyAck, wire.ACK(wire.CreditInvalid), psn
	q.makeReady()
}

// nextAck makes the acknowledge that is due, unless READ responses or atomic
// acknowledges come first.
func (q *QP) nextAck() *frame.Frame {
	r := &q.resp
	if r.reply == replyNone || r.n > 0 {
		return nil
	}
	r.reply = replyNone
	f, h := q.build(wire.RCAcknowledge, 0, r.replyPSN, wire.AETHLen, 0)
	wire.AETH(h).Encode(r.syndrome, r.msn)
	c := &q.ctx.dev.ctr
	switch {
	case r.syndrome.Kind() == wire.KindACK:
		c.TxAcks++
	case r.syndrome.Kind() == wire.KindRNRNAK:
		c.TxRNRNaks++
	case r.syndrome == nakSequence:
		c.TxSeqNaks++
	case r.syndrome == nakInvalidRequest:
		c.TxInvalidNaks++
	case r.syndrome == nakRemoteAccess:
		c.TxAccessNaks++
	default:
		c.TxOpNaks++
	}
	return f
}
