package rdmacm

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"cnuas/internal/sim"
)

// TestHostileCommands: what a program must not say.
func TestHostileCommands(t *testing.T) {
	r := newRig(t, Limits{IDs: 8})
	f, g := r.open(0), r.open(0)
	a, other := r.create(f, 1, spaceTCP), r.create(g, 2, spaceTCP)
	ud := r.create(f, 3, spaceUDP)
	storage := func(size uint16, addr []byte) []byte { // of BIND
		b := make([]byte, 136)
		le.PutUint32(b, a)
		le.PutUint16(b[4:], size)
		copy(b[8:], addr)
		return b
	}
	sock := func(off, n int, addr []byte, h uint32, hoff int) []byte {
		b := make([]byte, n)
		copy(b[off:], addr)
		le.PutUint32(b[hoff:], h)
		return b
	}
	mapped := make([]byte, 28)
	le.PutUint16(mapped, unix.AF_INET6)
	copy(mapped[18:], []byte{0xff, 0xff, 10, 0, 0, 1})
	create := func(space uint16, typ byte) []byte {
		b := make([]byte, 24)
		le.PutUint16(b[16:], space)
		b[18] = typ
		return b
	}
	for _, c := range []struct {
		name string
		n    uint32
		room int
		in   []byte
		want unix.Errno
	}{
		{"unknown command", 23, 0, nil, unix.EINVAL},
		{"huge command", 0xffffffff, 0, nil, unix.EINVAL},
		{"GET_OPTION", 13, 0, nil, unix.ENOSYS},
		{"short struct", 0, 4, make([]byte, 23), unix.EINVAL},
		{"no room", 0, 3, create(spaceTCP, 0), unix.ENOSPC},
		{"port space", 0, 4, create(7, 0), unix.EINVAL},
		{"type of an IB service", 0, 4, create(spaceIB, 9), unix.EINVAL},
		{"no event", 12, eventLen, make([]byte, 8), unix.EAGAIN},
		{"no room for an event", 12, eventMinLen - 1, make([]byte, 8), unix.ENOSPC},
		{"destroy nothing", 1, 4, respond(999, 0), unix.ENOENT},
		{"destroy what is another's", 1, 4, respond(other, 0), unix.EINVAL},
		{"bind to a stranger's address", 2, 0, sock(8, 40, sockaddr(ip(1), 5), a, 36), unix.ENODEV},
		{"bind to no family", 2, 0, sock(8, 40, nil, a, 36), unix.EINVAL},
		{"bind to a mapped address", 2, 0, sock(8, 40, mapped, a, 36), unix.EINVAL},
		{"bind, size too large", 20, 0, storage(129, sockaddr(ip(0), 1)), unix.EINVAL},
		{"bind, size not the family's", 20, 0, storage(28, sockaddr(ip(0), 1)), unix.EINVAL},
		{"bind, size too small", 20, 0, storage(1, sockaddr(ip(0), 1)), unix.EINVAL},
		{"bind to a GID that is none", 20, 0, storage(48, append([]byte{afIB, 7: 0}, bytes.Repeat([]byte{1}, 40)...)), unix.ENODEV},
		{"resolve the wildcard", 3, 0, sock(28, 64, sockaddr(anyOf(unix.AF_INET).ip, 1), a, 56), unix.EINVAL},
		{"resolve nothing", 3, 0, sock(28, 64, nil, a, 56), unix.EINVAL},
		{"route before the address", 4, 0, u32(a, 0), unix.EINVAL},
		{"connect before the route", 6, 0, append(connParams(1, ""), u32(a, 0)...), unix.EINVAL},
		{"connect without parameters", 6, 0, append(make([]byte, 272), u32(a, 0)...), unix.EINVAL},
		{"accept nothing", 8, 0, append(append(make([]byte, 8), connParams(1, "")...), u32(a, 0)...), unix.EINVAL},
		{"confirm nothing", 8, 0, append(make([]byte, 280), u32(a, 0)...), unix.EINVAL},
		{"reject nothing", 9, 0, sock(0, 264, u32(a), a, 0), unix.EINVAL},
		{"reject, reason", 9, 0, append(append(u32(a), 0, 4, 0, 0), make([]byte, 256)...), unix.EINVAL},
		{"disconnect nothing", 10, 0, u32(a), unix.EINVAL},
		{"queue pair without a device", 11, 144, respond(a, 1), unix.EINVAL},
		{"notify", 15, 0, u32(a, 4), unix.EINVAL},
		{"query what there is not", 19, 280, respond(a, 9), unix.ENOSYS},
		{"query, no room", 19, 271, respond(a, 0), unix.ENOSPC},
		{"join with a connection", 16, 4, sock(16, 48, sockaddr(ip(0), 0), a, 44), unix.EINVAL},
		{"join without a device", 16, 4, sock(16, 48, sockaddr(ip(0), 0), ud, 44), unix.EINVAL},
		{"join, flags", 22, 4, append(append(append(make([]byte, 16), u32(ud)...), 16, 0, 2, 0), make([]byte, 128)...), unix.EINVAL},
		{"leave nothing", 17, 4, respond(5, 0), unix.ENOENT},
	} {
		if _, e := r.command(f, c.n, c.room, c.in); e != c.want {
			t.Errorf("%s: %v, want %v", c.name, e, c.want)
		}
	}
	option := func(level, name uint32, v []byte) unix.Errno {
		in := append(make([]byte, 8), u32(a, level, name, uint32(len(v)))...)
		_, e := r.with(f, 14, 0, in, v, fileID{})
		return e
	}
	for _, c := range []struct {
		level, name uint32
		v           []byte
		want        unix.Errno
	}{
		{0, 0, []byte{8}, 0}, {0, 0, []byte{8, 0}, unix.EINVAL}, {0, 1, u32(1), 0}, {0, 1, []byte{1}, unix.EINVAL}, {0, 2, u32(1), 0},
		{0, 3, []byte{31}, 0}, {0, 3, []byte{32}, unix.EINVAL}, {0, 4, nil, unix.ENOSYS}, {1, 1, make([]byte, 72), unix.ENOSYS}, {2, 0, []byte{1}, unix.ENOSYS},
	} {
		if e := option(c.level, c.name, c.v); e != c.want {
			t.Errorf("option %d.%d of %d bytes: %v, want %v", c.level, c.name, len(c.v), e, c.want)
		}
	}
	for k := 0; ; k++ {
		in := create(spaceTCP, 0)
		if _, e := r.command(f, 0, 4, in); e == unix.ENOMEM {
			if k != 6 {
				t.Errorf("%d more identifiers, want 6", k)
			}
			break
		}
	}
}

