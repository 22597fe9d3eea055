package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/internal/simtest"
)

func TestTAPSetup(t *testing.T) {
	simtest.Root(t)
	n := newNS(t, "tap")
	c := tapConfig(0x11, "10.9.1.1/24", "fd00:9::1/64")
	c.Routes = []Route{{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParseAddr("10.9.1.254")},
		{netip.MustParsePrefix("::/0"), netip.MustParseAddr("fd00:9::fe")}}
	x := newTAP(t, n, c)
	link := command(t, "ip", "-d", "-n", n.Name(), "link", "show", "eth0")
	for _, want := range []string{"mtu 4200", "02:00:00:00:00:11", "LOWER_UP"} {
		if !strings.Contains(link, want) {
			t.Errorf("no %q in\n%s", want, link)
		}
	}
	addr := command(t, "ip", "-n", n.Name(), "addr", "show", "eth0")
	for _, want := range []string{"10.9.1.1/24", "fd00:9::1/64", "fe80::ff:fe00:11/64"} {
		if !strings.Contains(addr, want) {
			t.Errorf("no %q in\n%s", want, addr)
		}
	}
	if strings.Contains(addr, "tentative") {
		t.Errorf("an address waits for duplicate address detection:\n%s", addr)
	}
	if r := command(t, "ip", "-n", n.Name(), "route"); !strings.Contains(r, "default via 10.9.1.254 dev eth0") {
		t.Errorf("routes:\n%s", r)
	}
	if x.TxQueueLen() < 1000 || x.Index() == 0 {
		t.Errorf("txqueuelen %d, index %d", x.TxQueueLen(), x.Index())
	}
	if f, _ := unix.FcntlInt(uintptr(x.FD()), unix.F_GETFD, 0); f&unix.FD_CLOEXEC == 0 {
		t.Error("children inherit the descriptor")
	}
	for _, up := range []bool{false, true} {
		if err := x.Carrier(up); err != nil {
			t.Fatal(err)
		}
		if out := command(t, "ip", "-n", n.Name(), "link", "show", "eth0"); strings.Contains(out, "NO-CARRIER") == up {
			t.Errorf("carrier %v:\n%s", up, out)
		}
	}
	if _, err := n.AddTAP(c); !errors.Is(err, ErrExists) {
		t.Errorf("a second eth0: %v", err)
	}
	x.Close()
	if out, err := exec.Command("ip", "-n", n.Name(), "link", "show", "eth0").CombinedOutput(); err == nil {
		t.Errorf("eth0 is left:\n%s", out)
	}
}

// TestTAPIndex: an index that was asked for, and no interface left by it.
func TestTAPIndex(t *testing.T) {
	simtest.Root(t)
	n := newNS(t, "tapindex")
	c := tapConfig(0x12, "10.9.2.1/24")
	c.Index = 12345678
	x := newTAP(t, n, c)
	if x.Index() != c.Index {
		t.Errorf("index %d, want %d", x.Index(), c.Index)
	}
	c.Name = "eth1"
	if _, err := n.AddTAP(c); err == nil {
		t.Error("a second interface of that index")
	}
	x.Close()
	if out := command(t, "ip", "-n", n.Name(), "link", "show"); strings.Contains(out, "eth") {
		t.Errorf("interfaces are left:\n%s", out)
	}
}

func TestTAPRefusals(t *testing.T) {
	simtest.Root(t)
	n := newNS(t, "bad")
	fds := func() int { es, _ := os.ReadDir("/proc/self/fd"); return len(es) }
	before := fds()
	for name, change := range map[string]func(*TAPConfig){
		"mtu 67 ":            func(c *TAPConfig) { c.MTU = 67 },
		"mtu 65522 ":         func(c *TAPConfig) { c.MTU = 65522 },
		"one station":        func(c *TAPConfig) { c.MAC[0] = 1 },
		"1 to 15 characters": func(c *TAPConfig) { c.Name = "a234567890123456" },
		"is the gateway with": func(c *TAPConfig) {
			c.Routes = []Route{{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParseAddr("192.0.2.1")}}
		},
	} {
		c := tapConfig(1, "10.9.1.1/24")
		change(&c)
		if _, err := n.AddTAP(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q in: %v", name, err)
		}
	}
	if after := fds(); after > before {
		t.Errorf("%d descriptors leaked", after-before)
	}
}

// batch is a Sink that keeps copies.
type batch struct {
	buf  []byte
	got  [][]byte
	room int
	back int
}

func (s *batch) Buffer(n int) []byte {
	if len(s.buf) < n {
		s.buf = make([]byte, n)
	}
	return s.buf[:n]
}
func (s *batch) Frame(n int) bool {
	s.got = append(s.got, bytes.Clone(s.buf[:n]))
	s.room--
	return s.room > 0
}
func (s *batch) Unused() { s.back++ }

