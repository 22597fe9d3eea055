package rdmacm

import (
	"context"
	"slices"

	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/hca/cm"
)

// state of an identifier (enum rdma_cm_state of Linux).
type state uint8

const (
	stateIdle state = iota
	stateAddrQuery
	stateAddrResolved
	stateRouteQuery
	stateRouteResolved
	stateConnect
	stateDisconnect
	stateAddrBound
	stateListen
	stateGone
)

// id is what a program's struct rdma_cm_id is here.
type id struct {
	svc    *Service
	file   *file
	handle uint32
	uid    uint64 // the program's name of it; 0: a request it has not accepted
	space  uint16
	typ    hca.QPType

	state     state
	src, dst  address
	hasPort   bool
	dev       *device // nil: any
	sgidIndex uint8
	path      cm.Path
	pathBy    [6]byte // MAC of the next hop, from the look-up
	conn      *cm.Conn
	passive   bool

	reported uint32 // events that the program has been given
	backlog  int
	groups   []*member

	reuse, afOnly bool
	tos           uint8
	ackTimeout    uint8
	qkey          uint32

	look context.CancelFunc // ends the look-up under way; nil: none
}

// udpQKey is RDMA_UDP_QKEY: of datagram queue pairs, unless somebody says
// another.
const udpQKey = 0x01234567

// newID makes an identifier of a file.
func (s *Service) newID(f *file, uid uint64, space uint16, typ hca.QPType) (*id, error) {
	if f.closed || f.ids >= s.cfg.Limits.IDs {
		return nil, unix.ENOMEM
	}
	i := &id{svc: s, file: f, uid: uid, space: space, typ: typ}
	h, ok := s.ids.add(i)
	if !ok {
		return nil, unix.ENOMEM
	}
	i.handle = h
	f.ids++
	return i, nil
}

// id finds an identifier: ENOENT; EINVAL if it belongs to another file.
func (f *file) id(handle uint32) (*id, error) {
	i, ok := f.svc.ids.get(handle)
	switch {
	case !ok:
		return nil, unix.ENOENT
	case i.file != f:
		return nil, unix.EINVAL
	}
	return i, nil
}

// destroy ends the identifier; its events that the program has not got are
// forgotten.
func (i *id) destroy() {
	if i.state == stateGone {
		return
	}
	s, f := i.svc, i.file
	if i.look != nil {
		i.look()
		i.look = nil
	}
	if i.state == stateListen {
		s.listeners--
	}
	i.state = stateGone
	for len(i.groups) > 0 {
		i.groups[0].leave()
	}
	if i.conn != nil {
		i.conn.Destroy()
		i.conn = nil
	}
	s.givePort(i)
	if k := slices.Index(s.native, i); k >= 0 {
		s.native = slices.Delete(s.native, k, k+1)
	}
	s.ids.remove(i.handle)
	f.ids--
	var requests []*id
	f.dropEvents(func(e *event) bool {
		if e.owner == i && e.request != nil {
			requests = append(requests, e.request)
		}
		return e.owner == i || e.request == i
	})
	for _, x := range requests {
		x.destroy()
	}
}

// rc tells whether the identifier is of connections, not of datagrams.
func (i *id) rc() bool { return i.typ != hca.UD }

// headerLen is what the RDMA IP CM service takes of private data.
func (i *id) headerLen() int {
	if i.src.family == afIB || i.dst.family == afIB {
		return 0
	}
	return cm.IPHeaderLen
}

// serviceID that the identifier is bound to, or goes to.
func (i *id) serviceID(a *address) uint64 {
	if a.family == afIB {
		return a.sid
	}
	return cm.ServiceID(i.space, a.port)
}

// dataQKey is the Q_Key of a datagram queue pair of the identifier.
func (i *id) dataQKey() uint32 {
	if i.qkey == 0 {
		return udpQKey
	}
	return i.qkey
}
