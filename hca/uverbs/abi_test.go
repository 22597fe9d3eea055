package uverbs

import (
	gocontext "context"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/internal/frame"
	"cnuas/internal/seccomp"
	"cnuas/internal/sim"
	"cnuas/internal/simtest"
)

// fakeProgram is a caller whose memory is a slice: addresses begin at base.
type fakeProgram struct {
	mem     []byte
	fds     []int
	invalid bool
	noWrite bool
}

const base = 0x10000

func (p *fakeProgram) at(addr uint64, n int) ([]byte, error) {
	if addr < base || addr-base > uint64(len(p.mem)) || uint64(n) > uint64(len(p.mem))-(addr-base) {
		return nil, unix.EFAULT
	}
	return p.mem[addr-base:][:n], nil
}

func (p *fakeProgram) Read(addr uint64, b []byte) error {
	m, err := p.at(addr, len(b))
	copy(b, m)
	return err
}

func (p *fakeProgram) Write(addr uint64, b []byte) error {
	m, err := p.at(addr, len(b))
	if p.noWrite {
		return unix.EFAULT
	}
	copy(m, b)
	return err
}

func (p *fakeProgram) Valid() bool { return !p.invalid }

func (p *fakeProgram) AddFD(fd int) (int, error) {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		p.fds = append(p.fds, n)
	}
	return n, err
}

func (p *fakeProgram) FileID(fd int) (fileID, error) {
	for _, f := range p.fds { // only its own: the test's other descriptors are not the program's
		if f == fd {
			var st unix.Stat_t
			err := unix.Fstat(fd, &st)
			return fileID{uint64(st.Dev), st.Ino}, err
		}
	}
	return fileID{}, unix.EBADF
}

func (p *fakeProgram) TGID() (int, error) { return os.Getpid(), nil }
func (p *fakeProgram) CheckRange(_, length uint64, _ bool) error {
	if length > 1<<30 {
		return unix.EFAULT
	}
	return nil
}

func (p *fakeProgram) close() {
	for _, fd := range p.fds {
		unix.Close(fd)
	}
	p.fds = nil
}

// rig is a server with one node and no programs.
type rig struct {
	srv  *Server
	node *Node
	sess *session
	eng  *sim.Engine
	pool *frame.Pool
	dev  *hca.Device
}

