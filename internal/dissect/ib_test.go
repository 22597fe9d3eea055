package dissect

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cnuas/internal/capture"
	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/sim"
	"cnuas/internal/simtest"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// ibFrames returns the packets of a golden capture; of flow control packets
// without the padding of their records.
func ibFrames(t testing.TB, file string) (l [][]byte) {
	t.Helper()
	b, err := os.ReadFile("../../testdata/ib/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for b = b[24:]; len(b) > 0; {
		n := int(binary.LittleEndian.Uint32(b[8:]))
		r := b[16 : 16+n]
		f := r[16:][:binary.BigEndian.Uint16(r[14:])]
		if r[8] == 25 {
			f = f[:wire.FlowLen]
		}
		l = append(l, f)
		b = b[16+n:]
	}
	return l
}

// native builds a packet with an opcode, as packet.roce does.
func (p packet) native(global bool) []byte {
	if p.opcode.Has()&wire.ExtPayload == 0 {
		p.payload = 0
	}
	off, lnh := wire.LRHLen, wire.LNHBTH
	if global {
		off, lnh = off+wire.GRHLen, wire.LNHGRH
	}
	pad := -p.payload & 3
	n := off + p.opcode.HeaderLen() + p.payload + pad + wire.ICRCLen
	b := make([]byte, n+wire.VCRCLen)
	(&wire.LRHFields{VL: uint8(p.n & 7), SL: uint8(p.n & 15), LNH: lnh, DLID: 0x100 + wire.LID(p.n), PktLen: n / 4, SLID: 7}).Encode(b)
	if global {
		(&wire.GRHFields{TClass: 3, FlowLabel: 0x12345, PayLen: n - off, NxtHdr: wire.NextHeaderIBA, HopLmt: 9,
			SGID: wire.MakeGID(wire.DefaultGIDPrefix, 1), DGID: wire.MakeGID(wire.DefaultGIDPrefix, 2)}).Encode(b[8:])
	}
	bth := wire.BTHFields{Opcode: p.opcode, MigReq: true, Pad: uint8(pad), PKey: 0x8001, FECN: p.n&1 != 0, BECN: p.opcode == wire.CN || p.n&2 != 0,
		DestQP: 0x123400 + uint32(p.n), AckReq: p.n&4 != 0, PSN: uint32(p.n)}
	bth.Encode(b[off:])
	p.extensions(b[off+wire.BTHLen:])
	for i := range p.payload {
		b[off+p.opcode.HeaderLen()+i] = byte(p.n + i)
	}
	wire.SealIB(b)
	return b
}

// everyIB is a packet of every kind.
func everyIB(t testing.TB) (l [][]byte) {
	l = append(l, ibFrames(t, "ib_erf21.pcap")...)
	l = append(l, ibFrames(t, "ib_erf25_flow_pad64.pcap")...)
	n := 0
	for i := range 256 {
		if o := wire.Opcode(i); o.Known() && o != wire.CNP {
			for _, global := range []bool{false, true} {
				l = append(l, packet{opcode: o, payload: 16 + n%4, n: n}.native(global))
				n++
			}
		}
	}
	raw := make([]byte, 8+4+8+2)
	(&wire.LRHFields{LNH: wire.LNHRaw, DLID: 2, PktLen: 5, SLID: 1}).Encode(raw)
	wire.RWH(raw[8:]).Encode(0x88cc)
	wire.SealIB(raw)
	return append(l, raw)
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		if at(g, i) != at(w, i) {
			t.Fatalf("line %d differs from %s (-update writes it anew)\n got %q\nwant %q", i+1, file, at(g, i), at(w, i))
		}
	}
}

func TestIBLines(t *testing.T) {
	var s strings.Builder
	for _, b := range everyIB(t) {
		line := LineIB(b, len(b))
		fmt.Fprintln(&s, line)
		if strings.Contains(line, "BAD") || strings.Contains(line, "[") {
			t.Error(line)
		}
		for n := range b { // cut off anywhere
			LineIB(b[:n], len(b))
		}
	}
	golden(t, "testdata/iblines.txt", s.String())
	b := bytes.Clone(ibFrames(t, "ib_erf21.pcap")[0])
	b[40] ^= 1
	if got := LineIB(b, len(b)); !strings.Contains(got, "BAD ICRC BAD VCRC") {
		t.Error(got)
	}
	f := bytes.Clone(ibFrames(t, "ib_erf25_flow_pad64.pcap")[0])
	f[1] ^= 1
	if got := LineIB(f, len(f)); !strings.Contains(got, "BAD LPCRC") {
		t.Error(got)
	}
}

func TestIBLayers(t *testing.T) {
	frames := ibFrames(t, "ib_erf21.pcap")
	p := DecodeIB(frames[8])
	m, ok := p.Layer(LayerTypeMAD).(*MAD)
	if !ok {
		t.Fatal(p)
	}
	if ni, ok := m.Attribute().(*mad.NodeInfo); !ok || ni.NodeGUID != 0x200000 || m.Class != mad.ClassSubnDirected {
		t.Errorf("%v", m)
	}
	l := p.Layer(LayerTypeLRH).(*LRH)
	if !l.Whole || l.VL != 15 || l.DLID != wire.LIDPermissive {
		t.Errorf("%+v", l)
	}
	p = DecodeIB(frames[6])
	if g, ok := p.Layer(LayerTypeGRH).(*GRH); !ok || g.NxtHdr != wire.NextHeaderIBA || p.Layer(LayerTypeBTH) == nil {
		t.Error(p)
	}
	f, ok := DecodeIB(ibFrames(t, "ib_erf25_flow_pad64.pcap")[0]).Layer(LayerTypeFlow).(*Flow)
	if !ok || !f.Intact || f.Op != wire.FlowInit || f.FCCL != 0x80 {
		t.Errorf("%+v", f)
	}
}

