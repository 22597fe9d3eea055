package rdmacm

import (
	"cnuas/hca"
	"cnuas/hca/cm"
)

// Events, with the values of enum rdma_cm_event_type.
const (
	evAddrResolved    = 0
	evAddrError       = 1
	evRouteResolved   = 2
	evRouteError      = 3
	evConnectRequest  = 4
	evConnectResponse = 5
	evUnreachable     = 7
	evRejected        = 8
	evEstablished     = 9
	evDisconnected    = 10
	evMulticastJoin   = 12
	evMulticastError  = 13
	evTimeWaitExit    = 15
)

// Layout of struct rdma_ucm_event_resp.
//
//	0 uid  8 id  12 event  16 status  20 union of
//	   conn: 0 qp_num  4 qkey  8 private_data  264 its length  265 srq
//	         266 responder_resources  267 initiator_depth  268 flow_control
//	         269 retry_count  270 rnr_retry_count  271 valid
//	   ud:   0 qp_num  4 qkey  8 ah_attr  40 private_data  296 its length
//	324 reserved  328 ece
const (
	eventLen    = 336
	eventMinLen = 324 // of programs before ECE
	eventParam  = 20
)

// event waits for a program to fetch it.
type event struct {
	owner   *id // to which it is accounted
	group   *member
	request *id // of a connect request: the new identifier
	resp    [eventLen]byte
}

// account counts the event as given to its program, with n -1 as not given
// after all: the program destroys nothing before it has acknowledged all that
// it was given.
func (e *event) account(n int) {
	e.owner.reported += uint32(n)
	if e.group != nil {
		e.group.reported += uint32(n)
	}
	if e.request != nil {
		e.owner.backlog += n
	}
}

// post queues an event. status is an errno, negative, or a reason.
func (i *id) post(kind, status int32, fill func(param []byte)) {
	if i.uid == 0 { // the program does not know it yet
		return
	}
	e := &event{owner: i}
	e.head(i.uid, i.handle, kind, status)
	if fill != nil {
		fill(e.resp[eventParam:])
	}
	i.file.deliver(e)
}

func (e *event) head(uid uint64, handle uint32, kind, status int32) {
	le.PutUint64(e.resp[0:], uid)
	le.PutUint32(e.resp[8:], handle)
	le.PutUint32(e.resp[12:], uint32(kind))
	le.PutUint32(e.resp[16:], uint32(status))
}

// connParam fills struct rdma_ucm_conn_param.
func connParam(b []byte, p *cm.Params, data []byte) {
	le.PutUint32(b[0:], p.QPN)
	b[264] = byte(copy(b[8:264], data))
	b[265], b[268] = flag(p.SRQ), flag(p.FlowControl)
	b[266], b[267] = p.ResponderResources, p.InitiatorDepth
	b[269], b[270] = p.RetryCount, p.RNRRetryCount
}

// udParam fills struct rdma_ucm_ud_param.
func udParam(b []byte, qpn, qkey uint32, av *hca.AddressVector, data []byte) {
	le.PutUint32(b[0:], qpn)
	le.PutUint32(b[4:], qkey)
	if av != nil {
		putAV(b[8:40], av)
	}
	b[296] = byte(copy(b[40:296], data))
}

// putAV makes struct ib_uverbs_ah_attr, 32 bytes.
//
//	0 dgid  16 flow label  20 sgid index  21 hop limit  22 traffic class
//	24 dlid  26 sl  27 path bits  28 static rate  29 global  30 port
func putAV(b []byte, av *hca.AddressVector) {
	copy(b, av.DGID[:])
	le.PutUint32(b[16:], av.FlowLabel)
	b[20], b[21], b[22] = av.SGIDIndex, av.HopLimit, av.TrafficClass
	le.PutUint16(b[24:], uint16(av.DLID))
	b[26], b[27], b[29], b[30] = av.SL, av.PathBits, flag(av.Global), 1
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}
