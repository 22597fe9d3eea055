package status

import (
	"cmp"
	"fmt"
	"io"
	"sort"
	"strings"
	"text/tabwriter"
)

// Print writes the snapshot for a terminal.
func (f *Fabric) Print(w io.Writer) {
	fmt.Fprintf(w, "fabric %s: %s", f.Name, Extent(len(f.Nodes), len(f.Switches), len(f.Links)))
	if f.PID != 0 {
		fmt.Fprintf(w, ", daemon %d, up %s", f.PID, seconds(f.Seconds))
	}
	if f.VM != nil {
		fmt.Fprintf(w, ", in a lab VM (Linux %s, %s)", f.VM.Kernel, f.VM.Accelerator)
	}
	if f.Scale != 1 {
		fmt.Fprintf(w, ", scale %g (rates divided, times multiplied)", f.Scale)
	}
	fmt.Fprint(w, "\n\n")
	f.printPorts(w)
	f.printIB(w)
	f.printManagement(w)
	f.printIPoIB(w)
	f.printTunnels(w)
	f.printRack(w)
	f.printRDMA(w)
	f.printFlowControl(w)
	f.printDrops(w)
	f.printBuffers(w)
	for _, x := range f.Faults {
		fmt.Fprintf(w, "fault: %s\n", x)
	}
	e := &f.Engine
	fmt.Fprintf(w, "engine: %d events, busy %.0f%% of a core, lag %.2f ms (worst %.2f ms), slip %.2f ms (%.2f%%), late events %.2f%%, %d frames alive\n",
		e.Events, 100*e.BusyShare, e.LagMS, e.MaxLagMS, e.SlipMS, 100*e.SlipShare, 100*e.LateShare, e.FramesLive)
	fmt.Fprintf(w, "verdict: %s\n", f.Verdict)
}

// each calls fn for every Ethernet port of every device, nodes first.
func (f *Fabric) each(fn func(p *Port)) {
	for i := range f.Nodes {
		for j := range f.Nodes[i].Interfaces {
			fn(&f.Nodes[i].Interfaces[j].Port)
		}
	}
	for i := range f.Switches {
		for j := range f.Switches[i].Ports {
			if f.Switches[i].Ports[j].IB == nil {
				fn(&f.Switches[i].Ports[j])
			}
		}
	}
}

func table(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

func (f *Fabric) printPorts(w io.Writer) {
	t, n := table(w), 0
	f.each(func(*Port) { n++ })
	if n == 0 {
		return
	}
	fmt.Fprintln(t, "PORT\tPEER\tSTATE\tRATE\tTX FRAMES\tTX BYTES\tRX FRAMES\tRX BYTES\tPAUSE TX\tPAUSE RX\tECN MARKS\tDROPS")
	f.each(func(p *Port) {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%d\t%s\t%d\t%d\t%d\t%d\n", p.Name, p.Peer, p.State, rate(p.RateBPS),
			p.TxFrames, size(p.TxBytes), p.RxFrames, size(p.RxBytes), sum(p.PausesTx), sum(p.PausesRx), p.ECNMarks, p.TotalDrops())
	})
	t.Flush()
	fmt.Fprintln(w)
}

// devices lists the RDMA devices of the node, those of InfiniBand first.
func (n *Node) devices() (l []*RDMA) {
	for i := range n.IBPorts {
		l = append(l, n.IBPorts[i].RDMA)
	}
	for i := range n.Interfaces {
		if r := n.Interfaces[i].RDMA; r != nil {
			l = append(l, r)
		}
	}
	return l
}

func (f *Fabric) printRDMA(w io.Writer) {
	t := table(w)
	n := 0
	for i := range f.Nodes {
		node := &f.Nodes[i]
		for _, r := range node.devices() {
			if n == 0 {
				fmt.Fprintln(t, "DEVICE\tMTU\tQPS\tPROGRAMS\tGID (index)")
			}
			n++
			var g []string
			for _, x := range r.GIDs {
				s := fmt.Sprintf("%d %s", x.Index, x.GID)
				if x.Type != "RoCE v2" && x.Type != "IB" {
					s += " (" + cmp.Or(x.Type, "iWARP") + ")"
				}
				g = append(g, s)
			}
			fmt.Fprintf(t, "%s:%s\t%d\t%d\t%d\t%s\n", node.Name, r.Device, r.ActiveMTU, r.QPs, node.Programs, strings.Join(g, ", "))
		}
	}
	t.Flush()
	for i := range f.Nodes {
		for _, r := range f.Nodes[i].devices() {
			if len(r.Counters) == 0 {
				continue
			}
			fmt.Fprintf(w, "  %s:%s:", f.Nodes[i].Name, r.Device)
			for _, k := range keys(r.Counters) {
				fmt.Fprintf(w, " %s=%d", k, r.Counters[k])
			}
			fmt.Fprintln(w)
		}
	}
	for _, node := range f.Nodes {
		for _, i := range node.Interfaces {
			if len(i.KernelRoCE) == 0 {
				continue
			}
			n++
			fmt.Fprintf(w, "  %s: RoCE of the kernel:", i.Name)
			for _, k := range keys(i.KernelRoCE) {
				fmt.Fprintf(w, " %s=%d", k, i.KernelRoCE[k])
			}
			fmt.Fprintln(w)
		}
	}
	if n > 0 {
		fmt.Fprintln(w)
	}
}

