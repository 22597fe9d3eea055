package status

import (
	"fmt"
	"io"
	"strings"
)

// printManagement lists the ports of the management network.
func (f *Fabric) printManagement(w io.Writer) {
	t := table(w)
	n := 0
	for i := range f.Nodes {
		m := f.Nodes[i].Management
		if m == nil {
			continue
		}
		if n == 0 {
			fmt.Fprintln(t, "MANAGEMENT\tADDRESS\tTX FRAMES\tTX BYTES\tRX FRAMES\tRX BYTES\tLOST")
		}
		n++
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%d\t%s\t%d\n", m.Name, m.Address, m.TxFrames, size(m.TxBytes), m.RxFrames, size(m.RxBytes),
			m.Ring.TxDropped+m.Ring.RxDropped)
	}
	t.Flush()
	if n > 0 {
		fmt.Fprintln(w)
	}
}

// printIPoIB lists the IP interfaces on InfiniBand ports.
func (f *Fabric) printIPoIB(w io.Writer) {
	t := table(w)
	n := 0
	for i := range f.Nodes {
		for _, x := range f.Nodes[i].IPoIB {
			if n == 0 {
				fmt.Fprintln(t, "IPOIB\tSTATE\tMTU\tADDRESSES\tTX PACKETS\tTX BYTES\tRX PACKETS\tRX BYTES")
			}
			n++
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%d\t%s\t%d\t%s\n", x.Name, x.State, x.MTU, strings.Join(x.Addresses, ", "),
				x.Counters["tx_packets"], size(x.Counters["tx_bytes"]), x.Counters["rx_packets"], size(x.Counters["rx_bytes"]))
		}
	}
	t.Flush()
	if n > 0 {
		fmt.Fprintln(w)
	}
}
