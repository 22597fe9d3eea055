package mads

import (
	"cnuas/hca"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// receiveKey tells apart the RMPP messages that are arriving (IBTA vol. 1
// §13.6.3.2).
type receiveKey struct {
	agent   uint32
	tid     uint64
	class   mad.Class
	method  mad.Method
	version uint8
	qpn     uint32
	lid     wire.LID
	gid     hca.GID
}

// receive is an RMPP message that is being put together, or was: its last
// acknowledgement may be lost and has to be given again.
type receive struct {
	num   uint64
	key   receiveKey
	a     *Agent
	from  hca.MADAddress
	head  [56]byte // of the first segment
	rmpp  *mad.RMPPReceiver
	bytes int // accounted for
	done  bool
	timer sim.Timer
}

const (
	// window is how many segments a peer may send ahead.
	window = 16
	// patience is how long a peer may be silent within a message, keep how long
	// acknowledgements of a complete one are repeated.
	patience = 40 * sim.Second
	keep     = 10 * sim.Second
)

// receiveRMPP takes a packet of an RMPP transfer.
func (t *Table) receiveRMPP(a *Agent, from *hca.MADAddress, m mad.Packet) {
	r := mad.RMPP(m)
	if r.Version() != mad.RMPPVersion {
		if r.Type() == mad.RMPPData {
			t.back(a, from, m, mad.RMPPFields{Type: mad.RMPPAbort, Flags: mad.RMPPActive, Status: mad.RMPPBadVersion})
		}
		return
	}
	switch r.Type() {
	case mad.RMPPData:
		t.data(a, from, m)
	case mad.RMPPAck:
		if s := t.sending(a, m); s != nil {
			t.answered(s, r.Fields())
		}
	case mad.RMPPStop, mad.RMPPAbort:
		if s := t.sending(a, m); s != nil {
			t.answered(s, r.Fields())
			return
		}
		t.stopped(a, from, m)
	}
}

// sending is the RMPP message of the agent that a packet of the other side
// belongs to, nil if there is none.
func (t *Table) sending(a *Agent, m mad.Packet) *send {
	s := a.pending[m.TID()]
	if s == nil || s.rmpp == nil || s.class != m.Class() {
		return nil
	}
	return s
}

func keyOf(a *Agent, from *hca.MADAddress, m mad.Packet) receiveKey {
	k := receiveKey{agent: a.id, tid: m.TID(), class: m.Class(), method: m.Method(), version: m.ClassVersion(), qpn: from.QPN, lid: from.LID}
	if from.GRH {
		k.gid = from.GID
	}
	return k
}

// data takes a segment.
func (t *Table) data(a *Agent, from *hca.MADAddress, m mad.Packet) {
	f, k := mad.RMPP(m).Fields(), keyOf(a, from, m)
	r := t.receives[k]
	if r == nil {
		if f.Data1 != 1 { // the beginning was lost, or is long over
			return
		}
		if isResponse(m) && a.pending[m.TID()] == nil && !a.reg.OwnTimers {
			t.Count.Unasked++
			return
		}
		if r = t.newReceive(a, from, m, k); r == nil {
			t.back(a, from, m, mad.RMPPFields{Type: mad.RMPPStop, Flags: mad.RMPPActive, Status: mad.RMPPNoResources})
			return
		}
	}
	h := headLen(k.class)
	reply, done := r.rmpp.Receive(f, m[h:])
	if reply.Type != 0 {
		t.back(a, from, m, reply)
	}
	if r.done {
		return
	}
	switch {
	case reply.Type == mad.RMPPAbort || reply.Type == mad.RMPPStop:
		t.Count.Aborted++
		t.endReceive(r)
		return
	case !t.account(r):
		t.back(a, from, m, mad.RMPPFields{Type: mad.RMPPStop, Flags: mad.RMPPActive, Status: mad.RMPPNoResources})
		t.endReceive(r)
		return
	}
	// The response has begun: the request is not repeated while it goes on.
	if s := a.pending[k.tid]; s != nil && s.rmpp == nil && isResponse(m) && s.class == k.class {
		s.timer.Reset(t.proc.Now() + s.msg.Timeout)
		s.tries = s.msg.Retries
	}
	if !done {
		r.timer.Reset(t.proc.Now() + patience)
		return
	}
	whole := append(append(make([]byte, 0, h+len(r.rmpp.Data())), r.head[:h]...), r.rmpp.Data()...)
	t.finished(r)
	t.deliver(a, &r.from, whole)
}

func (t *Table) newReceive(a *Agent, from *hca.MADAddress, m mad.Packet, k receiveKey) *receive {
	if len(t.receives) >= MaxReceives && !t.evict() {
		t.Count.Overload++
		return nil
	}
	t.rnum++
	h := headLen(k.class)
	r := &receive{num: t.rnum, key: k, a: a, from: *from, rmpp: mad.NewRMPPReceiver(h-36, window, MaxMessage)}
	copy(r.head[:], m[:h])
	r.timer.Init(t.proc, t, opReceive, r.num)
	r.timer.Reset(t.proc.Now() + patience)
	t.receives[k], t.byNum[r.num] = r, r
	return r
}

// evict forgets the oldest message that is complete.
func (t *Table) evict() bool {
	var old *receive
	for _, r := range t.byNum { // there is one oldest, whatever the order
		if r.done && (old == nil || r.num < old.num) {
			old = r
		}
	}
	if old != nil {
		t.endReceive(old)
	}
	return old != nil
}

// account counts what has arrived towards the limit of all messages.
func (t *Table) account(r *receive) bool {
	n := len(r.rmpp.Data())
	t.held += n - r.bytes
	r.bytes = n
	if t.held > MaxReassembly {
		t.Count.Overload++
		return false
	}
	return true
}

// finished keeps of a complete message what repeated segments need.
func (t *Table) finished(r *receive) {
	t.held -= r.bytes
	r.bytes, r.done = 0, true
	r.rmpp.Release()
	r.timer.Reset(t.proc.Now() + keep)
}

// stopped takes the sender's end of a transfer that is arriving.
func (t *Table) stopped(a *Agent, from *hca.MADAddress, m mad.Packet) {
	r := t.receives[keyOf(a, from, m)]
	if r == nil || r.done {
		return
	}
	t.Count.Aborted++
	s := a.pending[r.key.tid]
	t.endReceive(r)
	if s != nil && s.rmpp == nil && isResponse(m) && s.class == m.Class() {
		t.fail(s, ErrAborted)
	}
}

// endReceive forgets a message.
func (t *Table) endReceive(r *receive) {
	r.timer.Stop()
	t.held -= r.bytes
	r.bytes = 0
	delete(t.receives, r.key)
	delete(t.byNum, r.num)
}

// back sends an RMPP packet to who a segment came from: the method is that of
// the other direction (IBTA vol. 1 §13.6.2.1).
func (t *Table) back(a *Agent, from *hca.MADAddress, m mad.Packet, f mad.RMPPFields) {
	to := Answer(from)
	var like [mad.PacketLen]byte
	copy(like[:], m[:headLen(m.Class())])
	mad.Packet(like[:]).SetMethod(m.Method() ^ mad.MethodResponse)
	t.control(a, &to, like[:], f)
}

// Answer is the address to answer a MAD that came from an address: it goes to
// the queue pair and the LID or GID that it came from.
func Answer(from *hca.MADAddress) hca.MADAddress {
	to := *from
	if to.GRH && to.HopLimit < 2 {
		to.HopLimit = 64
	}
	return to
}

func (t *Table) dropReceives(a *Agent) {
	for _, r := range t.byNum { // the order does not matter: nothing is sent
		if r.a == a {
			t.endReceive(r)
		}
	}
}
