package fabric

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"

	"cnuas/hca"
	"cnuas/internal/ipoib"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// ipHost is a node's kernel: it notes what it gets and answers pings.
type ipHost struct {
	i    *ipoib.Interface
	up   bool
	mtu  int
	got  []string
	pong bool
}

func (h *ipHost) LinkChanged(up bool, mtu int) { h.up, h.mtu = up, mtu }

func (h *ipHost) Deliver(p []byte) bool {
	var from netip.Addr
	if p[0]>>4 == 4 {
		from = netip.AddrFrom4(wire.IPv4(p).Src())
	} else {
		from = netip.AddrFrom16(wire.IPv6(p).Src())
	}
	h.got = append(h.got, fmt.Sprintf("%v %s", from, p[len(p)-4:]))
	if h.pong {
		h.send(h.i.Addrs(), from, "pong")
	}
	return true
}

// send sends a packet with the four letters at its end.
func (h *ipHost) send(own []netip.Prefix, to netip.Addr, text string) {
	h.i.Output(append(make([]byte, ipoib.HeaderLen), ipPacket(own, to, 60, text)...))
}

// ipPacket is a packet of UDP without a port, n bytes long.
func ipPacket(own []netip.Prefix, to netip.Addr, n int, text string) []byte {
	b := make([]byte, n)
	copy(b[n-4:], text)
	var src netip.Addr
	for _, p := range own {
		if p.Addr().Is4() == to.Is4() && (!src.IsValid() || p.Contains(to)) {
			src = p.Addr()
		}
	}
	if to.Is4() {
		b[0] = 0x45
		binary.BigEndian.PutUint16(b[2:], uint16(n))
		b[8], b[9] = 64, 17
		s, d := src.As4(), to.As4()
		copy(b[12:], s[:])
		copy(b[16:], d[:])
		return b
	}
	(&wire.IPv6Fields{PayloadLen: n - wire.IPv6Len, NextHeader: 17, HopLimit: 64, Src: src.As16(), Dst: to.As16()}).Encode(b)
	return b
}

// ipLab brings up a fabric with IPoIB and hosts.
func ipLab(t *testing.T, name string, o Options) (*Fabric, []*ipHost) {
	t.Helper()
	f := buildIB(t, load(t, name), o)
	if err := f.StartIPoIB(); err != nil {
		t.Fatal(err)
	}
	var hosts []*ipHost
	for _, n := range f.nodes {
		if len(n.ibs) == 0 {
			continue
		}
		h := &ipHost{i: n.ibs[0].IPoIB()}
		h.i.SetHost(h)
		hosts = append(hosts, h)
	}
	return f, hosts
}

func allUp(hosts []*ipHost) func() bool {
	return func() bool {
		for _, h := range hosts {
			if !h.up {
				return false
			}
		}
		return true
	}
}

