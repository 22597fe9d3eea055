package uverbs

import (
	"golang.org/x/sys/unix"

	"cnuas/hca"
)

// Read include/uapi/rdma/ib_user_verbs.h before editing. These are the older
// commands, which the library sends through INVOKE_WRITE: a struct in, which
// begins with an unused address where the command has an answer, and a struct
// out.

const (
	maxWriteIn  = 256
	maxWriteOut = 1024
)

// writeCommand is one command: the least lengths of its structs in bytes.
type writeCommand struct {
	number  uint32
	name    string
	in, out int
	run     func(*call, []byte) ([]byte, error)
}

// extended marks commands of the extended numbering.
const extended = 0x80000000

// Commands by number. Others give EOPNOTSUPP.
var writeCommands = []writeCommand{
	{0x00, "GET_CONTEXT", 8, 8, writeGetContext},
	{0x01, "QUERY_DEVICE", 8, 176, func(k *call, _ []byte) ([]byte, error) { return k.queryDevice()[:176], nil }},
	{0x02, "QUERY_PORT", 16, 40, writeQueryPort},
	{0x03, "ALLOC_PD", 8, 4, writeAllocPD},
	{cmdCreateAH, "CREATE_AH", createAHLen, 4, writeCreateAH},
	{0x09, "REG_MR", 40, 12, writeRegMR},
	{0x0b, "REREG_MR", 48, 8, writeReregMR},
	{0x11, "CREATE_COMP_CHANNEL", 8, 4, writeCreateChannel},
	{0x13, "RESIZE_CQ", 16, 8, writeResizeCQ},
	{0x17, "REQ_NOTIFY_CQ", 8, 0, writeReqNotify},
	{0x19, "QUERY_QP", 16, 128, writeQueryQP},
	{cmdModifyQP, "MODIFY_QP", modifyLen, 0, writeModifyQP},
	{0x1e, "ATTACH_MCAST", 24, 0, func(k *call, in []byte) ([]byte, error) { return nil, writeMulticast(k, in, (*hca.QP).Attach) }},
	{0x1f, "DETACH_MCAST", 24, 0, func(k *call, in []byte) ([]byte, error) { return nil, writeMulticast(k, in, (*hca.QP).Detach) }},
	{0x21, "MODIFY_SRQ", 16, 0, writeModifySRQ},
	{0x22, "QUERY_SRQ", 16, 16, writeQuerySRQ},
	{extended | 0x01, "EX_QUERY_DEVICE", 8, 184, func(k *call, in []byte) ([]byte, error) {
		if le.Uint64(in) != 0 {
			return nil, unix.EINVAL
		}
		return k.queryDevice(), nil
	}},
}

const (
	cmdCreateAH = 0x05
	createAHLen = 56
	cmdModifyQP = 0x1a
	modifyLen   = 112
)

func writeCommandOf(n uint32) *writeCommand {
	for i := range writeCommands {
		if writeCommands[i].number == n {
			return &writeCommands[i]
		}
	}
	return nil
}

func (k *call) coreIn() []byte {
	if v := k.get(0); v != nil {
		return v.in[:v.len]
	}
	return nil
}

func invokeWrite(k *call) error {
	w := writeCommandOf(k.u32(2))
	if w == nil {
		return unix.EOPNOTSUPP
	}
	in, room := k.coreIn(), 0
	if v := k.get(1); v != nil {
		room = int(v.len)
	}
	if len(in) < w.in || room < w.out {
		return unix.ENOSPC // how the library probes for this interface
	}
	b, err := w.run(k, in)
	if err != nil {
		return err
	}
	if w.out > 0 {
		k.out(1, b)
	}
	return nil
}

func writeGetContext(k *call, _ []byte) ([]byte, error) {
	n, err := k.newEvents()
	if err != nil {
		return nil, err
	}
	return le.AppendUint32(le.AppendUint32(nil, uint32(n)), 1), nil
}

func writeQueryPort(k *call, in []byte) ([]byte, error) {
	if in[8] != 1 {
		return nil, unix.EINVAL
	}
	s := k.state()
	return s.encode(k.device())[:40], nil
}

func writeAllocPD(k *call, _ []byte) ([]byte, error) {
	c, o := k.ctx, &object{kind: kindPD}
	err := c.add(o)
	if err == nil {
		c.srv.do(func() { o.pd, err = c.hctx.AllocPD() })
	}
	if err != nil {
		c.abandon(o)
		return nil, err
	}
	k.undo = func() { c.abandon(o) }
	return le.AppendUint32(nil, o.handle), nil
}

func writeCreateChannel(k *call, _ []byte) ([]byte, error) {
	_, n, err := k.newChannel(compEventLen, false)
	if err != nil {
		return nil, err
	}
	return le.AppendUint32(nil, uint32(n)), nil
}

func writeReqNotify(k *call, in []byte) ([]byte, error) {
	o := k.ctx.find(kindCQ, le.Uint32(in))
	if o == nil {
		return nil, unix.EINVAL
	}
	k.ctx.srv.do(func() { o.cq.Arm(le.Uint32(in[4:]) != 0) })
	return nil, nil
}