func newRig(t testing.TB, l Limits) *rig {
	t.Helper()
	simtest.Root(t)
	var mu sync.Mutex
	r := &rig{eng: sim.NewEngine(1), pool: &frame.Pool{}}
	r.dev = hca.New(r.eng, r.pool, nil, hca.Config{Name: "rxe0", GUID: 1})
	r.dev.SetGID(1, hca.GIDEntry{GID: hca.GID{10: 0xff, 11: 0xff, 15: 1}, Valid: true})
	var err error
	if r.srv, err = NewServer(Config{Do: func(f func()) { mu.Lock(); defer mu.Unlock(); f() }, Limits: l}); err != nil {
		t.Fatal(err)
	}
	if r.node, err = r.srv.AddNode(NodeConfig{Name: "h1", Devices: []Device{{HCA: r.dev, Name: "rxe0", NetDev: "eth0", Rate: 100e9}},
		Resolve: func(gocontext.Context, int, hca.GID, hca.GID) ([6]byte, error) { return [6]byte{2, 9}, nil }}); err != nil {
		t.Fatal(err)
	}
	r.sess = &session{srv: r.srv, node: r.node, noteDone: true}
	t.Cleanup(func() {
		if err := r.srv.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) open(t testing.TB) *context {
	t.Helper()
	p, err := openProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.node.newContext(r.sess, 0, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.node.remember(c); err != nil {
		t.Fatal(err)
	}
	return c
}

// attr is an attribute as a program states it.
type attr struct {
	id    uint16
	len   int
	flags uint16
	data  uint64
}

// request lays an ioctl out at base and returns its address.
func (p *fakeProgram) request(object kind, method uint16, attrs ...attr) uint64 {
	b := p.mem
	le.PutUint16(b, uint16(hdrLen+attrLen*len(attrs)))
	le.PutUint16(b[2:], uint16(object))
	le.PutUint16(b[4:], method)
	le.PutUint16(b[6:], uint16(len(attrs)))
	clear(b[8:hdrLen])
	for i, a := range attrs {
		x := b[hdrLen+attrLen*i:]
		le.PutUint16(x, a.id)
		le.PutUint16(x[2:], uint16(a.len))
		le.PutUint16(x[4:], a.flags)
		le.PutUint16(x[6:], 0)
		le.PutUint64(x[8:], a.data)
	}
	return base
}

func (c *context) do(p *fakeProgram, addr uint64) error {
	k, err := decode(c, p, addr)
	if err != nil {
		return err
	}
	return k.finish()
}

// valid returns attributes that pass decoding for every mandatory attribute of
// a method.
func valid(m *method) []attr {
	var list []attr
	for _, s := range m.attrs {
		if s.optional {
			continue
		}
		a := attr{id: s.id, flags: flagMandatory}
		switch s.kind {
		case attrIn:
			a.len = int(s.max)
			if a.len > 8 {
				a.data = base + 4096
			}
		case attrConst:
			a.len = 8
		case attrOut:
			a.len, a.data = int(s.max), base+8192
		}
		list = append(list, a)
	}
	return list
}

// TestSchema walks the table: each method accepts its mandatory attributes, and
// refuses to do without any of them, with too short ones, unknown ones, doubled
// ones and ones whose reserved field is set.
func TestSchema(t *testing.T) {
	r := newRig(t, Limits{})
	c := r.open(t)
	defer c.close()
	seen := map[[2]uint16]bool{}
	for i := range methods {
		m := &methods[i]
		key := [2]uint16{uint16(m.object), m.id}
		if seen[key] {
			t.Errorf("%s: there twice", m.name)
		}
		seen[key] = true
		p := &fakeProgram{mem: make([]byte, 1<<17)}
		dec := func(attrs []attr) error {
			_, err := decode(c, p, p.request(m.object, m.id, attrs...))
			return err
		}
		if err := dec(valid(m)); err != nil {
			t.Errorf("%s: valid attributes: %v", m.name, err)
		}
		for j := range valid(m) {
			a := valid(m)
			id, spec := a[j].id, m.spec(a[j].id)
			if err := dec(append(a[:j:j], a[j+1:]...)); err != unix.EINVAL {
				t.Errorf("%s without attribute %d: %v", m.name, id, err)
			}
			if err := dec(append(valid(m), a[j])); err != unix.EINVAL {
				t.Errorf("%s with attribute %d twice: %v", m.name, id, err)
			}
			if spec.min > 0 {
				b := valid(m)
				b[j].len = int(spec.min) - 1
				if err := dec(b); err != unix.EINVAL {
					t.Errorf("%s with attribute %d too short: %v", m.name, id, err)
				}
			}
			addr := p.request(m.object, m.id, valid(m)...)
			p.mem[hdrLen+attrLen*j+6] = 1
			if _, err := decode(c, p, addr); err != unix.EINVAL {
				t.Errorf("%s with attribute %d reserved: %v", m.name, id, err)
			}
			if spec.kind == attrIn && spec.max > 8 {
				b := valid(m)
				b[j].data = base + 1<<20
				if err := dec(b); err != unix.EFAULT {
					t.Errorf("%s with attribute %d outside memory: %v", m.name, id, err)
				}
				b[j].data, b[j].len = base+4096, int(spec.max)+8
				p.mem[4096+int(spec.max)] = 1
				if err := dec(b); err != unix.EOPNOTSUPP {
					t.Errorf("%s with attribute %d longer and not zero: %v", m.name, id, err)
				}
				p.mem[4096+int(spec.max)] = 0
				if err := dec(b); err != nil {
					t.Errorf("%s with attribute %d longer and zero: %v", m.name, id, err)
				}
			}
		}
		if err := dec(append(valid(m), attr{id: 0x777, flags: flagMandatory})); err != unix.EPROTONOSUPPORT {
			t.Errorf("%s with an unknown mandatory attribute: %v", m.name, err)
		}
		if err := dec(append(valid(m), attr{id: 0x777})); err != nil {
			t.Errorf("%s with an unknown attribute that may be ignored: %v", m.name, err)
		}
		p.invalid = true
		if err := dec(valid(m)); err != unix.ESRCH {
			t.Errorf("%s from a caller that is gone: %v", m.name, err)
		}
	}
	p := &fakeProgram{mem: make([]byte, 1<<16)}
	if _, err := decode(c, p, p.request(kindSRQ, 77)); err != unix.EPROTONOSUPPORT {
		t.Errorf("unknown method: %v", err)
	}
	if _, err := decode(c, p, base+1<<20); err != unix.EFAULT {
		t.Errorf("request outside memory: %v", err)
	}
}

// TestWriteCommands walks the older commands: input or answer too short gives
// ENOSPC, unknown numbers EOPNOTSUPP.
func TestWriteCommands(t *testing.T) {
	r := newRig(t, Limits{})
	c := r.open(t)
	defer c.close()
	do := func(number uint32, in, out int) error {
		p := &fakeProgram{mem: make([]byte, 1<<16)}
		defer p.close()
		a := []attr{{id: 2, len: 8, data: uint64(number), flags: flagMandatory}}
		if in > 0 {
			x := attr{id: 0, len: in, data: base + 4096, flags: flagMandatory}
			if in <= 8 {
				x.data = 0
			}
			a = append(a, x)
		}
		if out > 0 {
			a = append(a, attr{id: 1, len: out, data: base + 8192, flags: flagMandatory})
		}
		return c.do(p, p.request(kindDevice, 0, a...))
	}
	for _, w := range writeCommands {
		if err := do(w.number, w.in-4, w.out); err != unix.ENOSPC {
			t.Errorf("%s with short input: %v", w.name, err)
		}
		if w.out > 0 {
			if err := do(w.number, w.in, w.out-1); err != unix.ENOSPC {
				t.Errorf("%s with a short answer: %v", w.name, err)
			}
			if err := do(w.number, w.in, 0); err != unix.ENOSPC {
				t.Errorf("%s without an answer: %v", w.name, err)
			}
		}
	}
	for _, n := range []uint32{6, 0x12, 0x20, 0x7fff, extended | 0x1a, ^uint32(0)} {
		if err := do(n, 64, 64); err != unix.EOPNOTSUPP {
			t.Errorf("command %#x: %v", n, err)
		}
	}
	for _, n := range []uint32{1, 3, 0x11, extended | 1} {
		w := writeCommandOf(n)
		if err := do(n, w.in, w.out); err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
	}
}

func TestErrno(t *testing.T) {
	for _, x := range errnos {
		if got := errno(x.err); got != x.errno {
			t.Errorf("%v: %v, want %v", x.err, got, x.errno)
		}
	}
	if errno(nil) != 0 || errno(unix.ENODATA) != unix.ENODATA || errno(os.ErrClosed) != unix.EIO {
		t.Error("errno of nil, of an errno or of an unknown error")
	}
	if errno(&seccomp.FeatureError{Feature: seccomp.AddFD, Err: unix.ENOTTY}) != unix.ENOTTY {
		t.Error("a wrapped errno is lost")
	}
}
