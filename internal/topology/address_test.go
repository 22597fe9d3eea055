package topology

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

// addrs lists the addresses and gateways of each interface.
func addrs(s *Spec) string {
	var b strings.Builder
	for _, n := range s.Nodes {
		for _, f := range n.Interfaces {
			fmt.Fprintf(&b, "%s %v", n.Name, f.Addrs)
			for _, g := range []netip.Addr{f.Gateway4, f.Gateway6} {
				if g.IsValid() {
					fmt.Fprintf(&b, " via %s", g)
				}
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func TestAddresses(t *testing.T) {
	star := func(nodes string, n int, sw string) string {
		var b strings.Builder
		b.WriteString(nodes + "\n[[switch]]\nname = 's1'\n" + sw + "\n")
		for i := range n {
			fmt.Fprintf(&b, "[[link]]\na = 'h%d'\nb = 's1'\n", i+1)
		}
		return b.String()
	}
	h := func(n int, keys string) string { return fmt.Sprintf("[[node]]\nname = 'h%d'\n%s\n", n, keys) }
	for _, c := range []struct{ name, text, want string }{
		{"automatic", star(h(1, "")+h(2, ""), 2, ""), `
h1 [10.0.0.1/24 fd00::1/64]
h2 [10.0.0.2/24 fd00::2/64]`},
		{"ip replaces both families", star(h(1, "ip = '192.168.0.1/24'")+h(2, "ip = ['fd01::2/64', '192.168.0.2/24']")+h(3, "ip = []"), 3, ""), `
h1 [192.168.0.1/24]
h2 [192.168.0.2/24 fd01::2/64]
h3 []`},
		{"automatic ones join the given subnet and avoid what is taken", star(h(1, "")+h(2, "ip = '192.168.0.1/29'")+h(3, "")+h(4, "ip = '192.168.0.3/29'"), 4, ""), `
h1 [192.168.0.2/29 fd00::1/64]
h2 [192.168.0.1/29]
h3 [192.168.0.4/29 fd00::2/64]
h4 [192.168.0.3/29]`},
		{"no IPv6", "ipv6 = false\n" + star(h(1, "")+h(2, ""), 2, ""), `
h1 [10.0.0.1/24]
h2 [10.0.0.2/24]`},
		{"no IPv6 on a small MTU", star(h(1, "mtu = 1279")+h(2, "mtu = 1280"), 2, ""), `
h1 [10.0.0.1/24]
h2 [10.0.0.2/24 fd00::1/64]`},
		{"router", star(h(1, "")+h(2, ""), 2, "mode = 'router'"), `
h1 [10.0.0.1/24 fd00::1/64] via 10.0.0.254 via fd00::fffe
h2 [10.0.0.2/24 fd00::2/64] via 10.0.0.254 via fd00::fffe`},
		{"router avoids a given address", star(h(1, "ip = '10.5.0.254/24'")+h(2, ""), 2, "mode = 'router'"), `
h1 [10.5.0.254/24] via 10.5.0.253
h2 [10.5.0.1/24 fd00::1/64] via 10.5.0.253 via fd00::fffe`},
		{"router with a given address", star(h(1, "")+h(2, ""), 2, "mode = 'router'\nip = '10.5.0.1/24'"), `
h1 [10.5.0.2/24 fd00::1/64] via 10.5.0.1 via fd00::fffe
h2 [10.5.0.3/24 fd00::2/64] via 10.5.0.1 via fd00::fffe`},
		{"a node as gateway", star(h(1, "gateway = ['10.0.0.2', 'fe80::2']")+h(2, ""), 2, ""), `
h1 [10.0.0.1/24 fd00::1/64] via 10.0.0.2 via fe80::2
h2 [10.0.0.2/24 fd00::2/64]`},
		{"two of two addresses", star(h(1, "ip = '10.0.0.0/31'")+h(2, ""), 2, ""), `
h1 [10.0.0.0/31]
h2 [10.0.0.1/31 fd00::1/64]`},
		{"short IPv6 subnet", star(h(1, "ip = ['10.0.0.9/24', 'fd01::9/120']")+h(2, ""), 2, "mode = 'router'"), `
h1 [10.0.0.9/24 fd01::9/120] via 10.0.0.254 via fd01::ff
h2 [10.0.0.1/24 fd01::1/120] via 10.0.0.254 via fd01::ff`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := "\n" + strings.TrimSuffix(addrs(mustParse(t, c.text)), "\n"); got != c.want {
				t.Errorf("got%s\nwant%s", got, c.want)
			}
		})
	}
}

// An automatic subnet gives way to one that the file gives elsewhere.
func TestAutomaticSubnetAvoidsGiven(t *testing.T) {
	s := mustParse(t, `
[generate]
type = "leaf-spine"
spines = 1
leaves = 3
hosts_per_leaf = 1
[[node]]
name = "h3"
ip = ["10.0.2.7/23", "fd00:0:0:1::1/64"]
`)
	want := `h1 [10.0.1.1/24 fd00:0:0:4::1/64] via 10.0.1.254 via fd00:0:0:4::fffe
h2 [10.0.4.1/24 fd00:0:0:2::1/64] via 10.0.4.254 via fd00:0:0:2::fffe
h3 [10.0.2.7/23 fd00:0:0:1::1/64] via 10.0.3.254 via fd00:0:0:1::fffe
`
	if got := addrs(s); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestLargeSubnet(t *testing.T) {
	for hosts, want := range map[int]string{253: "10.0.0.253/24", 254: "10.0.0.254/16", 1000: "10.0.3.232/16"} {
		s := mustParse(t, fmt.Sprintf("[generate]\ntype = 'star'\nhosts = %d", hosts))
		if got := s.Nodes[hosts-1].Interfaces[0].Addrs[0].String(); got != want {
			t.Errorf("host %d has %s, want %s", hosts, got, want)
		}
	}
}

func TestTwoHomes(t *testing.T) {
	s := mustParse(t, `
[generate]
type = "leaf-spine"
spines = 1
leaves = 2
hosts_per_leaf = 1
[[node]]
name = "both"
[[link]]
a = "both"
b = "leaf2"
[[link]]
a = "both"
b = "leaf1"
`)
	want := `h1 [10.0.1.1/24 fd00:0:0:1::1/64] via 10.0.1.254 via fd00:0:0:1::fffe
h2 [10.0.2.1/24 fd00:0:0:2::1/64] via 10.0.2.254 via fd00:0:0:2::fffe
both [10.0.2.2/24 fd00:0:0:2::2/64] via 10.0.2.254 via fd00:0:0:2::fffe
both [10.0.1.2/24 fd00:0:0:1::2/64]
`
	if got := addrs(s); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if a, b := s.Switches[0].Loopback, s.Switches[2].Loopback; fmt.Sprint(a, b) != "[10.255.0.1/32 fd00:0:0:ffff::1/128] [10.255.0.3/32 fd00:0:0:ffff::3/128]" {
		t.Errorf("loopbacks %v %v", a, b)
	}
}

func TestLastAddr(t *testing.T) {
	for p, want := range map[string]string{
		"10.0.0.0/24": "10.0.0.255", "10.0.0.0/31": "10.0.0.1", "10.1.2.3/32": "10.1.2.3", "10.0.0.0/7": "11.255.255.255", "fd00::/124": "fd00::f",
	} {
		if got := lastAddr(netip.MustParsePrefix(p)).String(); got != want {
			t.Errorf("lastAddr(%s) = %s, want %s", p, got, want)
		}
	}
}
