package rdmacm

import (
	"testing"

	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/internal/sim"
)

// TestConnection goes the way of rping: with the commands of librdmacm.
func TestConnection(t *testing.T) {
	r := newRig(t, Limits{})
	s, c := r.open(0), r.open(1)
	l := r.create(s, 100, spaceTCP)
	if e := r.bindIP(s, l, ip(0), 7174); e != 0 {
		t.Fatal(e)
	}
	r.must(s, 7, 0, u32(l, 0))

	a := r.create(c, 200, spaceTCP)
	if e := r.resolveIP(c, a, ip(0), 7174); e != 0 {
		t.Fatal(e)
	}
	r.await(c, evAddrResolved, 0)
	r.must(c, 4, 0, u32(a, 2000))
	r.await(c, evRouteResolved, 0)
	route := r.must(c, 5, 208, respond(a, 0))
	if be.Uint64(route) != 0x101 || hca.GID(route[8:24]) != gidOf(ip(0)) || hca.GID(route[24:40]) != gidOf(ip(1)) || le.Uint32(route[192:]) != 1 || route[196] != 1 {
		t.Errorf("route %x", route)
	}
	r.must(c, 6, 0, append(connParams(0x11, "hi"), u32(a, 0, 0, 0)...))
	req := r.await(s, evConnectRequest, 0)
	p := le.Uint32(req[8:])
	if le.Uint64(req) != 100 || p == l || string(req[28:30]) != "hi" || req[eventParam+264] != 56 || le.Uint32(req[20:]) != 0x11 {
		t.Errorf("request %x", req)
	}
	accept := make([]byte, 8, 296)
	le.PutUint64(accept, 101)
	accept = append(append(accept, connParams(0x22, "yes")...), u32(p, 0, 0, 0)...)
	r.must(s, 8, 0, accept)
	rep := r.await(c, evConnectResponse, 0)
	if le.Uint64(rep) != 200 || string(rep[28:31]) != "yes" || le.Uint32(rep[20:]) != 0x22 || rep[eventParam+264] != 196 {
		t.Errorf("response %x", rep)
	}
	rtr := r.must(c, 11, 144, respond(a, uint32(hca.RTR)))
	if le.Uint32(rtr[32:]) != 0x22 || hca.GID(rtr[40:56]) != gidOf(ip(0)) || rtr[60] != 1 || rtr[69] != 1 || rtr[70] != 1 {
		t.Errorf("RTR %x", rtr)
	}
	r.must(c, 8, 0, append(make([]byte, 280), u32(a, 0, 0, 0)...)) // RTU
	est := r.await(s, evEstablished, 0)
	if le.Uint64(est) != 101 || le.Uint32(est[8:]) != p {
		t.Errorf("established %x", est)
	}
	r.must(c, 10, 0, u32(a))
	r.await(s, evDisconnected, 0)
	r.must(s, 10, 0, u32(p))
	r.await(c, evDisconnected, 0)
	r.await(c, evTimeWaitExit, 0)
	r.await(s, evTimeWaitExit, 0)
	if n := le.Uint32(r.must(c, 1, 4, respond(a, 0))); n != 5 {
		t.Errorf("%d events were reported of the client's identifier, want 5", n)
	}
	if n := le.Uint32(r.must(s, 1, 4, respond(p, 0))); n != 3 {
		t.Errorf("%d of the server's connection, want 3", n)
	}
	if n := le.Uint32(r.must(s, 1, 4, respond(l, 0))); n != 1 {
		t.Errorf("%d of the listener, want 1", n)
	}
	r.run(100 * sim.Second)
	for i := range 2 {
		if u := r.svc[i].Usage(); u.IDs != 0 || u.Conns != 0 {
			t.Errorf("node %d: %+v is left", i, u)
		}
	}
}

