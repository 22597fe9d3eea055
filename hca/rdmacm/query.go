package rdmacm

import (
	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/hca/cm"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// routed tells whether the path is known.
func (i *id) routed() bool {
	return i.state == stateRouteResolved || i.state == stateConnect || i.state == stateDisconnect
}

// queryRoute makes struct rdma_ucm_query_route_resp.
//
//	0 node_guid  8 ib_route[2], 64 bytes each  136 src_addr  164 dst_addr
//	192 num_paths  196 port_num  200 ibdev_index
func queryRoute(c *command) error {
	i, err := c.id(8)
	if err != nil {
		return err
	}
	b := make([]byte, 208)
	i.src.put(b[136:164])
	i.dst.put(b[164:192])
	if d := i.dev; d != nil {
		be.PutUint64(b, d.guid())
		b[196] = 1
		le.PutUint32(b[200:], uint32(d.index))
		if i.routed() {
			putUserPath(b[8:72], &i.path)
			le.PutUint32(b[192:], 1)
		} else {
			sgid, dgid := i.gids()
			copy(b[8:], dgid[:])
			copy(b[24:], sgid[:])
			be.PutUint16(b[52:], d.pkey())
		}
	}
	c.answer = b
	return nil
}

// gids of the ends, as far as they are known.
func (i *id) gids() (sgid, dgid hca.GID) {
	if i.dev == nil {
		return sgid, dgid
	}
	sgid = i.dev.HCA.GIDs()[i.sgidIndex].GID
	if i.state != stateAddrBound && i.state != stateListen {
		dgid = i.path.DGID
	}
	return sgid, dgid
}

// putUserPath makes struct ib_user_path_rec.
//
//	0 dgid  16 sgid  32 dlid  34 slid  36 raw  40 flow label  44 reversible
//	48 mtu  52 pkey  54 hop limit  55 traffic class  56 numb_path  57 sl
//	58 mtu selector  59 rate selector  60 rate  61 lifetime selector
//	62 lifetime  63 preference
func putUserPath(b []byte, p *cm.Path) {
	copy(b, p.DGID[:])
	copy(b[16:], p.SGID[:])
	be.PutUint16(b[32:], uint16(p.DLID))
	be.PutUint16(b[34:], uint16(p.SLID))
	be.PutUint32(b[40:], p.FlowLabel)
	le.PutUint32(b[44:], 1)
	le.PutUint32(b[48:], uint32(p.MTU))
	be.PutUint16(b[52:], p.PKey)
	b[54], b[55], b[56], b[57] = p.HopLimit, p.TrafficClass, 1, p.SL
	b[58], b[59], b[61] = byte(mad.SelExact), byte(mad.SelExact), byte(mad.SelExact)
	b[60], b[62] = byte(p.Rate), byte(p.Lifetime)
}

// Options of QUERY.
const (
	queryAddr = 0
	queryPath = 1
	queryGID  = 2
)

// Layout of struct rdma_ucm_query_addr_resp.
//
//	0 node_guid  8 port_num  10 pkey  12 src_size  14 dst_size  16 src_addr
//	144 dst_addr  272 ibdev_index
const (
	queryAddrLen = 280
	queryAddrMin = 272
)

// query is struct rdma_ucm_query: 0 response  8 id  12 option.
func query(c *command) error {
	i, err := c.id(8)
	if err != nil {
		return err
	}
	option := le.Uint32(c.in[12:])
	switch {
	case option == queryPath:
		c.answer = i.pathData(c.out)
		return nil
	case option != queryAddr && option != queryGID:
		return unix.ENOSYS
	case c.out < queryAddrMin:
		return unix.ENOSPC
	}
	b := make([]byte, queryAddrLen)
	src, dst := i.src, i.dst
	if d := i.dev; d != nil {
		be.PutUint64(b, d.guid())
		b[8] = 1
		be.PutUint16(b[10:], d.pkey())
		le.PutUint32(b[272:], uint32(d.index))
	}
	if option == queryGID {
		sgid, dgid := i.gids()
		key := uint16(wire.DefaultPKey)
		if i.dev != nil {
			key = i.dev.pkey()
		}
		src = address{family: afIB, pkey: key, gid: sgid, sid: i.serviceID(&i.src), mask: ^uint64(0)}
		dst = address{family: afIB, pkey: key, gid: dgid, sid: i.serviceID(&i.dst), mask: ^uint64(0)}
	}
	le.PutUint16(b[12:], uint16(src.put(b[16:144])))
	le.PutUint16(b[14:], uint16(dst.put(b[144:272])))
	c.answer = b
	return nil
}

// Flags of struct ib_path_rec_data: GMP, primary, bidirectional.
const pathFlags = 1 | 1<<1 | 1<<3 | 1<<5

// pathData makes struct rdma_ucm_query_path_resp: 0 num_paths  8 records of
// 8 bytes of flags and a PathRecord.
func (i *id) pathData(room int) []byte {
	b := make([]byte, 8, 80)
	if !i.routed() || room < 80 {
		return b
	}
	le.PutUint32(b, 1)
	b = b[:80]
	le.PutUint32(b[8:], pathFlags)
	p := &i.path
	mad.Encode(&mad.PathRecord{
		DGID: wire.GID(p.DGID), SGID: wire.GID(p.SGID), DLID: p.DLID, SLID: p.SLID, FlowLabel: p.FlowLabel, HopLimit: p.HopLimit,
		TClass: p.TrafficClass, Reversible: true, NumbPath: 1, PKey: p.PKey, SL: p.SL, MTUSelector: mad.SelExact, MTU: p.MTU,
		RateSelector: mad.SelExact, Rate: p.Rate, PacketLifeTimeSelector: mad.SelExact, PacketLifeTime: p.Lifetime,
	}, b[16:80])
	return b
}

// qpAttrLen is the length of struct ib_uverbs_qp_attr.
const qpAttrLen = 144

// initQPAttr is struct rdma_ucm_init_qp_attr: 0 response  8 id  12 qp_state.
func initQPAttr(c *command) error {
	i, err := c.id(8)
	if err != nil {
		return err
	}
	to := le.Uint32(c.in[12:])
	if to > uint32(hca.Err) || i.dev == nil {
		return unix.EINVAL
	}
	var a hca.QPAttr
	var mask hca.AttrMask
	if i.conn == nil || !i.rc() { // before a connection, and for datagrams
		a = hca.QPAttr{State: hca.QPState(to), Port: 1, PKeyIndex: i.path.PKeyIndex}
		mask = hca.AttrState | hca.AttrPKeyIndex | hca.AttrPort
		if i.rc() {
			mask |= hca.AttrAccessFlags
		} else {
			a.QKey = i.dataQKey()
			mask |= hca.AttrQKey
		}
	} else if a, mask, err = i.conn.QPAttr(hca.QPState(to)); err != nil {
		return err
	}
	c.answer = qpAttr(&a, mask)
	return nil
}

// qpAttr makes struct ib_uverbs_qp_attr.
//
//	0 mask  4 state  12 path_mtu  20 qkey  24 rq_psn  28 sq_psn  32 dest_qp_num
//	36 access  40 ah_attr  72 alternate  104 capacities  124 pkey_index
//	130 max_rd_atomic  131 max_dest_rd_atomic  132 min_rnr_timer  133 port
//	134 timeout  135 retry_cnt  136 rnr_retry
func qpAttr(a *hca.QPAttr, mask hca.AttrMask) []byte {
	b := make([]byte, qpAttrLen)
	for off, x := range map[int]uint32{
		0: uint32(mask), 4: uint32(a.State), 12: uint32(a.PathMTU), 20: a.QKey, 24: a.RQPSN, 28: a.SQPSN, 32: a.DestQPN, 36: uint32(a.Access),
	} {
		le.PutUint32(b[off:], x)
	}
	if mask&hca.AttrAV != 0 {
		putAV(b[40:72], &a.AV)
	}
	le.PutUint16(b[124:], a.PKeyIndex)
	b[130], b[131], b[132], b[133] = a.MaxRdAtomic, a.MaxDestRdAtomic, a.MinRNRTimer, a.Port
	b[134], b[135], b[136] = a.Timeout, a.RetryCnt, a.RNRRetry
	return b
}
