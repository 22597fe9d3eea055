package dissect

import (
	"fmt"
	"net"
	"strings"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"cnuas/internal/wire"
)

// Line describes an Ethernet frame without FCS in one line, without a newline.
// origLen is its length on the wire; if frame is shorter it was cut off.
func Line(frame []byte, origLen int) string {
	var s strings.Builder
	p := Decode(frame)
	var last gopacket.Layer
	udpLen := 0
	for _, l := range p.Layers() {
		switch l := l.(type) {
		case *layers.Ethernet:
			if l.EthernetType != layers.EthernetTypeIPv4 && l.EthernetType != layers.EthernetTypeIPv6 {
				fmt.Fprintf(&s, "%v > %v ", l.SrcMAC, l.DstMAC)
			}
		case *layers.Dot1Q:
			fmt.Fprintf(&s, "vlan %d pcp %d ", l.VLANIdentifier, l.Priority)
		case *layers.ARP:
			writeARP(&s, l)
		case *layers.IPv4:
			writeIP(&s, l.SrcIP, l.DstIP, l.TOS)
		case *layers.IPv6:
			writeIP(&s, l.SrcIP, l.DstIP, l.TrafficClass)
		case *layers.UDP:
			udpLen = int(l.Length)
			if l.DstPort != wire.RoCEv2Port {
				fmt.Fprintf(&s, "UDP %d > %d ", uint16(l.SrcPort), uint16(l.DstPort))
			} else {
				fmt.Fprintf(&s, "RoCEv2 sport %d ", uint16(l.SrcPort))
			}
		case *layers.TCP:
			fmt.Fprintf(&s, "TCP %d > %d ", uint16(l.SrcPort), uint16(l.DstPort))
		case *layers.ICMPv4:
			fmt.Fprintf(&s, "ICMP %v ", l.TypeCode)
		case *layers.ICMPv6:
			fmt.Fprintf(&s, "ICMPv6 %v ", l.TypeCode)
		case *BTH:
			writeBTH(&s, l)
			if n := udpLen - wire.UDPLen - len(l.Contents) - int(l.Pad) - wire.ICRCLen; n > 0 {
				fmt.Fprintf(&s, "payload %d ", n)
			}
			if ok, whole := CheckICRC(frame); whole && !ok {
				s.WriteString("BAD ICRC ")
			}
		case *MAD:
			s.WriteString(l.String() + " ")
		case *PFC:
			s.WriteString(l.String() + " ")
		case *gopacket.DecodeFailure:
			if len(frame) >= origLen {
				fmt.Fprintf(&s, "[%v] ", l.Error())
			}
		}
		last = l
	}
	if e, ok := last.(*layers.Ethernet); ok {
		fmt.Fprintf(&s, "ethertype %#04x ", uint16(e.EthernetType))
	}
	fmt.Fprintf(&s, "length %d", origLen)
	return s.String()
}

func writeARP(s *strings.Builder, l *layers.ARP) {
	switch l.Operation {
	case layers.ARPRequest:
		fmt.Fprintf(s, "ARP who has %v tell %v ", net.IP(l.DstProtAddress), net.IP(l.SourceProtAddress))
	case layers.ARPReply:
		fmt.Fprintf(s, "ARP %v is at %v ", net.IP(l.SourceProtAddress), net.HardwareAddr(l.SourceHwAddress))
	default:
		fmt.Fprintf(s, "ARP operation %d ", l.Operation)
	}
}

var ecnNames = [4]string{"", " ect1", " ect0", " CE"}

func writeIP(s *strings.Builder, src, dst net.IP, tos uint8) {
	fmt.Fprintf(s, "%v > %v ", src, dst)
	if tos != 0 {
		fmt.Fprintf(s, "dscp %d%s ", tos>>2, ecnNames[tos&3])
	}
}

func writeBTH(s *strings.Builder, b *BTH) {
	fmt.Fprintf(s, "%v qp %#x psn %d ", b.Opcode, b.DestQP, b.PSN)
	if b.AckReq {
		s.WriteString("ackreq ")
	}
	if b.Solicited {
		s.WriteString("solicited ")
	}
	if h := b.DETH(); h != nil {
		fmt.Fprintf(s, "qkey %#x srcqp %#x ", h.QKey(), h.SrcQP())
	}
	if h := b.RETH(); h != nil {
		fmt.Fprintf(s, "va %#x rkey %#x dmalen %d ", h.VA(), h.RKey(), h.DMALen())
	}
	if h := b.AtomicETH(); h != nil {
		fmt.Fprintf(s, "va %#x rkey %#x swap/add %#x ", h.VA(), h.RKey(), h.SwapAdd())
		if b.Opcode == wire.RCCompareSwap {
			fmt.Fprintf(s, "compare %#x ", h.Compare())
		}
	}
	if h := b.AETH(); h != nil {
		fmt.Fprintf(s, "%v msn %d ", h.Syndrome(), h.MSN())
	}
	if h := b.AtomicAckETH(); h != nil {
		fmt.Fprintf(s, "original %#x ", h.Original())
	}
	if h := b.ImmDt(); h != nil {
		fmt.Fprintf(s, "imm %#x ", h.Data())
	}
	if h := b.IETH(); h != nil {
		fmt.Fprintf(s, "invalidate %#x ", h.RKey())
	}
}
