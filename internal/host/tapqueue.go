package host

import (
	"errors"
	"fmt"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// qdiscHandle marks the root qdisc that we put on a TAP: what a user puts there
// by tc has a handle of its own, and drops because it was asked to.
var qdiscHandle = netlink.MakeHandle(0xcaa5, 0)

// setQdisc makes the root qdisc a plain queue of txqueuelen frames. The usual
// default, fq_codel, drops frames that wait for more than 5 ms, as they do in
// front of a paused port, and so would break a lossless priority. A kernel
// without pfifo keeps what it has.
func (t *TAP) setQdisc(l netlink.Link) error {
	q := &netlink.GenericQdisc{QdiscType: "pfifo", QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: t.index, Parent: netlink.HANDLE_ROOT, Handle: qdiscHandle,
	}}
	err := t.ns.nl.QdiscReplace(q)
	if err == nil {
		t.qdisc = q.QdiscType
		return nil
	}
	if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("set the qdisc pfifo: %w", err)
	}
	root, err := t.root(l)
	if err != nil {
		return err
	}
	t.qdisc = "none"
	if root != nil {
		t.qdisc = root.Type()
	}
	return nil
}

// root finds the interface's root qdisc; nil if there is none.
func (t *TAP) root(l netlink.Link) (netlink.Qdisc, error) {
	all, err := t.ns.nl.QdiscList(l)
	if err != nil {
		return nil, fmt.Errorf("list qdiscs: %w", err)
	}
	for _, q := range all {
		if q.Attrs().Parent == netlink.HANDLE_ROOT {
			return q, nil
		}
	}
	return nil, nil
}

// qdiscLoss adds up the drops of qdiscs: the counter of each goes with it.
type qdiscLoss struct {
	mu         sync.Mutex
	gone, last uint64
}

// reading takes the counter of the present qdisc, if it could be read, and
// returns the sum.
func (q *qdiscLoss) reading(n uint64, ok bool) uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !ok {
		return q.gone + q.last
	}
	if n < q.last {
		q.gone += q.last
	}
	q.last = n
	return q.gone + n
}

// qdiscDropped is what our qdisc, or the kernel's own (handle 0), dropped. A
// listing that fails, as it may for a qdisc of the user's that netlink does not
// understand, must not hide what the driver counts.
func (t *TAP) qdiscDropped(l netlink.Link) uint64 {
	q, err := t.root(l)
	n := uint64(0)
	if q != nil && (q.Attrs().Handle == qdiscHandle || q.Attrs().Handle == 0) {
		if s := q.Attrs().Statistics; s != nil && s.Queue != nil {
			n = uint64(s.Queue.Drops)
		}
	}
	return t.lost.reading(n, err == nil)
}
