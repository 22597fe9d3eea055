package uverbs

import (
	"golang.org/x/sys/unix"

	"cnuas/hca"
)

// knownAttrs are the bits of enum ib_qp_attr_mask that MODIFY_QP takes.
const knownAttrs = hca.AttrDestQPN<<1 - 1

// writeModifyQP reads struct ib_uverbs_modify_qp.
//
//	0 destination (struct ib_uverbs_qp_dest)  32 alternate destination
//	64 handle  68 mask  72 qkey  76 rq_psn  80 sq_psn  84 dest_qp_num  88 access
//	92 pkey_index  96 state  97 current state  98 path_mtu  99 path_mig_state
//	101 max_rd_atomic  102 max_dest_rd_atomic  103 min_rnr_timer  104 port
//	105 timeout  106 retry_cnt  107 rnr_retry
func writeModifyQP(k *call, in []byte) ([]byte, error) {
	o := k.ctx.find(kindQP, le.Uint32(in[64:]))
	mask := hca.AttrMask(le.Uint32(in[68:]))
	switch {
	case o == nil:
		return nil, unix.EINVAL
	case mask&^knownAttrs != 0 || mask&(hca.AttrAltPath|hca.AttrCap) != 0:
		return nil, unix.EOPNOTSUPP
	case mask&hca.AttrPort != 0 && in[104] != 1:
		return nil, unix.EINVAL
	case mask&hca.AttrAV != 0 && !k.macOK:
		return nil, unix.EINVAL
	}
	a := hca.QPAttr{
		State: hca.QPState(in[96]), CurState: hca.QPState(in[97]),
		Access: hca.Access(le.Uint32(in[88:])), PKeyIndex: le.Uint16(in[92:]), Port: in[104],
		QKey: le.Uint32(in[72:]), PathMTU: in[98], Timeout: in[105], RetryCnt: in[106], RNRRetry: in[107],
		RQPSN: le.Uint32(in[76:]) & 0xffffff, SQPSN: le.Uint32(in[80:]) & 0xffffff,
		MaxRdAtomic: in[101], MaxDestRdAtomic: in[102], MinRNRTimer: in[103],
		PathMigState: in[99], DestQPN: le.Uint32(in[84:]) & 0xffffff,
	}
	if p := k.address(); p != nil {
		a.AV = p.av
		a.AV.DMAC = k.mac
	}
	var err error
	k.ctx.srv.do(func() { err = o.qp.Modify(&a, mask) })
	return nil, err
}

// writeQueryQP makes struct ib_uverbs_query_qp_resp.
func writeQueryQP(k *call, in []byte) ([]byte, error) {
	o := k.ctx.find(kindQP, le.Uint32(in[8:]))
	if o == nil {
		return nil, unix.EINVAL
	}
	var a hca.QPAttr
	k.ctx.srv.do(func() { a, _ = o.qp.Query() })
	b := make([]byte, 128)
	copy(b, a.AV.DGID[:])
	le.PutUint32(b[16:], a.AV.FlowLabel)
	le.PutUint16(b[20:], uint16(a.AV.DLID))
	b[24], b[25], b[26], b[27], b[28] = a.AV.SGIDIndex, a.AV.HopLimit, a.AV.TrafficClass, a.AV.SL, a.AV.PathBits
	if a.AV.Global || !k.infiniBand() {
		b[30] = 1
	}
	b[31] = 1 // port
	for i, x := range []uint32{
		o.cap.MaxSendWR, o.cap.MaxRecvWR, o.cap.MaxSendSGE, o.cap.MaxRecvSGE, o.cap.MaxInline,
		a.QKey, a.RQPSN, a.SQPSN, a.DestQPN, uint32(a.Access),
	} {
		le.PutUint32(b[64+4*i:], x)
	}
	le.PutUint16(b[104:], a.PKeyIndex)
	b[108], b[109] = byte(a.State), byte(a.State)
	b[110], b[111] = a.PathMTU, a.PathMigState
	b[113], b[114], b[115] = a.MaxRdAtomic, a.MaxDestRdAtomic, a.MinRNRTimer
	b[116], b[117], b[118], b[119] = a.Port, a.Timeout, a.RetryCnt, a.RNRRetry
	if o.sigAll {
		b[122] = 1
	}
	return b, nil
}
