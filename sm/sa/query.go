package sa

import (
	"reflect"

	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
)

// query is a request and the answer that grows.
type query struct {
	a       *Agent
	sub     *sm.Subnet
	d       *sm.Datagram
	method  mad.Method
	attr    mad.AttrID
	mod     uint32
	mask    uint64
	trusted bool
	data    []byte // the record of the request

	status mad.Status
	out    []byte // records of the answer
	count  int
	stride int
	length int    // of a record
	after  func() // what is to happen behind the answer
	want   []byte // the request's record, as encoded
	fields []mad.Field
	buf    []byte
}

// fieldsOf are the fields of each type of record, which Fields computes anew
// each time.
var fieldsOf = map[reflect.Type][]mad.Field{}

func init() {
	for _, r := range []mad.Attribute{
		&mad.ClassPortInfo{}, &mad.NodeRecord{}, &mad.PortInfoRecord{}, &mad.SwitchInfoRecord{}, &mad.LinearForwardingRecord{},
		&mad.MulticastForwardingRecord{}, &mad.SLtoVLRecord{}, &mad.VLArbitrationRecord{}, &mad.PKeyTableRecord{}, &mad.GUIDInfoRecord{},
		&mad.LinkRecord{}, &mad.SMInfoRecord{}, &mad.PathRecord{}, &mad.MCMemberRecord{}, &mad.ServiceRecord{},
		&mad.InformInfoRecord{}, &mad.InformInfo{},
	} {
		fieldsOf[reflect.TypeOf(r)] = mad.Fields(r)
	}
}

// begin says what the records of the answer are. rec is of their type.
func (q *query) begin(rec mad.Attribute) {
	q.length = mad.Len(rec)
	q.stride = mad.RecordStride(q.length)
	q.fields = fieldsOf[reflect.TypeOf(rec)]
	q.want = make([]byte, q.stride)
	copy(q.want, q.data)
	q.buf = make([]byte, q.stride)
}

// has tells whether the request gives one of the named components.
func (q *query) has(names ...string) bool { return q.mask&mad.Component(q.fields, names...) != 0 }

// ignore takes components out of the comparison of records.
func (q *query) ignore(names ...string) { q.mask &^= mad.Component(q.fields, names...) }

// fail ends the query with a status.
func (q *query) fail(st mad.Status) { q.status = st }

// add puts a record into the answer if it agrees with the request in the
// components of the mask.
func (q *query) add(rec mad.Attribute) {
	mad.Encode(rec, q.buf)
	if mad.Match(q.fields, q.mask, q.want[:q.length], q.buf[:q.length]) {
		q.put()
	}
}

// put puts the encoded record into the answer.
func (q *query) put() {
	if len(q.out)+q.stride > q.a.cfg.MaxAnswer {
		q.fail(mad.StatusSANoResources)
		return
	}
	q.out = append(q.out, q.buf...)
	q.count++
}

// full tells that more records would not change the answer.
func (q *query) full() bool {
	return q.status != mad.StatusOK || q.method == mad.MethodGet && q.count > 1
}

// sender is the end port that asks; nil if it is not known.
func (q *query) sender() *sm.Port { return q.sub.PortByLID(q.d.SLID) }

// end is the end port that the component LID names, and whether one is named.
// The comparison then is done.
func (q *query) end(name string, lid wire.LID) (p *sm.Port, named bool) {
	if !q.has(name) {
		return nil, false
	}
	q.ignore(name)
	return q.sub.PortByLID(lid), true
}

// eachEnd calls f for the end ports that may match a record that begins with
// LID.
func (q *query) eachEnd(name string, f func(*sm.Port)) {
	lid := wire.LID(uint16(q.want[0])<<8 | uint16(q.want[1]))
	if p, named := q.end(name, lid); named {
		if p != nil && q.visible(p) {
			f(p)
		}
		return
	}
	q.sub.EndPorts(func(p *sm.Port) {
		if p.LID != 0 && !q.full() && q.visible(p) {
			f(p)
		}
	})
}

// eachPort calls f for all ports of the end ports that may match, with the LID
// of the record: those of a switch have the switch's.
func (q *query) eachPort(name string, f func(end, p *sm.Port)) {
	q.eachEnd(name, func(end *sm.Port) {
		if !end.Node.IsSwitch() {
			f(end, end)
			return
		}
		for _, p := range end.Node.Ports {
			f(end, p)
		}
	})
}

// answer sends the answer.
func (q *query) answer() {
	q.a.stats.Records += uint64(q.count)
	if q.status == mad.StatusOK && q.method == mad.MethodGet {
		switch {
		case q.count == 0:
			q.status = mad.StatusSANoRecords
		case q.count > 1:
			q.status = mad.StatusSATooMany
		}
	}
	if q.status != mad.StatusOK {
		q.a.fail(q.d, q.status)
		return
	}
	d := q.d
	s := mad.SA(d.MAD[:])
	s.Packet().SetMethod(q.method.Response())
	s.Packet().SetStatus(mad.StatusOK)
	s.SetSMKey(0)
	s.SetAttributeOffset(uint16(q.stride / 8))
	if q.count == 0 {
		s.SetAttributeOffset(0)
	}
	clear(d.MAD[24:36])
	d.Answer()
	if q.method == mad.MethodGetTable || q.method == mad.MethodGetMulti {
		q.a.sendTable(d, q.out)
		return
	}
	clear(s.Data())
	copy(s.Data(), q.out)
	q.a.send(d)
}

// fail answers a request with a status, and with its own data.
func (a *Agent) fail(d *sm.Datagram, st mad.Status) {
	a.stats.Errors++
	s := mad.SA(d.MAD[:])
	m := s.Packet().Method().Response()
	if m == 0 {
		m = s.Packet().Method() | mad.MethodResponse
	}
	s.Packet().SetMethod(m)
	s.Packet().SetStatus(st)
	s.SetSMKey(0)
	clear(d.MAD[24:36])
	d.Answer()
	a.send(d)
}

// send sends to QP 1, or whatever QP the other side has.
func (a *Agent) send(d *sm.Datagram) {
	d.QKey = wire.QP1QKey
	a.cfg.Port.Send(d)
}
