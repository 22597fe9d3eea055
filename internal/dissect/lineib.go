package dissect

import (
	"fmt"
	"strings"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"cnuas/internal/wire"
)

// LineIB is Line for a native InfiniBand packet, from its LRH to its VCRC, or a
// flow control packet.
func LineIB(frame []byte, origLen int) string {
	var s strings.Builder
	var p gopacket.Packet
	if origLen == wire.FlowLen {
		p = gopacket.NewPacket(frame, LayerTypeFlow, gopacket.NoCopy)
	} else {
		p = DecodeIB(frame)
	}
	var lrh *LRH
	for _, l := range p.Layers() {
		switch l := l.(type) {
		case *LRH:
			lrh = l
			fmt.Fprintf(&s, "lid %d > %d vl %d ", l.SLID, l.DLID, l.VL)
			if l.SL != 0 {
				fmt.Fprintf(&s, "sl %d ", l.SL)
			}
			if l.LNH == wire.LNHRaw {
				s.WriteString("raw ")
			}
		case *GRH:
			fmt.Fprintf(&s, "gid %v > %v ", l.SGID, l.DGID)
		case *layers.IPv6:
			s.WriteString("raw ")
			writeIP(&s, l.SrcIP, l.DstIP, l.TrafficClass)
		case *Flow:
			s.WriteString(l.String() + " ")
		case *BTH:
			writeIBTH(&s, l, lrh, p)
		case *MAD:
			s.WriteString(l.String() + " ")
		case *gopacket.DecodeFailure:
			if len(frame) >= origLen {
				fmt.Fprintf(&s, "[%v] ", l.Error())
			}
		}
	}
	if lrh != nil && lrh.Whole && lrh.PktLen*4+wire.VCRCLen == len(frame) {
		icrc, vcrc := wire.CheckIB(frame)
		if !icrc {
			s.WriteString("BAD ICRC ")
		}
		if !vcrc {
			s.WriteString("BAD VCRC ")
		}
	}
	fmt.Fprintf(&s, "length %d", origLen)
	return s.String()
}

func writeIBTH(s *strings.Builder, b *BTH, lrh *LRH, p gopacket.Packet) {
	if b.FECN {
		s.WriteString("FECN ")
	}
	if b.BECN && b.Opcode != wire.CN {
		s.WriteString("BECN ")
	}
	if p.Layer(LayerTypeMAD) != nil {
		return // says more than QP and PSN of a management queue pair
	}
	writeBTH(s, b)
	n := 4*lrh.PktLen - wire.LRHLen - len(b.Contents) - int(b.Pad) - wire.ICRCLen
	if lrh.LNH == wire.LNHGRH {
		n -= wire.GRHLen
	}
	if n > 0 {
		fmt.Fprintf(s, "payload %d ", n)
	}
}
