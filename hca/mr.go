package hca

// MR is a memory region (IBTA vol. 1 §10.6): a range of a program's memory
// that work requests and, if it allows, the remote side may name by a key.
type MR struct {
	pd     *PD
	start  uint64 // in the program's memory
	length uint64
	iova   uint64 // the address by which keys name start
	access Access
	key    uint32
}

const accessKnown = AccessLocalWrite | AccessRemoteWrite | AccessRemoteRead | AccessRemoteAtomic |
	1<<4 | 1<<5 | 1<<7 | // window bind, zero based, huge pages: no effect here
	0x3ff<<20 // IB_ACCESS_OPTIONAL

// accessOnDemand asks for on-demand paging, which the device does not claim.
const accessOnDemand Access = 1 << 6

// RegMR registers length bytes of the program's memory at start, which keys
// name by addresses from iova on. Remote write or atomic access needs local
// write access (IBTA vol. 1 §10.6.3.1).
func (c *Context) RegMR(pd *PD, start, length, iova uint64, acc Access) (*MR, error) {
	if err := c.checkMR(pd, start, length, iova, acc); err != nil {
		return nil, err
	}
	if c.dev.mrs.n >= c.dev.cfg.MaxMR {
		return nil, ErrNoMemory
	}
	m := &MR{pd: pd, start: start, length: length, iova: iova, access: acc}
	c.newKey(m)
	pd.used++
	c.mrs = append(c.mrs, m)
	return m, nil
}

func (c *Context) checkMR(pd *PD, start, length, iova uint64, acc Access) error {
	switch {
	case c.closed || pd == nil || pd.gone || pd.ctx != c:
		return ErrInvalid
	case acc&accessOnDemand != 0:
		return ErrNotSupported
	case acc&^accessKnown != 0:
		return ErrInvalid
	case acc&(AccessRemoteWrite|AccessRemoteAtomic) != 0 && acc&AccessLocalWrite == 0:
		return ErrInvalid
	case start+length < start || iova+length < iova:
		return ErrInvalid
	}
	return nil
}

// newKey enters the region under a key that no other has.
func (c *Context) newKey(m *MR) {
	m.key = 0
	for m.key == 0 || c.dev.mrs.find(m.key) != nil {
		m.key = uint32(c.dev.keys.Uint64())
	}
	c.dev.mrs.insert(m)
}

// Rereg says what MR.Rereg changes; what is nil or false stays.
type Rereg struct {
	PD                  *PD
	Access              *Access
	Range               bool // start, length and iova are given
	Start, Length, IOVA uint64
}

// Rereg changes a registration (IBTA vol. 1 §10.6.6.2). The region has other
// keys afterwards; on error it stays as it is.
func (m *MR) Rereg(r Rereg) error {
	if m.key == 0 {
		return ErrInvalid
	}
	c, pd, acc := m.pd.ctx, m.pd, m.access
	start, length, iova := m.start, m.length, m.iova
	if r.PD != nil {
		pd = r.PD
	}
	if r.Access != nil {
		acc = *r.Access
	}
	if r.Range {
		start, length, iova = r.Start, r.Length, r.IOVA
	}
	if err := c.checkMR(pd, start, length, iova, acc); err != nil {
		return err
	}
	c.dev.mrs.remove(m.key)
	m.pd.used--
	pd.used++
	m.pd, m.start, m.length, m.iova, m.access = pd, start, length, iova, acc
	c.newKey(m)
	return nil
}

// Dereg ends the registration: from now on the keys name nothing.
func (m *MR) Dereg() error {
	if m.key == 0 {
		return ErrInvalid
	}
	m.remove()
	return nil
}

func (m *MR) remove() {
	c := m.pd.ctx
	c.dev.mrs.remove(m.key)
	m.key = 0
	m.pd.used--
	drop(&c.mrs, m)
}

// LKey is the key for local work requests.
func (m *MR) LKey() uint32 { return m.key }

// RKey is the key for the remote side.
func (m *MR) RKey() uint32 { return m.key }

// Access is what the region permits.
func (m *MR) Access() Access { return m.access }

// Length in bytes.
func (m *MR) Length() uint64 { return m.length }

// translate returns where in the program's memory n bytes at addr lie; false
// if they are not all in the region or it lacks an access right of need.
func (m *MR) translate(addr, n uint64, need Access) (uint64, bool) {
	off := addr - m.iova
	if m.access&need != need || addr < m.iova || off > m.length || n > m.length-off {
		return 0, false
	}
	return m.start + off, true
}

// mrTable finds regions by key: open addressing, since a key is random and so
// its own hash. It is looked at for every packet.
type mrTable struct {
	slot []*MR
	n    int
}

func (t *mrTable) init() { t.slot = make([]*MR, 64) }

func (t *mrTable) find(key uint32) *MR {
	mask := uint32(len(t.slot) - 1)
	for i := key & mask; ; i = (i + 1) & mask {
		m := t.slot[i]
		if m == nil || m.key == key {
			return m
		}
	}
}

func (t *mrTable) insert(m *MR) {
	if t.n*2 >= len(t.slot) {
		old := t.slot
		t.slot = make([]*MR, 2*len(old))
		for _, x := range old {
			if x != nil {
				t.place(x)
			}
		}
	}
	t.n++
	t.place(m)
}

func (t *mrTable) place(m *MR) {
	mask := uint32(len(t.slot) - 1)
	i := m.key & mask
	for t.slot[i] != nil {
		i = (i + 1) & mask
	}
	t.slot[i] = m
}

// remove closes the gap that the entry leaves, so that no probe ends early.
func (t *mrTable) remove(key uint32) {
	mask := uint32(len(t.slot) - 1)
	i := key & mask
	for t.slot[i] == nil || t.slot[i].key != key {
		if t.slot[i] == nil {
			return
		}
		i = (i + 1) & mask
	}
	t.n--
	for j := (i + 1) & mask; t.slot[j] != nil; j = (j + 1) & mask {
		home := t.slot[j].key & mask
		if (j-home)&mask >= (j-i)&mask {
			t.slot[i] = t.slot[j]
			i = j
		}
	}
	t.slot[i] = nil
}