// drain reads until the interface has been silent for a while.
func drain(x *TAP) (n int) {
	b := make([]byte, 70000)
	for quiet := 0; quiet < 20; {
		if k, _ := x.Read(b); k > 0 {
			n, quiet = n+1, 0
		} else {
			quiet++
			time.Sleep(time.Millisecond)
		}
	}
	return n
}

// send makes the namespace's kernel send UDP datagrams to a neighbour that it
// knows.
func send(t *testing.T, n *NS, count, size int) {
	t.Helper()
	command(t, "ip", "-n", n.Name(), "neigh", "replace", "10.9.1.2", "lladdr", "02:00:00:00:00:02", "dev", "eth0")
	err := n.In(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 1<<30)
		b := make([]byte, size)
		for i := range count {
			b[0] = byte(i)
			if err := unix.Sendto(fd, b, 0, &unix.SockaddrInet4{Port: 9, Addr: [4]byte{10, 9, 1, 2}}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTAPReadWrite(t *testing.T) {
	simtest.Root(t)
	n := newNS(t, "io")
	x := newTAP(t, n, tapConfig(1, "10.9.1.1/24"))
	drain(x)
	c0 := x.Counters()
	send(t, n, 10, 100)
	s := &batch{room: 4}
	if more, err := x.ReadBatch(s, 64); !more || err != nil || len(s.got) != 4 {
		t.Fatalf("batch with room for 4: %d frames, more %v, %v", len(s.got), more, err)
	}
	s.room = 100
	if more, err := x.ReadBatch(s, 64); more || err != nil || len(s.got) != 10 || s.back != 1 {
		t.Fatalf("rest: %d frames in all, more %v, %v; %d buffers given back", len(s.got), more, err, s.back)
	}
	for i, f := range s.got {
		if len(f) != 142 || !bytes.Equal(f[:6], []byte{2, 0, 0, 0, 0, 2}) || f[42] != byte(i) {
			t.Errorf("frame %d: %x", i, f)
		}
	}
	if c := x.Counters(); c.RxFrames-c0.RxFrames != 10 || c.RxBytes-c0.RxBytes != 1420 {
		t.Errorf("counters %+v", c)
	}

	// What is written the kernel receives: an ARP request is answered.
	arp := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 2, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1,
		2, 0, 0, 0, 0, 2, 10, 9, 1, 2, 0, 0, 0, 0, 0, 0, 10, 9, 1, 1}
	if !x.Write(arp) {
		t.Fatalf("write: %+v", x.Counters())
	}
	b := make([]byte, 4300)
	k := 0
	for end := time.Now().Add(5 * time.Second); k == 0 && time.Now().Before(end); k, _ = x.Read(b) {
	}
	if k < 42 || !bytes.Equal(b[20:28], []byte{0, 2, 2, 0, 0, 0, 0, 1}) {
		t.Errorf("answer %x", b[:k])
	}
	if x.Write([]byte{1, 2, 3}) || x.Counters().TxError != 1 {
		t.Errorf("a frame of 3 bytes was written: %+v", x.Counters())
	}
	command(t, "ip", "-n", n.Name(), "link", "set", "eth0", "down")
	if x.Write(arp) || x.Counters().TxDown != 1 {
		t.Errorf("a frame was written to an interface that is down: %+v", x.Counters())
	}
}

// The whole burst of a paused sender is kept; TxDropped tells when it is not.
func TestTAPKeepsAndCounts(t *testing.T) {
	simtest.Root(t)
	n := newNS(t, "ring")
	x := newTAP(t, n, tapConfig(1, "10.9.1.1/24"))
	drain(x)
	send(t, n, 5000, 64)
	if k := drain(x); k != 5000 {
		t.Errorf("%d of 5000 frames were kept", k)
	}
	if s, err := x.Kernel(); err != nil || s.Lost() != 0 {
		t.Errorf("kernel %+v, %v", s, err)
	}
	command(t, "ip", "-n", n.Name(), "link", "set", "eth0", "txqueuelen", "10")
	send(t, n, 100, 64)
	switch s, err := x.Kernel(); {
	case err != nil:
		t.Error(err)
	case x.Backpressure() && s.Lost() != 0:
		t.Errorf("with a ring of 10 that stops the qdisc, after 100 frames: %+v", s)
	case !x.Backpressure() && s.TxDropped < 80:
		t.Errorf("with a ring of 10, after 100 frames: %+v", s)
	}
	drain(x)
}

func TestTAPAllocatesNothing(t *testing.T) {
	simtest.Root(t)
	n := newNS(t, "alloc")
	x := newTAP(t, n, tapConfig(1, "10.9.1.1/24"))
	drain(x)
	send(t, n, 300, 64)
	b := make([]byte, 4300)
	f := make([]byte, 60)
	f[0] = 0x02
	if a := testing.AllocsPerRun(200, func() { x.Read(b); x.Write(f) }); a != 0 {
		t.Errorf("%v allocations per frame, want 0", a)
	}
}

// An idle node sends nothing once it is up.
func TestIdleNodeIsSilent(t *testing.T) {
	simtest.Root(t)
	n := newNS(t, "idle")
	x := newTAP(t, n, tapConfig(1, "10.9.1.1/24", "fd00:9::1/64"))
	b := make([]byte, 4300)
	var kinds []string
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for k, _ := x.Read(b); k > 0; k, _ = x.Read(b) {
			// ICMPv6 behind hop-by-hop options: MLD reports (RFC 3810), sent
			// when an interface comes up.
			if k > 62 && b[12] == 0x86 && b[13] == 0xdd && b[20] == 0 && b[62] == 143 {
				continue
			}
			kinds = append(kinds, string(b[:min(k, 64)]))
		}
	}
	if len(kinds) != 0 {
		t.Errorf("%d frames, the first %x", len(kinds), kinds[0])
	}
}

// TestLayer3: a tun device has packets without Ethernet headers, no address of
// its own but those it was given, and an MTU that can be changed.
func TestLayer3(t *testing.T) {
	simtest.Root(t)
	n := newNS(t, "tun")
	x := newTAP(t, n, TAPConfig{Name: "ib0", Layer3: true, MTU: 4092, Addrs: []netip.Prefix{
		netip.MustParsePrefix("10.9.1.1/24"), netip.MustParsePrefix("fd00:9::1/64"), netip.MustParsePrefix("fe80::200:b00:0:101/64")}})
	addr := command(t, "ip", "-n", n.Name(), "addr", "show", "ib0")
	for _, want := range []string{"10.9.1.1/24", "fd00:9::1/64", "fe80::200:b00:0:101/64", "link/none", "NOARP"} {
		if !strings.Contains(addr, want) {
			t.Errorf("no %q in\n%s", want, addr)
		}
	}
	if strings.Count(addr, "fe80::") != 1 {
		t.Errorf("the kernel made up an address:\n%s", addr)
	}
	if err := x.SetMTU(2044); err != nil {
		t.Fatal(err)
	}
	if out := command(t, "ip", "-n", n.Name(), "link", "show", "ib0"); !strings.Contains(out, "mtu 2044") {
		t.Errorf("mtu:\n%s", out)
	}
	ping := exec.Command("ip", "netns", "exec", n.Name(), "ping", "-c", "1", "-W", "1", "-s", "1000", "10.9.1.2")
	if err := ping.Start(); err != nil {
		t.Fatal(err)
	}
	defer ping.Wait()
	b := make([]byte, 4200)
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		k, err := x.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if k == 0 || b[0]>>4 != 4 || b[9] != 1 {
			continue // reports of multicast groups
		}
		if k != 1028 || !bytes.Equal(b[16:20], []byte{10, 9, 1, 2}) {
			t.Errorf("read % x", b[:k])
		}
		// The echo reply goes back the same way.
		copy(b[12:20], []byte{10, 9, 1, 2, 10, 9, 1, 1})
		b[20] = 0
		sum := uint32(b[22])<<8 + uint32(b[23]) + 0x0800
		sum = sum&0xffff + sum>>16
		b[22], b[23] = byte(sum>>8), byte(sum)
		if !x.Write(b[:k]) {
			t.Errorf("not written: %+v", x.Counters())
		}
		if err := ping.Wait(); err != nil {
			t.Errorf("ping: %v", err)
		}
		return
	}
	t.Error("no packet came")
}

