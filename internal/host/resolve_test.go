package host

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/internal/simtest"
)

// wire carries frames between two TAPs until the test ends.
func wire(t *testing.T, a, b *TAP) {
	stop := make(chan bool)
	var wg sync.WaitGroup
	for _, d := range [][2]*TAP{{a, b}, {b, a}} {
		wg.Go(func() {
			buf := make([]byte, 5000)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if n, _ := d[0].Read(buf); n > 0 {
					d[1].Write(buf[:n])
				} else {
					time.Sleep(200 * time.Microsecond)
				}
			}
		})
	}
	t.Cleanup(func() { close(stop); wg.Wait() })
}

func TestResolve(t *testing.T) {
	simtest.Root(t)
	n1, n2 := newNS(t, "r1"), newNS(t, "r2")
	c1 := tapConfig(1, "10.9.2.1/24", "fd00:9:2::1/64")
	c1.Routes = []Route{{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParseAddr("10.9.2.2")},
		{netip.MustParsePrefix("fd00:7::/32"), netip.MustParseAddr("fd00:9:2::2")}}
	a := newTAP(t, n1, c1)
	b := newTAP(t, n2, tapConfig(2, "10.9.2.2/24", "fd00:9:2::2/64"))
	wire(t, a, b)
	command(t, "ip", "-n", n1.Name(), "route", "add", "unreachable", "10.66.0.0/16")

	one, two := [6]byte{2, 0, 0, 0, 0, 1}, [6]byte{2, 0, 0, 0, 0, 2}
	for _, c := range []struct {
		name, dst, src string
		want           [6]byte
		err            error
		text           string
	}{
		{"on the link", "10.9.2.2", "10.9.2.1", two, nil, ""},
		{"again, from the table", "10.9.2.2", "", two, nil, ""},
		{"v4-mapped as in a GID", "::ffff:10.9.2.2", "::ffff:10.9.2.1", two, nil, ""},
		{"IPv6", "fd00:9:2::2", "fd00:9:2::1", two, nil, ""},
		{"link-local", "fe80::ff:fe00:2", "fe80::ff:fe00:1", two, nil, ""},
		{"by the gateway", "192.0.2.7", "10.9.2.1", two, nil, ""},
		{"by the IPv6 gateway", "fd00:7::7", "", two, nil, ""},
		{"own address", "10.9.2.1", "10.9.2.1", one, nil, ""},
		{"own IPv6 address", "fd00:9:2::1", "", one, nil, ""},
		{"own link-local", "fe80::ff:fe00:1", "fe80::ff:fe00:1", one, nil, ""},
		{"no route", "2001:db8::1", "", [6]byte{}, unix.ENETUNREACH, "gateway"},
		{"forbidden", "10.66.0.1", "", [6]byte{}, unix.EHOSTUNREACH, ""},
		{"silence", "10.9.2.77", "", [6]byte{}, unix.EHOSTUNREACH, "ip netns exec"},
		{"multicast", "224.0.0.1", "", [6]byte{}, unix.EINVAL, ""},
		{"broadcast", "10.9.2.255", "", [6]byte{}, unix.EINVAL, ""},
		{"unspecified", "0.0.0.0", "", [6]byte{}, unix.EINVAL, ""},
		{"foreign source", "10.9.2.2", "10.1.1.1", [6]byte{}, unix.EINVAL, "not an address of the node"},
		{"mixed families", "10.9.2.2", "fe80::1", [6]byte{}, unix.EINVAL, ""},
	} {
		var src netip.Addr
		if c.src != "" {
			src = netip.MustParseAddr(c.src)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		if c.name == "silence" {
			cancel()
			ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
		}
		got, err := n1.Resolve(ctx, netip.MustParseAddr(c.dst), src)
		cancel()
		if c.name == "forbidden" && errors.Is(err, unix.ENETUNREACH) {
			err = unix.EHOSTUNREACH // either is a refusal by the route
		}
		if got != c.want || !errors.Is(err, c.err) || c.err == nil && err != nil {
			t.Errorf("%s: %x, %v; want %x, %v", c.name, got, err, c.want, c.err)
		}
		if err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: no %q in: %v", c.name, c.text, err)
		}
	}
	// The interface may be given where there is no source.
	if got, err := a.Resolve(t.Context(), netip.MustParseAddr("fe80::ff:fe00:2"), netip.Addr{}); got != two || err != nil {
		t.Errorf("by interface: %x, %v", got, err)
	}
}

// Many at once, none in the table, and a canceled one.
func TestResolveConcurrently(t *testing.T) {
	simtest.Root(t)
	n1, n2 := newNS(t, "p1"), newNS(t, "p2")
	c2 := tapConfig(2)
	for i := 2; i < 10; i++ {
		c2.Addrs = append(c2.Addrs, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 9, 3, byte(i)}), 24))
	}
	a := newTAP(t, n1, tapConfig(1, "10.9.3.1/24"))
	b := newTAP(t, n2, c2)
	wire(t, a, b)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			dst := netip.AddrFrom4([4]byte{10, 9, 3, byte(2 + i%8)})
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if got, err := n1.Resolve(ctx, dst, netip.Addr{}); err != nil || got != b.MAC() {
				t.Errorf("%v: %x, %v", dst, got, err)
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := n1.Resolve(ctx, netip.MustParseAddr("10.9.3.200"), netip.Addr{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// Frames that the NIC shows to packet sockets provoke no answer.
func TestDiscard(t *testing.T) {
	simtest.Root(t)
	n := newNS(t, "disc")
	x := newTAP(t, n, tapConfig(1, "10.9.1.1/24"))
	// A UDP datagram to port 4791 of the node, without a checksum.
	f := []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0,
		0x45, 0, 0, 32, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 9, 1, 2, 10, 9, 1, 1,
		0xc0, 0, 0x12, 0xb7, 0, 12, 0, 0, 1, 2, 3, 4}
	sum := uint32(0)
	for i := 14; i < 34; i += 2 {
		sum += uint32(f[i])<<8 | uint32(f[i+1])
	}
	sum = sum&0xffff + sum>>16
	f[24], f[25] = byte(^sum>>8), byte(^sum)
	command(t, "ip", "-n", n.Name(), "neigh", "replace", "10.9.1.2", "lladdr", "02:00:00:00:00:02", "dev", "eth0")
	drain(x)
	x.Write(f)
	if k := drain(x); k != 1 {
		t.Errorf("%d answers to a datagram for a port that nobody has, want 1 (ICMP port unreachable)", k)
	}
	d, err := n.Discard()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		x.Write(f)
	}
	if k := drain(x); k != 0 {
		t.Errorf("%d answers although the port is bound", k)
	}
	if _, err := n.Discard(); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("bound twice: %v", err)
	}
	d.Close()
	if out := command(t, "ip", "netns", "exec", n.Name(), "cat", "/proc/net/udp"); bytes.Contains([]byte(out), []byte(":12B7")) {
		t.Errorf("still bound:\n%s", out)
	}
}
