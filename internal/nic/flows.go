package nic

import "cnuas/hca/cc"

// DefaultFlows is how many flows a NIC remembers if it is not told.
const DefaultFlows = 1024

// flow is one direction of a connection: from a peer to a queue pair of the
// kernel.
type flow struct {
	peer   [16]byte // IP address, IPv4 mapped into IPv6
	local  uint32   // queue pair of the kernel
	remote uint32   // queue pair of the peer, if known
	known  bool

	asked, answered bool   // a request, a reply was received
	request, reply  uint32 // PSN of the last of each

	in, out uint16 // UDP source port of what arrives and of what the kernel sends
	used    bool

	np cc.NotificationPoint
	rp cc.ReactionPoint // nil: CNPs are only counted

	nextLocal, nextRemote int32 // in the chain of the hash; -1: the end
}

// flowTable holds a fixed number of flows: the oldest goes for a new one, and
// is learned again if it still lives. It allocates nothing once it is made.
type flowTable struct {
	flows    []flow
	byLocal  []int32 // first flow by hash of peer and local, -1: none
	byRemote []int32 // the same by peer and remote, of known flows
	next     int     // the one to be replaced
	unknown  int     // used flows whose remote is not known
}

func (t *flowTable) init(n int) {
	size := 2
	for size < 2*n {
		size *= 2
	}
	t.flows, t.byLocal, t.byRemote = make([]flow, n), make([]int32, size), make([]int32, size)
	for i := range size {
		t.byLocal[i], t.byRemote[i] = -1, -1
	}
}

func (t *flowTable) hash(peer *[16]byte, qpn uint32) int {
	h := uint64(qpn)
	for _, b := range peer {
		h = (h ^ uint64(b)) * 0x100000001b3 // FNV-1a
	}
	return int((h ^ h>>29) & uint64(len(t.byLocal)-1))
}

// local finds the flow to a queue pair of the kernel; nil if there is none.
func (t *flowTable) local(peer *[16]byte, qpn uint32) *flow {
	for i := t.byLocal[t.hash(peer, qpn)]; i >= 0; i = t.flows[i].nextLocal {
		if f := &t.flows[i]; f.local == qpn && f.peer == *peer {
			return f
		}
	}
	return nil
}

// remote finds the flow from a queue pair of the peer; nil if none is known.
func (t *flowTable) remote(peer *[16]byte, qpn uint32) *flow {
	for i := t.byRemote[t.hash(peer, qpn)]; i >= 0; i = t.flows[i].nextRemote {
		if f := &t.flows[i]; f.remote == qpn && f.peer == *peer {
			return f
		}
	}
	return nil
}

// add makes a flow in the place of the oldest.
func (t *flowTable) add(peer *[16]byte, qpn uint32) *flow {
	i := int32(t.next)
	t.next = (t.next + 1) % len(t.flows)
	f := &t.flows[i]
	if f.used {
		t.forget(f)
		t.unknown--
		p := &t.byLocal[t.hash(&f.peer, f.local)]
		for *p != i {
			p = &t.flows[*p].nextLocal
		}
		*p = f.nextLocal
	}
	head := &t.byLocal[t.hash(peer, qpn)]
	*f = flow{peer: *peer, local: qpn, used: true, nextLocal: *head}
	*head = i
	t.unknown++
	return f
}

// learn binds flow i to the peer's queue pair.
func (t *flowTable) learn(i int, qpn uint32) *flow {
	f := &t.flows[i]
	head := &t.byRemote[t.hash(&f.peer, qpn)]
	f.remote, f.known, f.nextRemote = qpn, true, *head
	*head = int32(i)
	t.unknown--
	return f
}

// forget takes the binding back: the connection is another one.
func (t *flowTable) forget(f *flow) {
	if !f.known {
		return
	}
	p := &t.byRemote[t.hash(&f.peer, f.remote)]
	for &t.flows[*p] != f {
		p = &t.flows[*p].nextRemote
	}
	*p = f.nextRemote
	f.known = false
	t.unknown++
}