// TestWatchAddrs: what users do to the addresses is told.
func TestWatchAddrs(t *testing.T) {
	simtest.Root(t)
	n := newNS(t, "adr")
	x := newTAP(t, n, tapConfig(0x21, "10.9.1.1/24", "fd00:9::1/64"))
	got := make(chan []netip.Prefix, 16)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- x.WatchAddrs(ctx, func(a []netip.Prefix) { got <- a }) }()
	expect := func(want string) {
		t.Helper()
		for end := time.After(5 * time.Second); ; {
			select {
			case a := <-got:
				if s := fmt.Sprint(a); s == want {
					return
				}
			case <-end:
				now, err := x.Addrs()
				t.Fatalf("never told of %s; now %v %v", want, now, err)
			}
		}
	}
	expect("[10.9.1.1/24 fd00:9::1/64 fe80::ff:fe00:21/64]")
	command(t, "ip", "-n", n.Name(), "addr", "add", "10.9.2.1/16", "dev", "eth0")
	expect("[10.9.1.1/24 10.9.2.1/16 fd00:9::1/64 fe80::ff:fe00:21/64]")
	command(t, "ip", "-n", n.Name(), "addr", "del", "fd00:9::1/64", "dev", "eth0")
	expect("[10.9.1.1/24 10.9.2.1/16 fe80::ff:fe00:21/64]")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
