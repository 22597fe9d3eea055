package status

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// eachIB calls fn for every InfiniBand port of every device, nodes first.
func (f *Fabric) eachIB(fn func(p *Port)) {
	for i := range f.Nodes {
		for j := range f.Nodes[i].IBPorts {
			fn(&f.Nodes[i].IBPorts[j].Port)
		}
	}
	for i := range f.Switches {
		for j := range f.Switches[i].Ports {
			if p := &f.Switches[i].Ports[j]; p.IB != nil {
				fn(p)
			}
		}
	}
}

func (f *Fabric) printIB(w io.Writer) {
	any := false
	t := table(w)
	f.eachIB(func(p *Port) {
		if !any {
			fmt.Fprintln(t, "IB PORT\tPEER\tSTATE\tPHYS\tLID\tWIDTH\tSPEED\tMTU\tVLS\tTX PKTS\tTX BYTES\tRX PKTS\tRX BYTES\tWAIT\tDROPS")
		}
		any = true
		b := p.IB
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%d\t%d\t%d\t%s\t%d\t%s\t%s\t%d\n", p.Name, p.Peer, b.State, b.Phys, b.LID, b.Width, b.Speed, b.MTU, b.VLs,
			b.Counters["xmit_pkts"], size(4*b.Counters["xmit_data"]), b.Counters["rcv_pkts"], size(4*b.Counters["rcv_data"]), wait(b), p.TotalDrops())
	})
	t.Flush()
	if any {
		fmt.Fprintln(w)
	}
	for i := range f.SMs {
		fmt.Fprintln(w, f.SMs[i].line())
	}
	if any && len(f.SMs) == 0 {
		var lids []string
		f.eachIB(func(p *Port) {
			if l := fmt.Sprint(p.IB.SMLID); p.IB.SMLID != 0 && !slices.Contains(lids, l) {
				lids = append(lids, l)
			}
		})
		if len(lids) > 0 {
			fmt.Fprintf(w, "sm: none of ours runs; ports have one at LID %s as their master\n", strings.Join(lids, " or "))
		} else {
			fmt.Fprintln(w, "sm: none of ours runs; cnuas sm start NODE starts one")
		}
	}
	if any {
		fmt.Fprintln(w)
	}
}

// wait is how long something waited for credits, and on which lanes it does now.
func wait(b *IB) string {
	if b.WaitSecs == 0 {
		return "-"
	}
	s := seconds(b.WaitSecs)
	if len(b.Waiting) > 0 {
		s += " (now: VL" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(b.Waiting)), ","), "[]") + ")"
	}
	return s
}
