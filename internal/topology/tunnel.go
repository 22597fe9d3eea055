package topology

import (
	"fmt"
	"net/netip"
)

// InfiniBand links over UDP: tunnel = true of a link, remote of a switch, and the
// table [tunnel].

// fileTunnel is the table [tunnel].
type fileTunnel struct {
	key    string
	listen attr[netip.AddrPort]
}

func (t *table) tunnel() fileTunnel {
	m := t.sub("tunnel")
	if m == nil {
		return fileTunnel{}
	}
	f := fileTunnel{key: m.path, listen: m.udp("listen")}
	m.done()
	return f
}

// udp reads the address of a UDP socket.
func (t *table) udp(k string) attr[netip.AddrPort] {
	return get(t, k, `a string such as "127.0.0.1:4793"`, `write an address and a UDP port, "127.0.0.1:4793" or "[::1]:4793"`, func(s string) (netip.AddrPort, error) {
		a, err := netip.ParseAddrPort(s)
		if err != nil || a.Addr().IsUnspecified() || a.Addr().IsMulticast() || a.Addr().Is4In6() || a.Port() == 0 {
			return a, fmt.Errorf("%q is not the address of a UDP socket", s)
		}
		return a, nil
	})
}

// addTunnels makes the links of remote switches tunnels, and reports what is of
// no use.
func (b *builder) addTunnels() {
	b.s.TunnelListen = b.d.tunnel.listen.get(netip.AddrPort{})
	n := 0
	for i := range b.s.Links {
		l := &b.s.Links[i]
		if l.IB == nil {
			continue
		}
		if b.remote(l.A) || b.remote(l.B) {
			l.IB.Tunnel = true
		}
		if l.IB.Tunnel {
			n++
		}
		if k := b.links[i].key; b.remote(l.A) && b.remote(l.B) {
			b.r.warnf(k, "start one of them with --peer, as docs/TUNNEL.md says", "%s and %s are ports of remote switches: they have to find each other", l.A.Name, l.B.Name)
		}
	}
	if n == 0 && b.d.tunnel.key != "" {
		b.r.warnf(b.d.tunnel.key, "remove it, or set tunnel = true on InfiniBand links", "no link is a tunnel")
	}
	seen := map[netip.AddrPort]string{}
	if b.d.tunnel.listen.set {
		seen[b.s.TunnelListen] = "the fabric itself"
	}
	for _, w := range b.switches {
		r := w.file.remote
		if !r.set || !w.isIB() {
			continue
		}
		if old := seen[r.v]; old != "" {
			b.r.errorf(r.key, "give each process a UDP port of its own", "%s has the address %v, and so has %s", w.name, r.v, old)
		}
		seen[r.v] = w.name
		listen := b.s.TunnelListen.Addr()
		if !b.d.tunnel.listen.set {
			listen = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		}
		if listen.IsLoopback() != r.v.Addr().IsLoopback() || listen.Is4() != r.v.Addr().Is4() {
			b.r.errorf(r.key, `give [tunnel] listen = "ADDRESS:4793" an address of this machine that reaches it`, "the fabric's end of tunnels is at %v, from which %v cannot be reached", listen, r.v)
		}
	}
}

// remote tells whether an end is at a switch in another process.
func (b *builder) remote(e End) bool { return b.s.Remote(e).IsValid() }

// Remote is where the switch of an end runs, if that is another process;
// invalid if it runs in this one.
func (s *Spec) Remote(e End) netip.AddrPort {
	if e.Switch < 0 || s.Switches[e.Switch].IB == nil {
		return netip.AddrPort{}
	}
	return s.Switches[e.Switch].IB.Remote
}

// HasTunnels tells whether a link of the fabric goes over UDP.
func (s *Spec) HasTunnels() bool {
	for i := range s.Links {
		if s.Links[i].IB != nil && s.Links[i].IB.Tunnel {
			return true
		}
	}
	return false
}