// printFlowControl lists the victims: who is or was stopped by PFC.
func (f *Fabric) printFlowControl(w io.Writer) {
	any := false
	f.each(func(p *Port) {
		var parts []string
		for i := range 8 {
			if p.PausesRx[i] == 0 && p.PausedSecs[i] == 0 {
				continue
			}
			s := fmt.Sprintf("priority %d stopped for %s by %d pauses", i, seconds(p.PausedSecs[i]), p.PausesRx[i])
			for _, now := range p.Paused {
				if now == i {
					s += " (now)"
				}
			}
			parts = append(parts, s)
		}
		if len(parts) > 0 {
			any = true
			fmt.Fprintf(w, "pfc: %s, from %s: %s\n", p.Name, p.Peer, strings.Join(parts, "; "))
		}
	})
	if any {
		fmt.Fprintln(w)
	}
}

func (f *Fabric) printDrops(w io.Writer) {
	drops := func(p *Port) {
		for _, k := range keys(p.Drops) {
			fmt.Fprintf(w, "drops: %s: %s %d\n", p.Name, k, p.Drops[k])
		}
	}
	f.each(drops)
	f.eachIB(drops)
	for _, n := range f.Nodes {
		for _, i := range n.Interfaces {
			if i.Ring.TxDropped+i.Ring.RxDropped > 0 {
				fmt.Fprintf(w, "drops: %s: kernel ring tx %d rx %d\n", i.Name, i.Ring.TxDropped, i.Ring.RxDropped)
			}
		}
	}
}

func (f *Fabric) printBuffers(w io.Writer) {
	for _, s := range f.Switches {
		if s.Mode == "ib" { // credits: a buffer is a port's and a lane's
			if s.UsedBytes != 0 {
				fmt.Fprintf(w, "buffer: %s: %s held\n", s.Name, size(uint64(s.UsedBytes)))
			}
			continue
		}
		fmt.Fprintf(w, "buffer: %s: %s of %s used, peak %s\n", s.Name, size(uint64(s.UsedBytes)), size(uint64(s.BufferBytes)), size(uint64(s.PeakBytes)))
	}
}

// TotalDrops is the sum over all reasons.
func (p *Port) TotalDrops() uint64 {
	var n uint64
	for _, v := range p.Drops {
		n += v
	}
	return n
}

func keys(m map[string]uint64) []string {
	l := make([]string, 0, len(m))
	for k, v := range m {
		if v != 0 {
			l = append(l, k)
		}
	}
	sort.Strings(l)
	return l
}

func sum(a [8]uint64) (n uint64) {
	for _, v := range a {
		n += v
	}
	return
}

func rate(bps int64) string {
	switch {
	case bps >= 1e9:
		return fmt.Sprintf("%.4gG", float64(bps)/1e9)
	case bps >= 1e6:
		return fmt.Sprintf("%.4gM", float64(bps)/1e6)
	}
	return fmt.Sprint(bps)
}

// Extent says how large a fabric is: "2 nodes, 1 switch, 2 links".
func Extent(nodes, switches, links int) string {
	return count(nodes, "node", "s") + ", " + count(switches, "switch", "es") + ", " + count(links, "link", "s")
}

func count(n int, what, plural string) string {
	if n == 1 {
		plural = ""
	}
	return fmt.Sprintf("%d %s%s", n, what, plural)
}

// size prints bytes in decimal units, as rates are.
func size(n uint64) string {
	v := float64(n)
	for _, u := range []string{"B", "kB", "MB", "GB", "TB"} {
		if v < 1000 || u == "TB" {
			if u == "B" {
				return fmt.Sprintf("%d", n)
			}
			return fmt.Sprintf("%.3g%s", v, u)
		}
		v /= 1000
	}
	return ""
}

func seconds(s float64) string {
	switch {
	case s >= 1:
		return fmt.Sprintf("%.2fs", s)
	case s >= 1e-3:
		return fmt.Sprintf("%.2fms", s*1e3)
	}
	return fmt.Sprintf("%.2fus", s*1e6)
}
