package dissect

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket/layers"

	"cnuas/internal/capture"
	"cnuas/internal/link"
	"cnuas/internal/sim"
	"cnuas/internal/simtest"
	"cnuas/internal/wire"
)

// want is what our decoders find in a frame, keyed by tshark's names. A value
// of tshark's is compared after it was read as a number if it is one.
type want map[string]string

func num[T ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~int](v T) string {
	return strconv.FormatUint(uint64(v), 10)
}

func bit(v bool) string {
	if v {
		return "1"
	}
	return "0"
}

// ours decodes a frame with the layers and views of this project.
func ours(t *testing.T, b []byte) want {
	t.Helper()
	w := want{}
	for _, l := range Decode(b).Layers() {
		switch l := l.(type) {
		case *layers.Dot1Q:
			v := wire.VLAN(b)
			w["vlan.id"], w["vlan.priority"], w["vlan.dei"] = num(v.VID()), num(v.PCP()), bit(v.DEI())
		case *layers.ARP:
			a := wire.ARP(l.Contents)
			w["arp.opcode"] = num(a.Op())
			w["arp.src.proto_ipv4"] = netip.AddrFrom4(a.SenderIP()).String()
			w["arp.dst.proto_ipv4"] = netip.AddrFrom4(a.TargetIP()).String()
			w["arp.src.hw_mac"] = mac(a.SenderMAC())
		case *layers.IPv4:
			h := wire.IPv4(l.Contents)
			w["ip.dsfield.dscp"], w["ip.dsfield.ecn"], w["ip.ttl"] = num(h.TOS()>>2), num(h.TOS()&3), num(h.TTL())
			w["ip.id"], w["ip.len"], w["ip.flags.df"] = num(h.ID()), num(h.TotalLen()), bit(h.DontFragment())
			w["ip.src"], w["ip.checksum.status"] = netip.AddrFrom4(h.Src()).String(), "1" // good
		case *layers.IPv6:
			h := wire.IPv6(l.Contents)
			w["ipv6.tclass.dscp"], w["ipv6.tclass.ecn"], w["ipv6.hlim"] = num(h.TrafficClass()>>2), num(h.TrafficClass()&3), num(h.HopLimit())
			w["ipv6.flow"], w["ipv6.plen"], w["ipv6.src"] = num(h.FlowLabel()), num(h.PayloadLen()), netip.AddrFrom16(h.Src()).String()
		case *layers.UDP:
			h := wire.UDP(l.Contents)
			w["udp.srcport"], w["udp.dstport"], w["udp.length"] = num(h.SrcPort()), num(h.DstPort()), num(h.Len())
		case *layers.ICMPv4:
			m := wire.ICMP(l.Contents)
			w["icmp.type"], w["icmp.code"], w["icmp.checksum.status"] = num(m.Type()), num(m.Code()), "1"
		case *layers.ICMPv6:
			m := wire.ICMP(b[54:])
			w["icmpv6.type"], w["icmpv6.code"], w["icmpv6.checksum.status"] = num(m.Type()), num(m.Code()), "1"
			if n := wire.ND(m); n.Valid() {
				k := map[uint8]string{wire.ICMPv6NeighborSol: "icmpv6.nd.ns.target_address", wire.ICMPv6NeighborAdv: "icmpv6.nd.na.target_address"}[m.Type()]
				w[k] = netip.AddrFrom16(n.Target()).String()
				a, ok := n.LinkAddr(wire.NDSourceLinkAddr)
				if m.Type() == wire.ICMPv6NeighborAdv {
					a, ok = n.LinkAddr(wire.NDTargetLinkAddr)
				}
				if !ok {
					t.Errorf("no link-layer address in %x", b)
				}
				w["icmpv6.opt.linkaddr"] = mac(a)
			}
		case *BTH:
			bth(w, l, b)
		case *PFC:
			w["macc.opcode"], w["macc.cbfc.enbv"] = num(wire.OpcodePFC), num(l.Enable)
			for i, q := range l.Time {
				w[fmt.Sprintf("macc.cbfc.pause_time.c%d", i)] = num(q)
				w[fmt.Sprintf("macc.cbfc.enbv.c%d", i)] = bit(l.Enable&(1<<i) != 0)
			}
		}
	}
	return w
}

func mac(a [6]byte) string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", a[0], a[1], a[2], a[3], a[4], a[5])
}

