package status

import (
	"fmt"
	"io"
	"strings"
)

// Tunnel is a port's end of a link over UDP.
type Tunnel struct {
	End      uint16            `json:"end"`  // its number behind the fabric's socket
	Peer     string            `json:"peer"` // UDP address of the other end
	PeerEnd  uint16            `json:"peer_end"`
	There    bool              `json:"there"` // the peer is there and hears this end
	Sent     uint64            `json:"sent"`  // datagrams
	Received uint64            `json:"received"`
	Lost     uint64            `json:"lost"`  // gaps in the sequence
	Drops    map[string]uint64 `json:"drops"` // datagrams by reason; only those above zero
}

// Hub is what the links over UDP have in common.
type Hub struct {
	Listen   string            `json:"listen"`
	Drops    map[string]uint64 `json:"drops"`    // datagrams that were for no end
	Overflow uint64            `json:"overflow"` // dropped by the kernel, because the socket's buffer was full
	Unsent   uint64            `json:"unsent"`   // not taken by the kernel
}

func (f *Fabric) printTunnels(w io.Writer) {
	h := f.Tunnels
	if h == nil {
		return
	}
	t := table(w)
	fmt.Fprintln(t, "TUNNEL\tPEER\tUDP\tTHERE\tSENT\tRECEIVED\tLOST\tDROPS")
	f.eachIB(func(p *Port) {
		if x := p.Tunnel; x != nil {
			there := "no"
			if x.There {
				there = "yes"
			}
			fmt.Fprintf(t, "%s\t%s\t%s/%d\t%s\t%d\t%d\t%d\t%s\n", p.Name, p.Peer, x.Peer, x.PeerEnd, there, x.Sent, x.Received, x.Lost, reasons(x.Drops))
		}
	})
	t.Flush()
	fmt.Fprintf(w, "udp %s: datagrams for no port: %s; dropped by the kernel: %d; not sent: %d\n\n", h.Listen, reasons(h.Drops), h.Overflow, h.Unsent)
}

// reasons lists counts by reason on one line.
func reasons(m map[string]uint64) string {
	if len(m) == 0 {
		return "0"
	}
	var s []string
	for _, k := range keys(m) {
		s = append(s, fmt.Sprintf("%s=%d", k, m[k]))
	}
	return strings.Join(s, ",")
}
