package uverbs

import (
	"testing"

	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/hca/ring"
)

// user is a program that issues commands by hand.
type user struct {
	*fakeProgram
	t *testing.T
	r *rig
	c *context
}

func newUser(t *testing.T) *user {
	u := &user{fakeProgram: &fakeProgram{mem: make([]byte, 1<<16)}, t: t, r: newRig(t, Limits{})}
	u.c = u.r.open(t)
	t.Cleanup(func() { u.c.close(); u.fakeProgram.close() })
	return u
}

// write issues one of the older commands with words as input and returns the
// answer and the driver's.
func (u *user) write(number uint32, words ...uint32) (out, driver []byte, err error) {
	for i, w := range words {
		le.PutUint32(u.mem[4096+4*i:], w)
	}
	a := attr{id: 0, len: 4 * len(words), data: base + 4096}
	if a.len <= 8 {
		a.data = le.Uint64(u.mem[4096:])
	}
	clear(u.mem[8192:12288])
	err = u.c.do(u.fakeProgram, u.request(kindDevice, 0, attr{id: 2, len: 8, data: uint64(number)}, a,
		attr{id: 1, len: 128, data: base + 8192}, attr{id: uhwOut, len: 64, data: base + 10240}))
	return u.mem[8192:][:128], u.mem[10240:][:64], err
}

func (u *user) must(number uint32, words ...uint32) (out, driver []byte) {
	u.t.Helper()
	out, driver, err := u.write(number, words...)
	if err != nil {
		u.t.Fatalf("command %#x: %v", number, err)
	}
	return out, driver
}

func (u *user) errno(want unix.Errno, number uint32, words ...uint32) {
	u.t.Helper()
	if _, _, err := u.write(number, words...); errno(err) != want {
		u.t.Errorf("command %#x %v: %v, want %v", number, words, err, want)
	}
}

// made issues a method whose attribute 0 is a new object, and returns it.
func (u *user) made(k kind, attrs ...attr) *object {
	u.t.Helper()
	if err := u.c.do(u.fakeProgram, u.request(k, 0, append([]attr{{id: 0}}, attrs...)...)); err != nil {
		u.t.Fatalf("create %d: %v", k, err)
	}
	return u.c.find(k, le.Uint32(u.mem[hdrLen+8:]))
}

func (u *user) pd() uint32 { out, _ := u.must(3, 0, 0); return le.Uint32(out) }

func (u *user) cq(n int) *object {
	return u.made(kindCQ, attr{id: 1, len: 4, data: uint64(n)}, attr{id: 2, len: 8, data: 1}, attr{id: 4, len: 4}, attr{id: 6, len: 4, data: base + 8192},
		attr{id: uhwOut, len: 16, data: base + 10240})
}

func (u *user) srq(pd uint32, wr int) *object {
	return u.made(kindSRQ, attr{id: 1, data: uint64(pd)}, attr{id: 4, len: 8, data: 3}, attr{id: 5, len: 4, data: uint64(wr)}, attr{id: 6, len: 4, data: 2}, attr{id: 7, len: 4},
		attr{id: 9, len: 8}, attr{id: 11, len: 4, data: base + 8192}, attr{id: 12, len: 4, data: base + 8196}, attr{id: 13, len: 4, data: base + 8200}, attr{id: uhwOut, len: 24, data: base + 10240})
}

func (u *user) qp(typ hca.QPType, pd uint32, cq *object, more ...attr) *object {
	clear(u.mem[4096:4128])
	return u.made(kindQP, append([]attr{{id: 2, data: uint64(pd)}, {id: 4, data: uint64(cq.handle)}, {id: 5, data: uint64(cq.handle)}, {id: 7, len: 8, data: 2},
		{id: 8, len: 20, data: base + 4096}, {id: 9, len: 8, data: uint64(typ)}, {id: 13, len: 20, data: base + 8192}, {id: 14, len: 4, data: base + 8216},
		{id: uhwOut, len: 32, data: base + 10240}}, more...)...)
}

// ah is the input of CREATE_AH.
func ah(pd uint32, last byte, global, port uint32, group bool) []uint32 {
	w := make([]uint32, 14)
	w[4] = pd
	w[8], w[9] = 0xffff0000, 10|uint32(last)<<24
	if group {
		w[9] = 239 | uint32(last)<<24
	}
	w[11] = 1 // sgid index
	w[13] = global<<8 | port<<16
	return w
}

