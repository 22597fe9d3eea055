package rdmacm

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/hca"
	mads "cnuas/hca/mad"
	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/nic"
	"cnuas/internal/qdisc"
	"cnuas/internal/sim"
)

// rig is two nodes joined by a link, in virtual time, and what their programs
// write to rdma_cm.
type rig struct {
	t   testing.TB
	mu  sync.Mutex
	eng *sim.Engine
	svc [2]*Service
	dev [2]*hca.Device
}

func ip(i int) netip.Addr     { return netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}) }
func macOf(i int) [6]byte     { return [6]byte{2, 0, 0, 0, 0, byte(i + 1)} }
func (r *rig) do(f func())    { r.mu.Lock(); defer r.mu.Unlock(); f() }
func (r *rig) run(d sim.Time) { r.do(func() { r.eng.RunUntil(r.eng.Now() + d) }) }

func newRig(t testing.TB, lim Limits) *rig {
	r := &rig{t: t, eng: sim.NewEngine(3)}
	pool := &frame.Pool{}
	var nics [2]*nic.NIC
	for i := range 2 {
		n := nic.New(r.eng, pool, nic.Config{Name: "eth0", MAC: macOf(i), Classifier: qdisc.Classifier{}})
		d := hca.New(r.eng, pool, nil, hca.Config{Name: "rxe0", GUID: uint64(0x100 + i), MAC: macOf(i), KeySeed: [32]byte{byte(i)}})
		d.SetKick(n.Kick)
		n.SetSource(d)
		d.SetGID(0, hca.GIDEntry{GID: hca.GID{0: 0xfe, 1: 0x80, 15: byte(i + 1)}, Valid: true})
		d.SetGID(1, hca.GIDEntry{GID: gidOf(ip(i)), Valid: true})
		nics[i], r.dev[i] = n, d
		var err error
		r.svc[i], err = New(Config{
			Node: "n", Devices: []Device{{HCA: d, MADs: mads.New(d, r.eng.NewProc()), Rate: 10e9}}, Proc: r.eng.NewProc, Do: r.do, Limits: lim,
			Route: func(_ context.Context, dst, src netip.Addr) (Route, error) {
				for k := range 2 {
					if dst == ip(k) || dst.IsMulticast() {
						return Route{Src: ip(i), Hop: dst, MAC: macOf(k)}, nil
					}
				}
				return Route{Dev: -1}, unix.EHOSTUNREACH
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := link.Connect(nics[0].Port(), nics[1].Port(), link.Config{Rate: 10 * link.Gbps, Delay: sim.Microsecond}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, s := range r.svc {
			s.Close()
		}
		r.run(1000 * sim.Second)
		if n := pool.Live(); n != 0 {
			t.Errorf("%d frames are alive", n)
		}
	})
	return r
}

// open opens the file of node i, without a terminal.
func (r *rig) open(i int) *file {
	s := r.svc[i]
	f := &file{svc: s, done: make(chan struct{}), quit: make(chan struct{}), kick: make(chan struct{}, 1), release: func() {}, tty: &tty{closed: true}}
	r.do(func() {
		f.key = fileID{uint64(i), uint64(len(s.files))}
		s.files[f.key] = f
	})
	return f
}

// command writes one: its number, room for the answer and the struct.
func (r *rig) command(f *file, n uint32, room int, in []byte) ([]byte, unix.Errno) {
	return r.with(f, n, room, in, nil, fileID{})
}

func (r *rig) with(f *file, n uint32, room int, in, option []byte, other fileID) ([]byte, unix.Errno) {
	hdr := le.AppendUint32(nil, n)
	hdr = le.AppendUint16(hdr, uint16(len(in)))
	hdr = le.AppendUint16(hdr, uint16(room))
	n, k, c, e := f.parse(hdr, uint64(len(in)+headerLen))
	if e != 0 {
		return nil, e
	}
	copy(c.in[:k], in)
	c.other = other
	if n == cmdGetEvent {
		return r.event(f)
	}
	err := f.run(n, c, option)
	if err != nil {
		return nil, errno(err)
	}
	return c.answer[:min(len(c.answer), c.out)], 0
}

// event is GET_EVENT of a file with O_NONBLOCK.
func (r *rig) event(f *file) (b []byte, e unix.Errno) {
	r.do(func() {
		if len(f.events) == 0 {
			e = unix.EAGAIN
			return
		}
		x := f.events[0]
		f.events = f.events[1:]
		x.account(1)
		b = x.resp[:]
	})
	return b, e
}

// queued is how many events wait.
func (r *rig) queued(f *file) (n int) {
	r.do(func() { n = len(f.events) })
	return n
}

// await runs the engine until the file has an event, and checks which.
func (r *rig) await(f *file, kind uint32, status int32) []byte {
	r.t.Helper()
	for range 2000 {
		if b, e := r.event(f); e == 0 {
			if k, s := le.Uint32(b[12:]), int32(le.Uint32(b[16:])); k != kind || s != status {
				r.t.Fatalf("event %d, status %d, want %d, %d", k, s, kind, status)
			}
			return b
		}
		r.run(10 * sim.Millisecond)
		time.Sleep(time.Millisecond) // look-ups are on goroutines
	}
	r.t.Fatalf("no event %d", kind)
	return nil
}

// must is command for one that has to succeed.
func (r *rig) must(f *file, n uint32, room int, in []byte) []byte {
	r.t.Helper()
	b, e := r.command(f, n, room, in)
	if e != 0 {
		r.t.Fatalf("%s: %v", kinds[n].name, e)
	}
	return b
}

func sockaddr(a netip.Addr, port uint16) []byte {
	b := make([]byte, 28)
	x := ipAddress(a, port)
	x.put(b)
	return b
}

func (r *rig) create(f *file, uid uint64, space uint16) uint32 {
	r.t.Helper()
	in := make([]byte, 24)
	le.PutUint64(in, uid)
	le.PutUint16(in[16:], space)
	return le.Uint32(r.must(f, 0, 4, in))
}

func (r *rig) bindIP(f *file, h uint32, a netip.Addr, port uint16) unix.Errno {
	in := make([]byte, 40)
	copy(in[8:], sockaddr(a, port))
	le.PutUint32(in[36:], h)
	_, e := r.command(f, 2, 0, in)
	return e
}

func (r *rig) resolveIP(f *file, h uint32, a netip.Addr, port uint16) unix.Errno {
	in := make([]byte, 64)
	copy(in[28:], sockaddr(a, port))
	le.PutUint32(in[56:], h)
	le.PutUint32(in[60:], 2000)
	_, e := r.command(f, 3, 0, in)
	return e
}

// u32 are the bytes of some numbers.
func u32(v ...uint32) (b []byte) {
	for _, x := range v {
		b = le.AppendUint32(b, x)
	}
	return b
}

// respond is a struct that begins with the address of the answer.
func respond(v ...uint32) []byte { return append(make([]byte, 8), u32(v...)...) }

func connParams(qpn uint32, data string) []byte {
	b := make([]byte, 272)
	le.PutUint32(b, qpn)
	copy(b[8:], data)
	b[264], b[266], b[267], b[269], b[270], b[271] = byte(len(data)), 2, 3, 7, 7, 1
	return b
}