// TestPorts: who may bind to what.
func TestPorts(t *testing.T) {
	r := newRig(t, Limits{})
	f := r.open(0)
	any4, any6 := anyOf(unix.AF_INET).ip, anyOf(unix.AF_INET6).ip
	fresh := func(reuse bool) uint32 {
		h := r.create(f, 1, spaceTCP)
		if reuse {
			r.with(f, 14, 0, append(make([]byte, 8), u32(h, 0, 1, 4)...), u32(1), fileID{})
		}
		return h
	}
	a := fresh(false)
	if e := r.bindIP(f, a, ip(0), 100); e != 0 {
		t.Fatal(e)
	}
	for _, h := range []struct {
		h     uint32
		e     unix.Errno
		wants unix.Errno
	}{
		{0, r.bindIP(f, fresh(false), ip(0), 100), unix.EADDRINUSE},
		{0, r.bindIP(f, fresh(false), any4, 100), unix.EADDRINUSE},
		{0, r.bindIP(f, fresh(false), any6, 100), unix.EADDRINUSE},
		{0, r.bindIP(f, r.create(f, 1, spaceUDP), ip(0), 100), 0},
		{0, r.bindIP(f, fresh(true), ip(0), 101), 0},
		{0, r.bindIP(f, fresh(true), ip(0), 101), 0},
		{0, r.bindIP(f, fresh(false), ip(0), 101), unix.EADDRINUSE},
		{0, r.bindIP(f, a, ip(0), 102), unix.EINVAL},
	} {
		if h.e != h.wants {
			t.Errorf("%v, want %v", h.e, h.wants)
		}
	}
	x, y := fresh(true), fresh(true)
	r.bindIP(f, x, any4, 103)
	r.bindIP(f, y, any4, 103)
	if _, e := r.command(f, 7, 0, u32(x, 0)); e != unix.EADDRINUSE {
		t.Errorf("listener on a port that others have: %v", e)
	}
	r.must(f, 1, 4, respond(y, 0))
	r.must(f, 7, 0, u32(x, 0))
	if e := r.bindIP(f, fresh(true), any4, 103); e != unix.EADDRINUSE {
		t.Errorf("bound to a listener's port: %v", e)
	}
	z := fresh(false)
	r.bindIP(f, z, ip(0), 0)
	b := r.must(f, 5, 208, respond(z, 0))
	if p := be.Uint16(b[138:]); p < firstEphemeral || p > lastEphemeral {
		t.Errorf("port %d", p)
	}
	r.must(f, 1, 4, respond(a, 0))
	if e := r.bindIP(f, fresh(false), ip(0), 100); e != 0 {
		t.Errorf("after the port was given back: %v", e)
	}
}