// TestFileEnds: a program is killed in the midst of everything.
func TestFileEnds(t *testing.T) {
	r := newRig(t, Limits{})
	s, c := r.open(0), r.open(1)
	l := r.create(s, 100, spaceTCP)
	r.bindIP(s, l, ip(0), 9)
	r.must(s, 7, 0, u32(l, 0))
	for k := range 3 {
		a := r.create(c, uint64(200+k), spaceTCP)
		r.resolveIP(c, a, ip(0), 9)
		r.await(c, evAddrResolved, 0)
		r.must(c, 4, 0, u32(a, 0))
		r.await(c, evRouteResolved, 0)
		r.must(c, 6, 0, append(connParams(uint32(0x11+k), ""), u32(a, 0, 0, 0)...))
	}
	req := r.await(s, evConnectRequest, 0)
	p := le.Uint32(req[8:])
	r.must(s, 8, 0, append(append(append([]byte{101, 7: 0}, connParams(0x22, "")...), u32(p, 0)...), make([]byte, 8)...))
	r.await(c, evConnectResponse, 0)
	s.end() // one accepted, two waiting
	for range 3 {
		r.await(c, evRejected, 28)
	}
	c.end()
	r.run(200 * sim.Second)
	for i := range 2 {
		if u := r.svc[i].Usage(); u != (Usage{}) {
			t.Errorf("node %d: %+v is left", i, u)
		}
	}
}

// TestBacklog: requests beyond the backlog wait for the program.
func TestBacklog(t *testing.T) {
	r := newRig(t, Limits{})
	s, c := r.open(0), r.open(1)
	l := r.create(s, 100, spaceTCP)
	r.bindIP(s, l, ip(0), 9)
	r.must(s, 7, 0, u32(l, 2))
	for k := range 3 {
		a := r.create(c, uint64(200+k), spaceTCP)
		r.resolveIP(c, a, ip(0), 9)
		r.await(c, evAddrResolved, 0)
		r.must(c, 4, 0, u32(a, 0))
		r.await(c, evRouteResolved, 0)
		r.must(c, 6, 0, append(connParams(uint32(0x11+k), ""), u32(a, 0, 0, 0)...))
	}
	r.run(10 * sim.Second)
	if n := r.queued(s); n != 2 {
		t.Fatalf("%d requests wait, want 2", n)
	}
	for range 3 {
		r.await(s, evConnectRequest, 0)
	}
}

// TestDatagrams: SIDR, as udaddy uses it.
func TestDatagrams(t *testing.T) {
	r := newRig(t, Limits{})
	s, c := r.open(0), r.open(1)
	l := r.create(s, 100, spaceUDP)
	r.bindIP(s, l, ip(0), 7174)
	r.must(s, 7, 0, u32(l, 0))
	dial := func(port uint16) uint32 {
		a := r.create(c, 200, spaceUDP)
		r.resolveIP(c, a, ip(0), port)
		r.await(c, evAddrResolved, 0)
		r.must(c, 4, 0, u32(a, 0))
		r.await(c, evRouteResolved, 0)
		r.must(c, 6, 0, append(connParams(0, "who"), u32(a, 0, 0, 0)...))
		return a
	}
	a := dial(7174)
	req := r.await(s, evConnectRequest, 0)
	if string(req[60:63]) != "who" || req[eventParam+296] != 180 {
		t.Errorf("request %x", req)
	}
	r.must(s, 8, 0, append(append(append([]byte{101, 7: 0}, connParams(0x22, "me")...), req[8:12]...), make([]byte, 12)...))
	est := r.await(c, evEstablished, 0)
	if le.Uint32(est[20:]) != 0x22 || le.Uint32(est[24:]) != udpQKey || hca.GID(est[28:44]) != gidOf(ip(0)) || string(est[60:62]) != "me" {
		t.Errorf("established %x", est)
	}
	if b := r.must(c, 11, 144, respond(a, uint32(hca.Init))); le.Uint32(b[20:]) != udpQKey {
		t.Errorf("INIT %x", b)
	}
	dial(7175)
	r.await(c, evUnreachable, 1)
	dial(7174)
	req = r.await(s, evConnectRequest, 0)
	rej := make([]byte, 264)
	copy(rej, req[8:12])
	r.must(s, 9, 0, rej)
	r.await(c, evUnreachable, 2)
}