func TestAddressHandles(t *testing.T) {
	u := newUser(t)
	pd := u.pd()
	out, driver := u.must(cmdCreateAH, ah(pd, 2, 1, 1, false)...)
	h := u.c.find(kindAH, le.Uint32(out))
	if h == nil || le.Uint32(driver) != h.ah.Num() || h.ah.Query().DMAC != [6]byte{2, 9} || h.ah.Query().DGID != (hca.GID{10: 0xff, 11: 0xff, 12: 10, 15: 2}) {
		t.Fatalf("% x, driver % x", out[:8], driver[:8])
	}
	u.must(cmdCreateAH, ah(pd, 2, 1, 1, true)...)
	u.errno(unix.EINVAL, cmdCreateAH, ah(pd+77, 2, 1, 1, false)...)
	u.errno(unix.EINVAL, cmdCreateAH, ah(pd, 2, 0, 1, false)...) // by LID
	u.errno(unix.EINVAL, cmdCreateAH, ah(pd, 2, 1, 2, false)...)
	bad := ah(pd, 2, 1, 1, false)
	bad[11] = 7
	u.errno(unix.EINVAL, cmdCreateAH, bad...)
	do := func() error {
		return u.c.do(u.fakeProgram, u.request(kindAH, 0, attr{id: 0, data: uint64(h.handle)}))
	}
	if err := do(); err != nil {
		t.Error(err)
	}
	if err := do(); err != unix.ENOENT {
		t.Errorf("destroyed twice: %v", err)
	}
}

func TestMulticastCommands(t *testing.T) {
	u := newUser(t)
	pd := u.pd()
	q, rc := u.qp(hca.UD, pd, u.cq(10)), u.qp(hca.RC, pd, u.cq(10))
	g := func(h uint32) []uint32 { return []uint32{0, 0, 0xffff0000, 239, h, 0} }
	u.must(0x1e, g(q.handle)...)
	u.must(0x1e, g(q.handle)...)
	u.errno(unix.EINVAL, 0x1e, g(rc.handle)...)
	u.errno(unix.EINVAL, 0x1e, g(q.handle+99)...)
	u.errno(unix.EINVAL, 0x1e, 0, 0, 0xffff0000, 10, q.handle, 0)
	destroy := func() error {
		return u.c.do(u.fakeProgram, u.request(kindQP, 1, attr{id: 0, data: uint64(q.handle)}, attr{id: 1, len: 4, data: base + 8192}))
	}
	if err := destroy(); errno(err) != unix.EBUSY {
		t.Errorf("destroyed while attached: %v", err)
	}
	u.must(0x1f, g(q.handle)...)
	u.errno(unix.EINVAL, 0x1f, g(q.handle)...)
	if err := destroy(); err != nil {
		t.Error(err)
	}
}

func TestSharedReceiveQueues(t *testing.T) {
	u := newUser(t)
	pd := u.pd()
	s := u.srq(pd, 20)
	if le.Uint32(u.mem[8192:]) != 31 || le.Uint32(u.mem[8196:]) != 2 || le.Uint32(u.mem[10240+16:]) != s.handle || le.Uint64(u.mem[10240:]) != uint64(s.sq.Offset) {
		t.Errorf("answer % x, driver % x", u.mem[8192:8204], u.mem[10240:10264])
	}
	u.must(0x21, s.handle, srqLimit, 0, 5)
	if out, _ := u.must(0x22, 0, 0, s.handle, 0); le.Uint32(out) != 31 || le.Uint32(out[4:]) != 2 || le.Uint32(out[8:]) != 5 {
		t.Errorf("query: % x", out[:16])
	}
	u.errno(unix.EINVAL, 0x21, s.handle, srqLimit, 0, 32)
	u.errno(unix.EOPNOTSUPP, 0x21, s.handle, srqMaxWR, 8, 0)
	u.errno(unix.EINVAL, 0x21, s.handle+9, srqLimit, 0, 1)
	q := u.qp(hca.UD, pd, u.cq(10), attr{id: 3, data: uint64(s.handle)})
	if le.Uint64(u.mem[10240:]) != 0 || le.Uint64(u.mem[10240+16:]) == 0 || q.cap.MaxRecvWR != 0 {
		t.Errorf("queues % x, %+v", u.mem[10240:10272], q.cap)
	}
	destroy := func() error {
		return u.c.do(u.fakeProgram, u.request(kindSRQ, 1, attr{id: 0, data: uint64(s.handle)}, attr{id: 1, len: 4, data: base + 8192}))
	}
	if err := destroy(); errno(err) != unix.EBUSY {
		t.Errorf("destroyed in use: %v", err)
	}
	if _, _, err := u.c.destroy(q); err != nil {
		t.Fatal(err)
	}
	if err := destroy(); err != nil {
		t.Error(err)
	}
	if u.c.file.used != 4096 {
		t.Errorf("%d bytes of queues are left, want the completion queue's", u.c.file.used)
	}
}