// TestIPoIB: interfaces come up by themselves when a subnet manager has been
// there; packets of both versions of IP find their way, to one and to all.
func TestIPoIB(t *testing.T) {
	f, h := ipLab(t, "ib-two-hosts", Options{})
	if !until(f, 5*sim.Second, allUp(h)) {
		t.Fatalf("not up: %+v\n%s", h[0].i.Counters(), f.tableIB())
	}
	if h[0].mtu != 2044 || h[0].i.MLID() == 0 || h[0].i.MLID() != h[1].i.MLID() {
		t.Errorf("mtu %d, MLIDs %v and %v", h[0].mtu, h[0].i.MLID(), h[1].i.MLID())
	}
	f.Engine.RunUntil(f.Engine.Now() + 100*sim.Millisecond)
	h[1].pong = true
	for _, p := range h[1].i.Addrs() {
		h[0].got, h[1].got = nil, nil
		h[0].send(h[0].i.Addrs(), p.Addr(), "ping")
		f.Engine.RunUntil(f.Engine.Now() + 10*sim.Millisecond)
		if len(h[1].got) != 1 || h[1].got[0][len(h[1].got[0])-4:] != "ping" || len(h[0].got) != 1 || h[0].got[0] != p.Addr().String()+" pong" {
			t.Errorf("%v: h2 got %v, h1 got %v\n%+v\n%+v", p.Addr(), h[1].got, h[0].got, h[0].i.Counters(), h[1].i.Counters())
		}
	}
	h[1].pong = false
	for _, to := range []string{"255.255.255.255", "224.0.0.1", "ff02::1"} {
		h[1].got = nil
		h[0].send(h[0].i.Addrs(), netip.MustParseAddr(to), "all!")
		f.Engine.RunUntil(f.Engine.Now() + 10*sim.Millisecond)
		if len(h[1].got) != 1 {
			t.Errorf("to %s: h2 got %v", to, h[1].got)
		}
	}
	if c := h[0].i.Counters(); c.TxPackets != uint64(len(h[1].i.Addrs()))+3 || c.JoinFailures != 0 || c.PathFailures != 0 || c.TxUnresolved+c.TxNoPath+c.TxNoGroup+c.TxOverflow+c.TxFailed != 0 {
		t.Errorf("%+v", c)
	}
	if bad := f.Check(); len(bad) != 0 {
		t.Error(bad)
	}
}

// TestIPoIBResolve: what rdma_cm asks for.
func TestIPoIBResolve(t *testing.T) {
	f, h := ipLab(t, "ib-two-hosts", Options{})
	if !until(f, 5*sim.Second, allUp(h)) {
		t.Fatal("not up")
	}
	f.Engine.RunUntil(f.Engine.Now() + 100*sim.Millisecond) // the switches learn of the group
	p2 := f.Node("h2").ibs[0]
	for _, p := range h[1].i.Addrs() {
		var gid hca.GID
		var err error
		calls := 0
		h[0].i.ResolveIP(p.Addr(), func(g hca.GID, e error) { gid, err = g, e; calls++ })
		f.Engine.RunUntil(f.Engine.Now() + 10*sim.Millisecond)
		if calls != 1 || err != nil || gid != p2.Device().GIDs()[0].GID {
			t.Errorf("%v: %v, %v, %d calls", p.Addr(), gid, err, calls)
		}
		var rec mad.PathRecord
		h[0].i.PathTo(gid, func(r *mad.PathRecord, e error) {
			if err = e; e == nil {
				rec = *r
			}
		})
		f.Engine.RunUntil(f.Engine.Now() + 10*sim.Millisecond)
		if err != nil || rec.DLID != p2.Port().LID() || rec.MTU != mad.MTU4096 && rec.MTU != mad.MTU2048 {
			t.Errorf("path %+v, %v", rec, err)
		}
	}
	for ip, want := range map[string]error{h[0].i.Addrs()[0].Addr().String(): nil, "224.0.0.1": ipoib.ErrInvalid, "::": ipoib.ErrInvalid} {
		got := fmt.Errorf("not called")
		h[0].i.ResolveIP(netip.MustParseAddr(ip), func(_ hca.GID, e error) { got = e })
		if got != want {
			t.Errorf("%s: %v, want %v", ip, got, want)
		}
	}
	start, end := f.Engine.Now(), sim.Time(0)
	var err error
	nobody := h[0].i.Addrs()[0].Masked().Addr().Next().Next().Next().Next().Next()
	h[0].i.ResolveIP(nobody, func(_ hca.GID, e error) { err, end = e, f.Engine.Now() })
	f.Engine.RunUntil(start + 5*sim.Second)
	if err != ipoib.ErrUnreachable || end-start != 3*sim.Second {
		t.Errorf("%v: %v after %v", nobody, err, end-start)
	}
}