func TestGroups(t *testing.T) {
	r := newRig(t, Limits{Groups: 2})
	f := r.open(0)
	a := r.create(f, 1, spaceUDP)
	join := func(h uint32, addr []byte) ([]byte, unix.Errno) {
		in := make([]byte, 48)
		le.PutUint64(in[8:], 77)
		copy(in[16:], addr)
		le.PutUint32(in[44:], h)
		return r.command(f, 16, 4, in)
	}
	group := sockaddr(ip(0), 0)
	copy(group[4:], []byte{239, 1, 2, 3})
	if _, e := join(a, group); e != unix.EINVAL {
		t.Errorf("before it is bound: %v", e)
	}
	r.bindIP(f, a, ip(0), 0)
	for range 2 {
		if _, e := join(a, group); e != 0 {
			t.Fatal(e)
		}
	}
	if _, e := join(a, group); e != unix.ENOMEM {
		t.Errorf("a third: %v", e)
	}
	if _, e := join(a, sockaddr(ip(1), 0)); e != unix.EINVAL {
		t.Errorf("not a group: %v", e)
	}
	ev := r.await(f, evMulticastJoin, 0)
	m := le.Uint32(ev[8:])
	if le.Uint64(ev) != 77 || le.Uint32(ev[20:]) != 0xffffff || hca.GID(ev[28:44]) != (hca.GID{10: 0xff, 11: 0xff, 12: 239, 13: 1, 14: 2, 15: 3}) {
		t.Errorf("join %x", ev)
	}
	if n := le.Uint32(r.must(f, 17, 4, respond(m, 0))); n != 1 {
		t.Errorf("%d events of the membership", n)
	}
	if _, e := r.command(f, 17, 4, respond(m, 0)); e != unix.ENOENT {
		t.Errorf("leaving twice: %v", e)
	}
	r.must(f, 1, 4, respond(a, 0))
	if _, e := r.event(f); e != unix.EAGAIN {
		t.Error("an event of a membership that is gone")
	}
}

// TestMigrate: an identifier takes its events to another file (rdma_migrate_id).
func TestMigrate(t *testing.T) {
	r := newRig(t, Limits{})
	f, g := r.open(0), r.open(0)
	a := r.create(f, 1, spaceTCP)
	r.resolveIP(f, a, ip(1), 5)
	for r.queued(f) == 0 {
		r.run(sim.Millisecond)
	}
	if _, e := r.with(g, 18, 4, respond(a, 0), nil, fileID{9, 9}); e != unix.EINVAL {
		t.Errorf("from no file: %v", e)
	}
	if _, e := r.with(g, 18, 4, respond(a, 0), nil, f.key); e != 0 {
		t.Fatal(e)
	}
	r.await(g, evAddrResolved, 0)
	if _, e := r.command(f, 1, 4, respond(a, 0)); e != unix.EINVAL {
		t.Errorf("destroyed through the old file: %v", e)
	}
	if n := le.Uint32(r.must(g, 1, 4, respond(a, 0))); n != 1 || f.ids != 0 || g.ids != 0 {
		t.Errorf("%d events, %d and %d identifiers", n, f.ids, g.ids)
	}
}

// TestKilledReader: an event that was handed to a reader who cannot take it goes
// to the next.
func TestKilledReader(t *testing.T) {
	r := newRig(t, Limits{})
	f := r.open(0)
	a := r.create(f, 1, spaceTCP)
	first, second := &reader{got: make(chan *event, 1)}, &reader{got: make(chan *event, 1)}
	r.do(func() {
		f.readers = append(f.readers, first, second)
		i, err := f.id(a)
		if err != nil {
			t.Fatal(err)
		}
		i.post(evAddrResolved, 0, nil)
	})
	f.unget(<-first.got)
	e := <-second.got
	f.unget(e)
	if n := r.queued(f); n != 1 {
		t.Errorf("%d events wait, want 1", n)
	}
	r.await(f, evAddrResolved, 0)
	if n := le.Uint32(r.must(f, 1, 4, respond(a, 0))); n != 1 {
		t.Errorf("%d events were reported, want 1", n)
	}
}
