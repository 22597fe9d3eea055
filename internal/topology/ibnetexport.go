package topology

import (
	"bytes"
	"fmt"
)

// ExportIBNet writes the InfiniBand part of a fabric as ibnetdiscover prints
// it, with all LIDs 0. Parse reads it again. What the text has no room for is
// lost: Ethernet, MTU and VLs, delays, subnet managers, the nodes' names where
// descriptions do not give them.
func ExportIBNet(s *Spec) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "#\n# Topology file: fabric %s\n#\n", s.Name)
	for i := range s.Switches {
		w := &s.Switches[i]
		if w.IB == nil {
			continue
		}
		exportNode(&b, &w.IB.IBNode)
		kind := "base"
		if w.IB.EnhancedPort0 {
			kind = "enhanced"
		}
		fmt.Fprintf(&b, "switchguid=%#x(%x)\nSwitch\t%d \"S-%016x\"\t\t# \"%s\" %s port 0 lid 0 lmc 0\n",
			uint64(w.IB.GUID), uint64(w.IB.GUID), w.IB.NumPorts, uint64(w.IB.GUID), w.IB.Desc, kind)
		for j, p := range w.Ports {
			fmt.Fprintf(&b, "[%d]\t", p.Number)
			s.exportPeer(&b, p.Link, End{Node: -1, Switch: i, Port: j}, "")
		}
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		for j := range n.HCAs {
			h := &n.HCAs[j]
			exportNode(&b, &h.IBNode)
			fmt.Fprintf(&b, "caguid=%#x\nCa\t%d \"H-%016x\"\t\t# \"%s\"\n", uint64(h.GUID), h.NumPorts, uint64(h.GUID), h.Desc)
			for k := range n.IBPorts {
				if p := &n.IBPorts[k]; p.HCA == j && p.Link >= 0 {
					fmt.Fprintf(&b, "[%d](%x) \t", p.Num, uint64(p.GUID))
					s.exportPeer(&b, p.Link, End{Node: i, Switch: -1, Port: k}, "lid 0 lmc 0 ")
				}
			}
		}
	}
	return b.Bytes()
}

func exportNode(b *bytes.Buffer, n *IBNode) {
	fmt.Fprintf(b, "\nvendid=0x%x\ndevid=0x%x\nsysimgguid=%#x\n", n.VendorID, n.DeviceID, uint64(n.SystemGUID))
}

// exportPeer writes what is at the other end of a link.
func (s *Spec) exportPeer(b *bytes.Buffer, link int, from End, own string) {
	l := &s.Links[link]
	e := l.B
	if from.Node != l.A.Node || from.Switch != l.A.Switch || from.Port != l.A.Port {
		e = l.A
	}
	desc := ""
	if e.Switch >= 0 {
		w := &s.Switches[e.Switch]
		desc = w.IB.Desc
		fmt.Fprintf(b, "\"S-%016x\"[%d]", uint64(w.IB.GUID), w.Ports[e.Port].Number)
	} else {
		p := &s.Nodes[e.Node].IBPorts[e.Port]
		h := &s.Nodes[e.Node].HCAs[p.HCA]
		desc = h.Desc
		fmt.Fprintf(b, "\"H-%016x\"[%d](%x) ", uint64(h.GUID), p.Num, uint64(p.GUID))
	}
	fmt.Fprintf(b, "\t\t# %s\"%s\" lid 0 %dx%s\n", own, desc, l.IB.Width, l.IB.Speed)
}