func ibWhole(b []byte) *frame.Frame {
	f := new(frame.Frame)
	copy(f.Buf(len(b)), b)
	f.WireLen()
	return f
}

// A capture of ports of both kinds, as text.
func TestTextBothKinds(t *testing.T) {
	s := capture.NewSession(capture.Config{})
	s.Tap("h1:eth0").Observe(nil, link.Tx, 0, packet{opcode: wire.RCSendOnly, payload: 4}.roce())
	s.TapLink("h1/1", capture.InfiniBand).Observe(nil, link.Rx, sim.Microsecond, ibWhole(ibFrames(t, "ib_erf21.pcap")[7]))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var stream, out bytes.Buffer
	if err := s.Run(ctx, &stream); err != nil {
		t.Fatal(err)
	}
	if err := capture.Decode(&stream, NewText(&out)); err != nil {
		t.Fatal(err)
	}
	want := "         0.000us h1:eth0 tx 10.0.0.1 > 10.0.0.2 RoCEv2 sport 49152 RC SEND Only qp 0x123400 psn 16777200 payload 4 length 62\n" +
		"         1.000us h1/1    rx lid 65535 > 65535 vl 15 SubnDRGet(NodeInfo) tid 0xabcd hop 1/1 path 0,1 length 290\n" +
		"h1:eth0: 1 frames, 0 of them lost\nh1/1: 1 frames, 0 of them lost\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// ourIB decodes a packet with the layers and views of this project.
func ourIB(b []byte) want {
	w := want{}
	for _, l := range DecodeIB(b).Layers() {
		switch l := l.(type) {
		case *LRH:
			w["infiniband.lrh.vl"], w["infiniband.lrh.sl"], w["infiniband.lrh.lnh"] = num(l.VL), num(l.SL), num(l.LNH)
			w["infiniband.lrh.dlid"], w["infiniband.lrh.slid"], w["infiniband.lrh.pktlen"] = num(l.DLID), num(l.SLID), num(l.PktLen)
		case *GRH:
			w["infiniband.grh.tclass"], w["infiniband.grh.flowlabel"], w["infiniband.grh.paylen"] = num(l.TClass), num(l.FlowLabel), num(l.PayLen)
			w["infiniband.grh.nxthdr"], w["infiniband.grh.hoplmt"] = num(l.NxtHdr), num(l.HopLmt)
			w["infiniband.grh.sgid"], w["infiniband.grh.dgid"] = l.SGID.String(), l.DGID.String()
		case *BTH:
			bth(w, l, b)
			if l.Opcode == wire.CN {
				delete(w, "infiniband.invariant.crc") // an opcode that tshark 4.0 does not know
			}
		case *MAD:
			if l.Class == mad.ClassPerf {
				delete(w, "infiniband.invariant.crc") // tshark 4.0 stops at the MAD
			}
			w["infiniband.mad.method"], w["infiniband.mad.mgmtclass"], w["infiniband.mad.attributeid"] = num(l.Method), num(l.Class), num(l.Attr)
		case *Flow:
			w["infiniband_link.op"], w["infiniband_link.fctbs"] = num(l.Op), num(l.FCTBS)
			w["infiniband_link.vl"], w["infiniband_link.fccl"] = num(l.VL), num(l.FCCL)
		}
	}
	return w
}

// TestTsharkIB writes a capture with an Ethernet and an InfiniBand port and
// compares what tshark and this project read in it.
func TestTsharkIB(t *testing.T) {
	simtest.Need(t, "tshark")
	base := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	s := capture.NewSession(capture.Config{Base: base})
	eth, ib := s.Tap("h1:eth0"), s.TapLink("h1/1", capture.InfiniBand)
	var wants []want
	seen := map[string]bool{}
	add := func(w want, name string, n, i int, d link.Direction) {
		w["frame.len"], w["frame.interface_name"] = num(n), name
		w["frame.packet_flags_direction"] = []string{"2", "1"}[d]
		w["frame.time_epoch"] = fmt.Sprintf("%d.%09d", base.Unix(), i*1000)
		wants = append(wants, w)
		for k := range w {
			seen[k] = true
		}
	}
	i := 0
	for _, b := range everyIB(t) {
		d := link.Direction(i & 1)
		ib.Observe(nil, d, sim.Time(i)*sim.Microsecond, ibWhole(b))
		n := len(b) // tshark does not count the record's header
		if n == wire.FlowLen {
			n = 64
		}
		add(ourIB(b), "h1/1", n, i, d)
		i++
		if i%8 == 0 {
			f := packet{opcode: wire.RCSendOnly, payload: 30, n: i}.roce()
			eth.Observe(nil, link.Tx, sim.Time(i)*sim.Microsecond, f)
			e := f.AppendTo(nil)
			add(ours(t, e), "h1:eth0", len(e), i, link.Tx)
			i++
		}
	}
	file := filepath.Join(t.TempDir(), "x.pcapng")
	writeCapture(t, s, file)
	var keys []string
	for k := range seen {
		keys = append(keys, k)
	}
	rows := tsharkFields(t, file, keys)
	if len(rows) != len(wants) {
		t.Fatalf("tshark saw %d packets of %d", len(rows), len(wants))
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
				t.Errorf("packet %d: %s: tshark %q, ours %q", i+1, k, row[j], v)
			}
		}
	}
	t.Logf("%d fields of %d packets agree with tshark", compared, len(wants))
}

func FuzzLineIB(f *testing.F) {
	for _, b := range everyIB(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if LineIB(b, len(b)) == "" {
			t.Fatal("no line")
		}
	})
}