func bth(w want, b *BTH, frame []byte) {
	w["infiniband.bth.opcode"], w["infiniband.bth.psn"], w["infiniband.bth.destqp"] = num(b.Opcode), num(b.PSN), num(b.DestQP)
	w["infiniband.bth.padcnt"], w["infiniband.bth.p_key"], w["infiniband.bth.tver"] = num(b.Pad), num(b.PKey), num(b.TVer)
	w["infiniband.bth.se"], w["infiniband.bth.m"], w["infiniband.bth.a"] = bit(b.Solicited), bit(b.MigReq), bit(b.AckReq)
	// tshark 4.0 shows no ICRC behind an empty payload or in a CNP.
	if b.Opcode != wire.CNP && (len(b.Payload()) > 0 || b.Ext&wire.ExtPayload == 0) {
		icrc := b.ICRC // tshark shows the bytes in the order of the wire
		w["infiniband.invariant.crc"] = num(icrc<<24 | icrc>>24 | icrc<<8&0xff0000 | icrc>>8&0xff00)
	}
	if h := b.DETH(); h != nil {
		w["infiniband.deth.q_key"], w["infiniband.deth.srcqp"] = num(h.QKey()), num(h.SrcQP())
	}
	if h := b.RETH(); h != nil {
		w["infiniband.reth.va"], w["infiniband.reth.r_key"], w["infiniband.reth.dmalen"] = num(h.VA()), num(h.RKey()), num(h.DMALen())
	}
	if h := b.AtomicETH(); h != nil {
		w["infiniband.reth.va"], w["infiniband.reth.r_key"] = num(h.VA()), num(h.RKey()) // tshark reuses the names
		w["infiniband.atomiceth.swapdt"], w["infiniband.atomiceth.cmpdt"] = num(h.SwapAdd()), num(h.Compare())
	}
	if h := b.AETH(); h != nil {
		s := h.Syndrome()
		w["infiniband.aeth.syndrome"], w["infiniband.aeth.msn"] = num(s), num(h.MSN())
		switch s.Kind() {
		case wire.KindACK:
			w["infiniband.aeth.syndrome.credit_count"] = num(s.Value())
		case wire.KindRNRNAK:
			w["infiniband.aeth.syndrome.timer"] = num(s.Value())
		case wire.KindNAK:
			w["infiniband.aeth.syndrome.error_code"] = num(s.Value())
		}
	}
	if h := b.AtomicAckETH(); h != nil {
		w["infiniband.atomicacketh.origremdt"] = num(h.Original())
	}
	if h := b.ImmDt(); h != nil {
		w["infiniband.immdt"] = fmt.Sprintf("%08x", h.Data())
	}
	if h := b.IETH(); h != nil {
		w["infiniband.ieth"] = fmt.Sprintf("%08x", h.RKey())
	}
}

// tsharkFields runs tshark on a file and returns a row per packet.
func tsharkFields(t *testing.T, file string, keys []string) [][]string {
	t.Helper()
	args := []string{"-r", file, "-n", "-o", "ip.check_checksum:TRUE", "-T", "fields", "-E", "separator=|", "-E", "occurrence=f"}
	for _, k := range keys {
		args = append(args, "-e", k)
	}
	cmd := exec.Command("tshark", args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir()) // not the user's preferences
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark: %v: %s", err, stderr.String())
	}
	var rows [][]string
	for _, l := range strings.Split(strings.TrimRight(string(out), "\n"), "\n") {
		rows = append(rows, strings.Split(l, "|"))
	}
	return rows
}

// normal reads numbers, booleans and byte strings the same way, however
// tshark prints them.
func normal(key, s string) string {
	switch key {
	case "infiniband.immdt", "infiniband.ieth":
		return strings.ReplaceAll(s, ":", "")
	}
	switch s {
	case "True":
		return "1"
	case "False":
		return "0"
	}
	if v, err := strconv.ParseUint(s, 0, 64); err == nil {
		return strconv.FormatUint(v, 10)
	}
	return s
}

// TestTshark writes a capture of every kind of frame, through the whole way a
// capture takes, and compares what tshark and this project read in it.
func TestTshark(t *testing.T) {
	simtest.Need(t, "tshark")
	base := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	s := capture.NewSession(capture.Config{Base: base})
	taps := []*capture.Tap{s.Tap("s1:1"), s.Tap("h1:eth0")}
	frames := everything()
	for i, f := range frames {
		comment := ""
		if i%3 == 0 {
			comment = "frame " + f.name
		}
		taps[i&1].Note(link.Direction(i>>1&1), sim.Time(i)*1001*sim.Nanosecond, f.frame, comment)
	}
	file := filepath.Join(t.TempDir(), "x.pcapng")
	writeCapture(t, s, file)

	wants, seen := make([]want, len(frames)), map[string]bool{}
	for i, f := range frames {
		b := f.frame.AppendTo(nil)
		for len(b) < 60 {
			b = append(b, 0)
		}
		w := ours(t, b)
		w["frame.len"] = num(len(b))
		w["frame.interface_name"] = []string{"s1:1", "h1:eth0"}[i&1]
		w["frame.packet_flags_direction"] = []string{"2", "1"}[i>>1&1]
		w["frame.time_epoch"] = fmt.Sprintf("%d.%09d", base.Unix(), i*1001)
		w["frame.comment"] = ""
		if i%3 == 0 {
			w["frame.comment"] = "frame " + f.name
		}
		wants[i] = w
		for k := range w {
			seen[k] = true
		}
	}
	var keys []string
	for k := range seen {
		keys = append(keys, k)
	}
	rows := tsharkFields(t, file, keys)
	if len(rows) != len(frames) {
		t.Fatalf("tshark saw %d packets of %d", len(rows), len(frames))
	}
	compared := 0
	for i, row := range rows {
		for j, k := range keys {
			v, ok := wants[i][k]
			if !ok {
				continue
			}
			compared++
			if got := normal(k, row[j]); got != v {
				t.Errorf("%s: %s: tshark %q, ours %q", frames[i].name, k, row[j], v)
			}
		}
	}
	t.Logf("%d fields of %d frames agree with tshark", compared, len(frames))
}

func writeCapture(t *testing.T, s *capture.Session, file string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var stream bytes.Buffer
	if err := s.Run(ctx, &stream); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := capture.Decode(&stream, capture.NewPcapNG(out)); err != nil {
		t.Fatal(err)
	}
}
