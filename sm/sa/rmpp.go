package sa

import (
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// Multi-packet transactions (IBTA vol. 1 §13.6): answers that are sent, and
// requests that come in several segments.

// peer names a transaction: who, and its TID.
type peer struct {
	lid wire.LID
	qp  uint32
	tid uint64
}

// session sends one answer.
type session struct {
	to    peer
	d     sm.Datagram // addresses and headers of every segment
	data  []byte
	send  *mad.RMPPSender
	timer sim.Timer
}

// sendTable sends an answer of records. d has addresses and headers.
func (a *Agent) sendTable(d *sm.Datagram, data []byte) {
	to := peer{d.DLID, d.QP, d.Packet().TID()}
	slot := -1
	for i, x := range a.sessions {
		if x != nil && x.to == to { // asked again: begin again
			x.timer.Stop()
			a.sessions[i], slot = nil, i
			break
		}
		if x == nil && slot < 0 {
			slot = i
		}
	}
	if slot < 0 {
		a.stats.Busy++
		d.Packet().SetStatus(mad.StatusBusy)
		a.send(d)
		return
	}
	x := &session{to: to, d: *d, data: data}
	x.send = mad.NewRMPPSender(mad.SASegments(len(data)), int64(a.cfg.Timeout), a.cfg.Retries)
	x.timer.Init(a.cfg.Proc, a, opSession, uint64(slot))
	a.sessions[slot] = x
	a.goOn(slot)
}

// goOn sends the segments that the window permits.
func (a *Agent) goOn(slot int) {
	x := a.sessions[slot]
	now := int64(a.cfg.Proc.Now())
	for {
		n, ok := x.send.Next(now)
		if !ok {
			break
		}
		a.out = x.d
		s := mad.SA(a.out.MAD[:])
		f := x.send.Segments.Fields(n)
		f.Encode(s.RMPP())
		from, to := x.send.Segments.Range(n)
		clear(s.Data())
		copy(s.Data(), x.data[from:to])
		a.stats.Segments++
		a.send(&a.out)
	}
	if st, done := x.send.Done(); done {
		if st != mad.RMPPOK {
			a.stats.Aborted++
		}
		x.timer.Stop()
		a.sessions[slot] = nil
		return
	}
	if t, ok := x.send.Deadline(); ok {
		x.timer.Reset(sim.Time(t))
	}
}

// acknowledged takes ACK, STOP and ABORT.
func (a *Agent) acknowledged(d *sm.Datagram) {
	from := peer{d.SLID, d.SrcQP, d.Packet().TID()}
	f := mad.RMPP(d.MAD[:]).Fields()
	for i, x := range a.sessions {
		if x == nil || x.to != from {
			continue
		}
		if st := x.send.Receive(int64(a.cfg.Proc.Now()), f); st != mad.RMPPOK {
			a.control(&x.d, mad.RMPPFields{Type: mad.RMPPAbort, Flags: mad.RMPPActive, Status: st})
		}
		a.goOn(i)
		return
	}
	if f.Type == mad.RMPPAbort || f.Type == mad.RMPPStop {
		for i, x := range a.incoming {
			if x != nil && x.from == from {
				x.timer.Stop()
				a.incoming[i] = nil
				a.stats.Aborted++
				return
			}
		}
	}
	a.stats.Ignored++
}

// expire is for an acknowledgement that did not come.
func (a *Agent) expire(slot int) {
	x := a.sessions[slot]
	if x == nil {
		return
	}
	if st := x.send.Expire(int64(a.cfg.Proc.Now())); st != mad.RMPPOK {
		a.control(&x.d, mad.RMPPFields{Type: mad.RMPPAbort, Flags: mad.RMPPActive, Status: st})
	}
	a.goOn(slot)
}

// control sends a packet without records.
func (a *Agent) control(like *sm.Datagram, f mad.RMPPFields) {
	a.out = *like
	s := mad.SA(a.out.MAD[:])
	f.Encode(s.RMPP())
	clear(s.Data())
	a.send(&a.out)
}

// receiving is a request that comes in segments.
type receiving struct {
	from  peer
	first sm.Datagram
	recv  *mad.RMPPReceiver
	timer sim.Timer
}

// maxRequest bounds a request in bytes; a MultiPathRecord with 254 GIDs fits.
const maxRequest = 4096 + 200

// receiveTime bounds how long a request may take to come.
const receiveTime = 2 * sim.Second

// segment takes a segment of a request.
func (a *Agent) segment(d *sm.Datagram) {
	s := mad.SA(d.MAD[:])
	f := s.RMPP().Fields()
	from := peer{d.SLID, d.SrcQP, s.Packet().TID()}
	slot := -1
	for i, x := range a.incoming {
		if x != nil && x.from == from {
			slot = i
			break
		}
		if x == nil && slot < 0 {
			slot = i
		}
	}
	if slot < 0 {
		a.stats.Busy++
		return
	}
	x := a.incoming[slot]
	if x == nil || x.from != from {
		x = &receiving{from: from, first: *d, recv: mad.NewRMPPReceiver(20, 8, maxRequest)}
		x.timer.Init(a.cfg.Proc, a, opReceiving, uint64(slot))
		a.incoming[slot] = x
		x.timer.Reset(a.cfg.Proc.Now() + receiveTime)
	}
	reply, done := x.recv.Receive(f, s.Data())
	if reply.Type != 0 {
		back := x.first
		back.Answer()
		back.Packet().SetMethod(s.Packet().Method()) // of the request, as its segments
		a.control(&back, reply)
	}
	if done || reply.Type == mad.RMPPAbort || reply.Type == mad.RMPPStop {
		x.timer.Stop()
		a.incoming[slot] = nil
	}
	if done {
		first := x.first
		data := x.recv.Data()
		for len(data) < mad.SADataLen {
			data = append(data, 0)
		}
		a.request(&first, data)
	} else if reply.Type == mad.RMPPAbort {
		a.stats.Aborted++
	}
}
