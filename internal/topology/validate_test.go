package topology

import (
	"net/netip"
	"strings"
	"testing"
)

// Each broken invariant is found, and named.
func TestValidate(t *testing.T) {
	for _, c := range []struct {
		want  string
		spoil func(s *Spec)
	}{
		{"fabric: the name is empty", func(s *Spec) { s.Name = "" }},
		{"the name h1 is used twice", func(s *Spec) { s.Switches[0].Name = "h1" }},
		{"h1: stack", func(s *Spec) { s.Nodes[0].Stack = "iwarp" }},
		{"h1: DSCP", func(s *Spec) { s.Nodes[0].RoCEDSCP = 64 }},
		{"h1: no interface", func(s *Spec) { s.Nodes[0].Interfaces = nil }},
		{"double interface name", func(s *Spec) { s.Nodes[0].Interfaces[0].Name = "lo" }},
		{"MTU 67", func(s *Spec) { s.Nodes[0].Interfaces[0].MTU = 67 }},
		{"MTU 65522", func(s *Spec) { s.Nodes[0].Interfaces[0].MTU = 65522 }},
		{"h2:eth0: MAC address", func(s *Spec) { s.Nodes[1].Interfaces[0].MAC = s.Nodes[0].Interfaces[0].MAC }},
		{"h1:eth0: MAC address", func(s *Spec) { s.Nodes[0].Interfaces[0].MAC = MAC{1} }},
		{"h2:eth0: address", func(s *Spec) { s.Nodes[1].Interfaces[0].Addrs = s.Nodes[0].Interfaces[0].Addrs }},
		{"h1:eth0: link 9 does not exist", func(s *Spec) { s.Nodes[0].Interfaces[0].Link = 9 }},
		{"h1:eth0: link 1 does not end there", func(s *Spec) { s.Nodes[0].Interfaces[0].Link = 1 }},
		{"h1:eth0: subnet -1", func(s *Spec) { s.Nodes[0].Interfaces[0].Subnet = -1 }},
		{"wrong family", func(s *Spec) { s.Nodes[0].Interfaces[0].Gateway4 = netip.MustParseAddr("fd00::1") }},
		{"leaf1: mode", func(s *Spec) { s.Switches[0].Mode = "hub" }},
		{"leaf1: a bridge with addresses", func(s *Spec) { s.Switches[0].Mode = Bridge }},
		{"leaf1: VLAN 4095", func(s *Spec) { s.Switches[0].VLANs[0].ID = 4095 }},
		{"port numbers do not ascend", func(s *Spec) { s.Switches[0].Ports[1].Number = 1 }},
		{"neither routed nor in a VLAN", func(s *Spec) { s.Switches[0].Ports[0].PVID = 0 }},
		{"leaf1:1: VLANs", func(s *Spec) { s.Switches[0].Ports[0].Tagged = []uint16{20, 10} }},
		{"leaf1:1: VLANs", func(s *Spec) { s.Switches[0].Ports[0].Tagged = []uint16{1} }},
		{"headroom", func(s *Spec) { s.Switches[0].Ports[0].Headroom = 1 << 40 }},
		{"rate 0", func(s *Spec) { s.Links[0].Rate = 0 }},
		{"loss 1", func(s *Spec) { s.Links[0].Loss = 1 }},
		{"delay -1ps", func(s *Spec) { s.Links[0].Delay = -1 }},
		{"end h1:eth0 leads nowhere", func(s *Spec) { s.Links[0].A.Node = 77 }},
		{"belongs to link", func(s *Spec) { s.Links[0].A.Node = 1 }},
		{"subnet 0", func(s *Spec) { s.Subnets[0].Prefixes[0] = netip.MustParsePrefix("10.0.1.7/24") }},
		{"QoS profile", func(s *Spec) { s.Nodes[0].QoS.DSCP[1] = 8 }},
		{"QoS profile", func(s *Spec) { s.Nodes[0].QoS.ECN[1] = ECN{true, 2, 1, 1} }},
		{"QoS profile", func(s *Spec) { s.Nodes[0].QoS.Weights[1] = 0 }},
		{"QoS profile", func(s *Spec) { s.Nodes[0].QoS.Xon = 1 }},
		{"QoS profile", func(s *Spec) { s.Nodes[0].QoS.PFC = false }},
	} {
		s := mustParse(t, "[generate]\ntype = 'leaf-spine'\nspines = 1\nleaves = 2\nhosts_per_leaf = 1")
		c.spoil(s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

// The same for InfiniBand: two hosts at a switch, and one more device port.
func TestValidateIB(t *testing.T) {
	for _, c := range []struct {
		want  string
		spoil func(s *Spec)
	}{
		{"GUID", func(s *Spec) { s.Nodes[1].HCAs[0].GUID = s.Nodes[0].HCAs[0].GUID }},
		{"GUID", func(s *Spec) { s.Nodes[1].IBPorts[0].GUID = s.Switches[0].IB.GUID }},
		{"GUID 0x0000000000000000", func(s *Spec) { s.Switches[0].IB.GUID = 0 }},
		{"system image GUID", func(s *Spec) { s.Switches[0].IB.SystemGUID = 0 }},
		{"ports, vendor", func(s *Spec) { s.Switches[0].IB.NumPorts = 255 }},
		{"ports, vendor", func(s *Spec) { s.Switches[0].IB.VendorID = 1 << 24 }},
		{"node description", func(s *Spec) { s.Nodes[0].HCAs[0].Desc = "" }},
		{"not printable", func(s *Spec) { s.Nodes[0].HCAs[0].Desc = "a\nb" }},
		{"ports [1] of 2", func(s *Spec) { s.Nodes[0].HCAs[0].NumPorts = 2 }},
		{"HCA 1 does not exist", func(s *Spec) { s.Nodes[0].IBPorts[0].HCA = 1 }},
		{"two RDMA devices", func(s *Spec) { s.Nodes[0].HCAs = append(s.Nodes[0].HCAs, s.Nodes[0].HCAs[0]) }},
		{"stack", func(s *Spec) { s.Nodes[0].Stack = StackRXE }},
		{"interface name", func(s *Spec) { s.Nodes[0].IBPorts[0].Name = "lo" }},
		{"is none of IPoIB", func(s *Spec) { s.Subnets[0].IPoIB = false }},
		{"link 0 is of the other kind", func(s *Spec) { s.Links[0].IB = nil }},
		{"to at most 1", func(s *Spec) { s.Switches[0].IB.NumPorts = 1 }},
		{"forwarding tables", func(s *Spec) { s.Switches[0].IB.LFTCap = 63 }},
		{"width 3", func(s *Spec) { s.Links[0].IB.Width = 3 }},
		{"whose data rate is", func(s *Spec) { s.Links[0].Rate = 1e9 }},
		{"belongs to link", func(s *Spec) { s.Links[0].A.Node = 1 }},
		{"leads nowhere", func(s *Spec) { s.Links[0].A.Port = 1 }},
		{"SM 0: port 1", func(s *Spec) { s.SMs[0].Port = 1 }},
		{"SM 1: port 0", func(s *Spec) { s.SMs = append(s.SMs, s.SMs[0]) }},
		{"priority 16", func(s *Spec) { s.SMs[0].Priority = 16 }},
		{"management: node 7", func(s *Spec) { s.Management.Ports[0].Node = 7 }},
		{"h1:ib0: bad or double", func(s *Spec) { s.Management.Ports[0].Name = "ib0" }},
		{"is not in", func(s *Spec) { s.Management.Ports[0].Addr = netip.MustParsePrefix("1.2.3.4/24") }},
		{"management: prefix", func(s *Spec) { s.Management.MTU = 1 }},
	} {
		s := mustParse(t, twoIB(""))
		c.spoil(s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}
