package topology

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ports lists both ends of every link, in order.
func ports(s *Spec) []string {
	var l []string
	for _, x := range s.Links {
		l = append(l, x.A.Name+" "+x.B.Name)
	}
	return l
}

// Ports that the file names are never given to links that leave it open.
func TestAutomaticPorts(t *testing.T) {
	s := mustParse(t, `
[[node]]
name = "h1"
[[node]]
name = "h2"
[[node.port]]
name = "rail0"
ip = "10.7.0.1/24"
mtu = 1500
[[switch]]
name = "s1"
[[switch]]
name = "s2"
[[link]]
a = "h1"
b = "s1"
[[link]]
a = "h1"
b = "s2"
[[link]]
a = "s1:1"
b = "h1:eth1"
[[link]]
a = "h2"
b = "s2"
[[link]]
a = "h2"
b = "s2:12"
[[link]]
a = "s2:2"
b = "h2:eth10"
`)
	want := []string{"h1:eth0 s1:2", "h1:eth2 s2:1", "s1:1 h1:eth1", "h2:rail0 s2:3", "h2:eth0 s2:12", "s2:2 h2:eth10"}
	if d := cmp.Diff(want, ports(s)); d != "" {
		t.Error(d)
	}
	var names []string
	for _, f := range s.Nodes[1].Interfaces {
		names = append(names, fmt.Sprint(f.Name, " ", f.MAC, " ", f.MTU))
	}
	want = []string{"eth0 02:00:00:00:02:00 4200", "eth10 02:00:00:00:02:01 4200", "rail0 02:00:00:00:02:02 1500"}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
	var numbers []string
	for _, p := range s.Switches[1].Ports {
		numbers = append(numbers, fmt.Sprint(p.Number, " ", p.MAC, " ", p.MTU))
	}
	want = []string{"1 02:01:00:02:00:01 4200", "2 02:01:00:02:00:02 4200", "3 02:01:00:02:00:03 1500", "12 02:01:00:02:00:04 4200"}
	if d := cmp.Diff(want, numbers); d != "" {
		t.Error(d)
	}
}

func TestVLANs(t *testing.T) {
	s := mustParse(t, `
[[node]]
name = "h1"
[[node]]
name = "h2"
[[node]]
name = "h3"
[[switch]]
name = "bridge"
[[switch]]
name = "router"
mode = "router"
vlan_ip = { 20 = ["172.16.20.1/24"] }
[[link]]
a = "h1"
b = "bridge"
vlan = 10
[[link]]
a = "h2"
b = "bridge"
vlan = 20
[[link]]
a = "h3"
b = "router"
[[link]]
a = "bridge"
b = "router"
vlan = 1
trunk = [20, 10]
`)
	w := s.Switches[1]
	var got []string
	for _, v := range w.VLANs {
		got = append(got, fmt.Sprint(v.ID, v.Subnet, v.Addrs))
	}
	want := []string{
		"1 2 [10.0.3.254/24 fd00:0:0:3::fffe/64]",
		"10 0 [10.0.1.254/24 fd00:0:0:1::fffe/64]",
		"20 1 [172.16.20.1/24 fd00:0:0:2::fffe/64]",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if p := w.Ports[1]; p.PVID != 1 || !cmp.Equal(p.Tagged, []uint16{10, 20}) || p.Routed {
		t.Errorf("trunk: %+v", p)
	}
	if f := s.Nodes[1].Interfaces[0]; f.Addrs[0].String() != "172.16.20.2/24" || f.Gateway4.String() != "172.16.20.1" || f.Gateway6.String() != "fd00:0:0:2::fffe" {
		t.Errorf("h2: %+v", f)
	}
	if p := s.Switches[0].Ports[1]; p.PVID != 20 || p.Tagged != nil {
		t.Errorf("access port: %+v", p)
	}
}

// Two routers are joined by a routed link unless the link has a VLAN.
func TestRoutedLinks(t *testing.T) {
	for attrs, routed := range map[string]bool{"": true, "vlan = 7": false, "trunk = [1]": false} {
		s := mustParse(t, `
[defaults.switch]
mode = "router"
[[node]]
name = "h1"
[[node]]
name = "h2"
[[switch]]
name = "r1"
[[switch]]
name = "r2"
[[link]]
a = "h1"
b = "r1"
[[link]]
a = "h2"
b = "r2"
[[link]]
a = "r1"
b = "r2"
`+attrs)
		subnets := 2
		if strings.HasPrefix(attrs, "trunk") {
			subnets = 1
		}
		if p := s.Switches[0].Ports[1]; p.Routed != routed || p.Routed == (p.PVID != 0 || len(p.Tagged) > 0) || len(s.Subnets) != subnets {
			t.Errorf("%q: %+v, %d subnets", attrs, p, len(s.Subnets))
		}
	}
}

func TestDirectLink(t *testing.T) {
	s := mustParse(t, `
[[node]]
name = "h1"
[[node]]
name = "h2"
stack = "none"
[[link]]
a = "h1:eth0"
b = "h2:eth0"
`)
	if len(s.Subnets) != 1 || s.Nodes[1].Interfaces[0].Addrs[0].String() != "10.0.0.2/24" || s.Links[0].B != (End{"h2:eth0", 1, -1, 0}) {
		t.Errorf("%+v", s)
	}
	if l := s.Load(); l.Scale != 1 || l.FrameHops <= 0 {
		t.Errorf("load %+v", l)
	}
}