// TestIPoIBManagerRestarts: without a manager nothing is up; one that comes
// later brings the interfaces up, and one that replaces it and knows nothing
// gets their groups again.
func TestIPoIBManagerRestarts(t *testing.T) {
	f, h := ipLab(t, "ib-two-hosts", Options{NoSM: true})
	f.Engine.RunUntil(20 * sim.Second)
	if h[0].up || h[1].up || h[0].i.Counters().Joins != 0 {
		t.Fatalf("up without a manager: %+v", h[0].i.Counters())
	}
	h[0].send(h[0].i.Addrs(), h[1].i.Addrs()[0].Addr(), "lost")
	if c := h[0].i.Counters(); c.TxNotJoined != 1 {
		t.Errorf("%+v", c)
	}
	if _, err := f.StartSM("h1", SMOptions{}); err != nil {
		t.Fatal(err)
	}
	if !until(f, 10*sim.Second, allUp(h)) {
		t.Fatalf("not up:\n%+v\n%s", h[0].i.Counters(), f.tableIB())
	}
	f.Engine.RunUntil(f.Engine.Now() + sim.Second)
	exchange := func(when string) {
		t.Helper()
		h[1].got, h[1].pong = nil, false
		h[0].send(h[0].i.Addrs(), h[1].i.Addrs()[0].Addr(), when)
		h[0].send(h[0].i.Addrs(), netip.IPv6LinkLocalAllNodes(), when)
		f.Engine.RunUntil(f.Engine.Now() + 50*sim.Millisecond)
		if len(h[1].got) != 2 {
			t.Errorf("%s: h2 got %v\n%+v\n%+v", when, h[1].got, h[0].i.Counters(), h[1].i.Counters())
		}
	}
	exchange("once")
	if err := f.StopSM("h1"); err != nil {
		t.Fatal(err)
	}
	f.Engine.RunUntil(f.Engine.Now() + 10*sim.Second)
	exchange("none") // what is known stays in use
	joins := h[1].i.Counters().Joins
	if _, err := f.StartSM("h2", SMOptions{}); err != nil {
		t.Fatal(err)
	}
	if !until(f, 30*sim.Second, func() bool { return h[1].i.Counters().Joins > joins }) {
		t.Fatalf("h2 did not join again:\n%+v\n%s", h[1].i.Counters(), f.tableIB())
	}
	f.Engine.RunUntil(f.Engine.Now() + 10*sim.Second)
	if !allUp(h)() {
		t.Error("an interface is down")
	}
	exchange("anew")
}

// TestIPoIBLink: a cable that is pulled takes the interface down, and up again
// when it is back.
func TestIPoIBLink(t *testing.T) {
	f, h := ipLab(t, "ib-two-hosts", Options{})
	if !until(f, 5*sim.Second, allUp(h)) {
		t.Fatal("not up")
	}
	f.Engine.RunUntil(f.Engine.Now() + sim.Second)
	if err := f.SetLink("h2:ib0", false); err != nil {
		t.Fatal(err)
	}
	if !until(f, sim.Second, func() bool { return !h[1].up }) {
		t.Fatal("h2 is up without a link")
	}
	h[0].send(h[0].i.Addrs(), h[1].i.Addrs()[0].Addr(), "void")
	f.Engine.RunUntil(f.Engine.Now() + 10*sim.Second)
	if c := h[0].i.Counters(); c.TxUnresolved != 1 {
		t.Errorf("%+v", c)
	}
	f.SetLink("h2:ib0", true)
	if !until(f, 30*sim.Second, allUp(h)) {
		t.Fatalf("h2 does not come back:\n%s", f.tableIB())
	}
	f.Engine.RunUntil(f.Engine.Now() + sim.Second)
	h[0].send(h[0].i.Addrs(), h[1].i.Addrs()[0].Addr(), "back")
	f.Engine.RunUntil(f.Engine.Now() + 100*sim.Millisecond)
	if len(h[1].got) != 1 {
		t.Errorf("h2 got %v\n%+v", h[1].got, h[0].i.Counters())
	}
}
