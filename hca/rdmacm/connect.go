package rdmacm

import (
	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/hca/cm"
	"cnuas/internal/wire/mad"
)

// Lengths of private data in bytes (IBTA vol. 1 §12.6, §12.11).
const (
	dataREQ     = 92
	dataREP     = 196
	dataREJ     = 148
	dataSIDRREQ = 216
	dataSIDRREP = 136
)

// params reads struct rdma_ucm_conn_param, 272 bytes.
func params(b []byte) (p cm.Params, valid bool) {
	return cm.Params{
		QPN: le.Uint32(b[0:]) & 0xffffff, QKey: le.Uint32(b[4:]), PrivateData: b[8 : 8+int(b[264])], SRQ: b[265] != 0,
		ResponderResources: b[266], InitiatorDepth: b[267], FlowControl: b[268] != 0,
		RetryCount: min(b[269], 7), RNRRetryCount: min(b[270], 7),
	}, b[271] != 0
}

// connect is struct rdma_ucm_connect: 0 conn_param  272 id  276 reserved
// 280 ece.
func connect(c *command) error {
	i, err := c.id(272)
	if err != nil {
		return err
	}
	p, valid := params(c.in)
	if !valid || i.state != stateRouteResolved {
		return unix.EINVAL
	}
	data, limit := p.PrivateData, dataREQ
	if !i.rc() {
		limit = dataSIDRREQ
	}
	if n := i.headerLen(); n > 0 {
		h := cm.IPHeader{Port: i.src.port, Src: i.src.ip, Dst: i.dst.ip}
		data = make([]byte, n, n+len(p.PrivateData))
		h.Encode(data)
		data = append(data, p.PrivateData...)
	}
	if len(data) > limit {
		return unix.EINVAL
	}
	d := cm.Dial{ServiceID: i.serviceID(&i.dst), Path: i.path}
	if i.rc() {
		p.Type, p.PrivateData, p.QKey = i.typ, data, 0
		i.conn, err = i.dev.mgr.Connect(i, d, &p)
	} else {
		if p.QKey != 0 {
			i.qkey = p.QKey
		}
		i.conn, err = i.dev.mgr.Resolve(i, d, data)
	}
	if err == nil {
		i.state = stateConnect
	}
	return err
}

// accept is struct rdma_ucm_accept: 0 uid  8 conn_param  280 id  284 reserved
// 288 ece. Without conn_param it confirms a reply.
func accept(c *command) error {
	i, err := c.id(280)
	if err != nil {
		return err
	}
	if i.state != stateConnect || i.conn == nil {
		return unix.EINVAL
	}
	p, valid := params(c.in[8:])
	if !valid {
		if i.passive {
			return unix.EINVAL
		}
		return i.conn.Confirm(nil)
	}
	if !i.passive {
		return unix.EINVAL
	}
	old := i.uid
	i.uid = le.Uint64(c.in)
	switch {
	case i.rc() && len(p.PrivateData) > dataREP, !i.rc() && len(p.PrivateData) > dataSIDRREP:
		err = unix.EINVAL
	case i.rc():
		p.QKey = 0
		err = i.conn.Accept(&p)
	default:
		if p.QKey != 0 {
			i.qkey = p.QKey
		}
		err = i.conn.Answer(p.QPN, i.dataQKey(), p.PrivateData)
	}
	if err != nil {
		i.uid = old
		i.refuse(mad.RejectConsumer, nil)
	}
	return err
}

// rejectVendor: a vendor's option is not supported (IBTA vol. 1 §12.6.7.2).
const rejectVendor = 35

// reject is struct rdma_ucm_reject: 0 id  4 private_data_len  5 reason
// 8 private_data.
func reject(c *command) error {
	i, err := c.id(0)
	if err != nil {
		return err
	}
	reason, n := mad.RejectReason(c.in[5]), int(c.in[4])
	switch {
	case reason == 0:
		reason = mad.RejectConsumer
	case reason != mad.RejectConsumer && reason != rejectVendor:
		return unix.EINVAL
	}
	if i.conn == nil || i.rc() && n > dataREJ || !i.rc() && n > dataSIDRREP {
		return unix.EINVAL
	}
	return i.refuse(reason, c.in[8:8+n])
}

func (i *id) refuse(reason mad.RejectReason, data []byte) error {
	if i.rc() {
		return i.conn.Reject(reason, nil, data)
	}
	return i.conn.Refuse(data)
}

// disconnect is struct rdma_ucm_disconnect: 0 id. A connection that is none any
// more is as good as one that is ended now.
func disconnect(c *command) error {
	i, err := c.id(0)
	if err != nil {
		return err
	}
	if i.conn == nil {
		return unix.EINVAL
	}
	if i.rc() {
		_ = i.conn.Disconnect(nil)
	}
	return nil
}

// eventCommEst is IB_EVENT_COMM_EST.
const eventCommEst = uint32(hca.EventCommEst)

// notify is struct rdma_ucm_notify: 0 id  4 event of the queue pair.
func notify(c *command) error {
	i, err := c.id(0)
	if err != nil {
		return err
	}
	if le.Uint32(c.in[4:]) != eventCommEst || i.conn == nil {
		return unix.EINVAL
	}
	i.conn.Notify()
	return nil
}

// ConnEvent implements cm.Handler.
func (i *id) ConnEvent(c *cm.Conn, e *cm.Event) {
	if i.state == stateGone || i.conn != c {
		return
	}
	switch e.Type {
	case cm.EventReply:
		c.Delay()
		i.post(evConnectResponse, 0, func(b []byte) { connParam(b, e.Params, e.PrivateData) })
	case cm.EventEstablished:
		i.post(evEstablished, 0, nil)
	case cm.EventRejected:
		if i.state == stateConnect {
			i.post(evRejected, int32(e.Reason), func(b []byte) { connParam(b, &cm.Params{}, e.PrivateData) })
		}
	case cm.EventUnreachable:
		if i.state == stateConnect {
			i.post(evUnreachable, -int32(unix.ETIMEDOUT), nil)
		}
	case cm.EventDisconnect, cm.EventDisconnected:
		if i.state == stateConnect {
			i.state = stateDisconnect
			status := int32(0)
			if e.Timeout {
				status = -int32(unix.ETIMEDOUT)
			}
			i.post(evDisconnected, status, nil)
		}
	case cm.EventTimeWaitExit:
		if i.state == stateDisconnect {
			i.post(evTimeWaitExit, 0, nil)
		}
	case cm.EventResolved:
		if e.Status != 0 {
			i.post(evUnreachable, int32(e.Status), nil)
			return
		}
		av := i.path.Vector()
		i.post(evEstablished, 0, func(b []byte) { udParam(b, e.QPN, e.QKey, &av, e.PrivateData) })
	}
}