// TestSRQEvents: a limit and the last work request are told by the names that
// the program gave, and counted until its object is destroyed.
func TestSRQEvents(t *testing.T) {
	u := newUser(t)
	if err := u.c.do(u.fakeProgram, u.request(kindAsync, 0, attr{id: 0})); err != nil {
		t.Fatal(err)
	}
	fd := int(le.Uint32(u.mem[hdrLen+8:]))
	pd := u.pd()
	s := u.srq(pd, 20)
	q := u.qp(hca.UD, pd, u.cq(10), attr{id: 3, data: uint64(s.handle)})
	u.must(0x21, s.handle, srqLimit, 0, 5)
	u.r.srv.do(func() {
		u.c.asyncEvent(hca.Event{Type: hca.EventSRQLimit, SRQ: s.srq})
		u.c.asyncEvent(hca.Event{Type: hca.EventLastWQE, QP: q.qp})
	})
	for _, want := range []struct {
		user uint64
		typ  hca.EventType
	}{{3, hca.EventSRQLimit}, {2, hca.EventLastWQE}} {
		var b [asyncEventLen]byte
		if n, err := unix.Read(fd, b[:]); n != asyncEventLen || err != nil || le.Uint64(b[:]) != want.user || hca.EventType(le.Uint32(b[8:])) != want.typ {
			t.Errorf("event % x, %v", b, err)
		}
	}
	if _, n, err := u.c.destroy(q); n != 1 || err != nil {
		t.Errorf("%d events of the queue pair, %v", n, err)
	}
	if _, n, err := u.c.destroy(s); n != 1 || err != nil {
		t.Errorf("%d events of the SRQ, %v", n, err)
	}
}

// TestResize: the queue moves to other memory, and the directory with it.
func TestResize(t *testing.T) {
	u := newUser(t)
	q := u.cq(10)
	old := q.sq.Queue
	e := ring.CQE{ID: 5}
	e.Encode(q.sq.ring.At(0))
	out, driver := u.must(0x13, 0, 0, q.handle, 100)
	if le.Uint32(out) != 127 || int64(le.Uint64(driver)) != q.sq.Offset || q.sq.Offset == old.Offset || q.sq.Slots != 128 {
		t.Errorf("% x, driver % x, queue %+v", out[:8], driver[:16], q.sq.Queue)
	}
	if got, ok := u.c.file.dir.CQ(q.slot); !ok || got != q.sq.Queue {
		t.Errorf("directory has %+v", got)
	}
	u.errno(unix.EINVAL, 0x13, 0, 0, q.handle, 0)
	u.errno(unix.EINVAL, 0x13, 0, 0, q.handle, hca.MaxCQE+1)
	u.errno(unix.EINVAL, 0x13, 0, 0, q.handle+5, 10)
}

func TestReregister(t *testing.T) {
	u := newUser(t)
	pd, other := u.pd(), u.pd()
	reg := func(start uint64, access uint32) *object {
		out, _ := u.must(9, 0, 0, uint32(start), uint32(start>>32), 4096, 0, uint32(start), uint32(start>>32), pd, access)
		return u.c.find(kindMR, le.Uint32(out))
	}
	m := reg(0x40000, 1)
	rereg := func(flags uint32, start uint32, pd, access uint32) []uint32 {
		return []uint32{0, 0, m.handle, flags, start, 0, 8192, 0, start, 0, pd, access}
	}
	key := m.mr.LKey()
	out, _ := u.must(0xb, rereg(reregRange|reregAccess, 0x50000, 0, 7)...)
	if m.mr.LKey() == key || le.Uint32(out) != m.mr.LKey() || m.mr.Length() != 8192 || m.mr.Access() != 7 || m.start != 0x50000 {
		t.Errorf("% x, %+v", out[:8], m)
	}
	u.must(0xb, rereg(reregPD, 0, other, 0)...)
	u.errno(unix.EINVAL, 0xb, rereg(0, 0, 0, 0)...)
	u.errno(unix.EOPNOTSUPP, 0xb, rereg(8, 0, 0, 0)...)
	u.errno(unix.EINVAL, 0xb, rereg(reregPD, 0, other+9, 0)...)
	u.errno(unix.EINVAL, 0xb, rereg(reregAccess, 0, 0, 2)...) // remote without local write
	bad := rereg(reregRange, 0x50000, 0, 0)
	bad[8]++ // another offset in the page
	u.errno(unix.EINVAL, 0xb, bad...)
	if _, _, err := u.c.destroy(u.c.find(kindPD, pd)); err != nil {
		t.Errorf("the domain that the region left: %v", err)
	}
}
