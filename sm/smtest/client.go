package smtest

import (
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// Client asks subnet administration from an end port.
type Client struct {
	SMKey   uint64
	Reports []mad.NoticeRecord // that came
	Mute    bool               // does not answer reports
	Window  int                // segments of an answer to permit ahead; 0: 8

	p    *Port
	tid  uint64
	wait uint64 // TID of the request that runs
	recv *mad.RMPPReceiver
	res  Result
	done bool
	next func(*sm.Datagram)
}

// Result is an answer of subnet administration.
type Result struct {
	Answered bool
	Status   mad.Status
	Attr     mad.AttrID
	Offset   int // distance of records in bytes, 0 if there are none
	Data     []byte
	Segments int
}

// Records cuts the answer into its records.
func (r *Result) Records() (l [][]byte) {
	for b := r.Data; r.Offset > 0 && len(b) >= r.Offset; b = b[r.Offset:] {
		l = append(l, b[:r.Offset])
	}
	return l
}

// Client returns a client at an end port. What is not for it goes to who took
// the datagrams before.
func (p *Port) Client() *Client {
	c := &Client{p: p, next: p.Endpoint().GSI}
	p.endpoint.GSI = c.receive
	return c
}

// Ask sends a request and lets time pass until it is answered, or 5 s.
func (c *Client) Ask(method mad.Method, attr mad.AttrID, mask uint64, rec mad.Attribute) Result {
	data := make([]byte, mad.SADataLen)
	if rec != nil {
		mad.Encode(rec, data)
	}
	return c.AskRaw(method, attr, mask, 0, data)
}

// AskRaw is Ask with a modifier and an encoded record; one that is longer than
// a segment goes in several.
func (c *Client) AskRaw(method mad.Method, attr mad.AttrID, mask uint64, mod uint32, data []byte) Result {
	f := c.p.Node.f
	c.tid++
	c.wait, c.done, c.res, c.recv = c.tid<<8|0x55, false, Result{}, nil
	d := sm.Datagram{QP: wire.QP1, SrcQP: wire.QP1, QKey: wire.QP1QKey, DLID: c.p.Info.MasterSMLID}
	s := mad.SA(d.MAD[:])
	s[0], s[1], s[2] = mad.BaseVersion, byte(mad.ClassSubnAdm), mad.ClassSubnAdm.Version()
	s.Packet().SetMethod(method)
	s.Packet().SetTID(c.wait)
	s.Packet().SetAttr(attr)
	s.Packet().SetModifier(mod)
	s.SetSMKey(c.SMKey)
	s.SetComponentMask(mask)
	seg := mad.SASegments(len(data))
	for n := 1; n <= seg.Count(); n++ {
		from, to := seg.Range(n)
		clear(s.Data())
		copy(s.Data(), data[from:to])
		if seg.Count() > 1 {
			x := seg.Fields(n)
			x.Encode(s.RMPP())
		}
		f.send(c.p, &d)
		if seg.Count() > 1 {
			f.Run(100 * sim.Microsecond) // the ACK has come by then
		}
	}
	end := f.Eng.Now() + 5*sim.Second
	for !c.done && f.Eng.Now() < end {
		if t, ok := f.Eng.Next(); !ok || t > end {
			break
		}
		f.Eng.RunSome(end, 1)
	}
	return c.res
}

func (c *Client) receive(d *sm.Datagram) {
	s := mad.SA(d.MAD[:])
	p := s.Packet()
	switch {
	case p.Class() == mad.ClassSubnAdm && p.Method() == mad.MethodReport:
		c.report(d)
	case p.Class() == mad.ClassSubnAdm && p.TID() == c.wait && p.Method().IsResponse() && (!s.RMPP().Active() || s.RMPP().Type() != mad.RMPPAck):
		c.answer(d)
	case c.next != nil:
		c.next(d)
	}
}

func (c *Client) report(d *sm.Datagram) {
	if c.Mute {
		return
	}
	var n mad.NoticeRecord
	mad.Decode(&n, mad.SA(d.MAD[:]).Data())
	c.Reports = append(c.Reports, n)
	d.Packet().SetMethod(mad.MethodReportResp)
	d.Answer()
	c.p.endpoint.Send(d)
}

func (c *Client) answer(d *sm.Datagram) {
	s := mad.SA(d.MAD[:])
	r := s.RMPP()
	c.res.Answered, c.res.Status, c.res.Attr, c.res.Offset = true, s.Packet().Status(), s.Packet().Attr(), int(s.AttributeOffset())*8
	if !r.Active() || r.Type() != mad.RMPPData {
		if !r.Active() {
			c.res.Data, c.done = append([]byte(nil), s.Data()...), true
		}
		return
	}
	if c.recv == nil {
		c.recv = mad.NewRMPPReceiver(20, c.window(), 0)
	}
	c.res.Segments = max(c.res.Segments, int(r.Segment()))
	reply, done := c.recv.Receive(r.Fields(), s.Data())
	if reply.Type != 0 {
		reply.Encode(r)
		d.Answer()
		c.p.endpoint.Send(d)
	}
	if done {
		c.res.Data, c.done = c.recv.Data(), true
	}
}

func (c *Client) window() int {
	if c.Window > 0 {
		return c.Window
	}
	return 8
}
