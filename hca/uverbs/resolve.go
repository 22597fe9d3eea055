package uverbs

import (
	gocontext "context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/internal/wire"
)

// path is an address that a command brings: struct ib_uverbs_qp_dest and
// ib_uverbs_ah_attr, as far as they are the same.
//
//	0 dgid  16 flow label  then, at different offsets: dlid; sgid index, hop
//	limit, traffic class; sl, source path bits, static rate, is_global
type path struct {
	av hca.AddressVector
}

// address returns the address in the arguments of a command; nil if it has none.
func (k *call) address() *path {
	in := k.coreIn()
	switch n := k.u32(2); {
	case n == cmdModifyQP && len(in) >= modifyLen && hca.AttrMask(le.Uint32(in[68:]))&hca.AttrAV != 0:
		return newPath(in[0:], in[20:], in[24:], in[27:])
	case n == cmdCreateAH && len(in) >= createAHLen:
		return newPath(in[24:], in[48:], in[44:], in[50:])
	}
	return nil
}

// newPath reads an address from its parts as above.
func newPath(dgid, dlid, c, sl []byte) *path {
	return &path{av: hca.AddressVector{
		DGID: hca.GID(dgid[0:16]), FlowLabel: le.Uint32(dgid[16:]) & 0xfffff,
		SGIDIndex: c[0], HopLimit: c[1], TrafficClass: c[2],
		DLID: wire.LID(le.Uint16(dlid)), SL: sl[0], PathBits: sl[1], Global: sl[3] != 0,
	}}
}

// writeSlow tells that the command has to find a neighbour.
func writeSlow(k *call) bool {
	p := k.address()
	return p != nil && !k.infiniBand() && !p.av.DGID.IsMulticast()
}

// resolveTime bounds the search for a neighbour.
const resolveTime = 3 * time.Second

// writePrepare finds the next hop of an address vector before the context is
// locked: the namespace may have to ask the network. A group's is made of its
// address.
func writePrepare(k *call) error {
	p := k.address()
	if p != nil && k.infiniBand() { // the address has all that is needed
		k.macOK = true
		return nil
	}
	if p == nil || !p.av.Global { // RoCE knows no addresses but global ones: the command fails
		return nil
	}
	s := k.state()
	i := int(p.av.SGIDIndex)
	if i >= len(s.gids) || !s.gids[i].Valid {
		return hca.ErrNoGID
	}
	if p.av.DGID.IsMulticast() {
		k.macOK = true
		return nil
	}
	ctx, cancel := gocontext.WithTimeout(gocontext.Background(), resolveTime)
	defer cancel()
	n := k.ctx.node
	if n.cfg.Resolve == nil {
		return unix.EHOSTUNREACH
	}
	mac, err := n.cfg.Resolve(ctx, k.ctx.dev, p.av.DGID, s.gids[i].GID)
	if err != nil {
		n.srv.cfg.Log("node %s: %s: no way to %s: %v", n.cfg.Name, k.device().Name, gidText(p.av.DGID), err)
		if e := errno(err); e != unix.EIO {
			return e
		}
		return fmt.Errorf("%w: %w", unix.EHOSTUNREACH, err)
	}
	k.mac, k.macOK = mac, true
	return nil
}
