package status

import (
	"fmt"
	"io"
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