// TestEventsAreBounded: a program that fetches no events gets no more.
func TestEventsAreBounded(t *testing.T) {
	r := newRig(t, Limits{Events: 5})
	f := r.open(0)
	a := r.create(f, 1, spaceTCP)
	stranger := ip(8)
	n := 0
	for range 100 {
		if e := r.resolveIP(f, a, stranger, 5); e == unix.ENOMEM {
			break
		} else if e == 0 {
			for r.queued(f) == n {
				r.run(sim.Millisecond)
			}
			n++
		}
	}
	if n != 5 {
		t.Errorf("%d failed look-ups, want 5", n)
	}
	r.await(f, evAddrError, -int32(unix.EHOSTUNREACH))
}

// play throws commands at a file.
func (r *rig) play(f, g *file, script []byte) {
	for len(script) >= 8 {
		n, h, at, x := uint32(script[0])%24, script[1], int(script[2]), script[3]
		in := make([]byte, 304)
		if n < uint32(len(kinds)) && x&1 == 0 {
			in = in[:kinds[n].len]
		}
		for k := range in {
			if x&2 == 0 && k%7 == 0 {
				in[k] = script[4+k%4]
			}
		}
		if len(in) >= 28 { // an address that is one
			copy(in[at%(len(in)-16):], sockaddr(ip(int(x)>>2&1), uint16(script[4])))
		}
		switch n { // handles where the command has them
		case 1, 5, 11, 17, 19:
			copy(in[8:], u32(uint32(h%8), uint32(x%8)))
		case 4, 7, 9, 10, 14, 15, 20, 21:
			copy(in, u32(uint32(h%8)))
		case 3:
			copy(in[28:], sockaddr(ip(1), uint16(script[4])))
			copy(in[56:], u32(uint32(h%8), 100))
		case 2:
			copy(in[36:], u32(uint32(h%8)))
		case 6:
			copy(in, connParams(uint32(at), "x"))
			copy(in[272:], u32(uint32(h%8)))
		case 8:
			copy(in[8:], connParams(uint32(at), "x"))
			copy(in[280:], u32(uint32(h%8)))
		case 0:
			copy(in[16:], []byte{6, 1})
			if x&8 != 0 {
				in[16] = 0x11
			}
		}
		who := f
		if x&16 != 0 {
			who = g
		}
		r.with(who, n, int(at)*2, in, script[4:4+x%5], g.key)
		if x&32 != 0 {
			r.run(sim.Time(script[5]) * sim.Millisecond)
		}
		script = script[8:]
	}
}

// FuzzCommands: no sequence of commands of two programs breaks anything or
// leaves anything behind.
func FuzzCommands(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		b := make([]byte, 800)
		for k := range b {
			b[k] = byte(rng.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		r := newRig(t, Limits{IDs: 16, Events: 64})
		a, b := r.open(0), r.open(1)
		r.play(a, b, script[:min(len(script), 4096)])
		a.end()
		b.end()
		r.run(400 * sim.Second)
		for i := range 2 {
			if u := r.svc[i].Usage(); u != (Usage{}) {
				t.Errorf("node %d: %+v is left", i, u)
			}
		}
	})
}
