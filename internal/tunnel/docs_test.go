package tunnel_test

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/ibport/ibtest"
	"cnuas/internal/sim"
	"cnuas/internal/tunnel"
	"cnuas/internal/tunnel/datagram"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// recorder notes what a socket sends.
type recorder struct {
	*datagram.Socket
	e    *sim.Engine
	name string
	to   *[]string
}

func (r recorder) Send(to netip.AddrPort, b []byte) {
	*r.to = append(*r.to, fmt.Sprintf("%9.3f ms %s %x %x", float64(r.e.Now())/float64(sim.Millisecond), r.name, b[:tunnel.HeaderLen], b[tunnel.HeaderLen:]))
	r.Socket.Send(to, b)
}

// The exchange in docs/TUNNEL.md is what two ends say: a link with one lane
// comes up, then an SMP passes.
func TestDocumentedExchange(t *testing.T) {
	var got []string
	e, pool := sim.NewEngine(1), &frame.Pool{}
	n := datagram.New(e)
	n.Faults.Delay = 50 * sim.Microsecond
	var ends [2]*ibtest.End
	for i, name := range []string{"A", "B"} {
		at := []netip.AddrPort{addrA, addrB}[i]
		h, err := tunnel.NewHub(e, pool, recorder{n.Socket(at), e, name, &got}, tunnel.HubConfig{Session: []uint32{0xaaaaaaaa, 0xbbbbbbbb}[i]})
		if err != nil {
			t.Fatal(err)
		}
		n.Listen(at, h)
		ends[i] = ibtest.NewEnd(e, pool, ibport.Config{Name: name, GUID: []wire.GUID{0x0002c90300000011, 0x0002c90300000021}[i],
			SpeedsExt: mad.SpeedFDR | mad.SpeedEDR, VLs: mad.VL0, BufferBytes: 128 << 10})
		cfg := tunnel.Config{Num: 1, Peer: addrB, PeerNum: 7}
		if i == 1 {
			cfg = tunnel.Config{Num: 7}
		}
		if _, err = h.Add(ends[i].Port, cfg); err != nil {
			t.Fatal(err)
		}
	}
	e.RunUntil(5 * sim.Millisecond)
	m := make(mad.SMP, mad.PacketLen)
	(&mad.Header{Class: mad.ClassSubnLID, Method: mad.MethodGet, Attr: mad.AttrNodeInfo, TID: 1}).Encode(mad.Packet(m))
	ends[0].Send(wire.VL15, ibtest.NewMAD(pool, 0xffff, 0xffff, 0, mad.Packet(m)))
	e.RunUntil(6 * sim.Millisecond)
	if ends[1].Port.Counters().RcvPkts != 1 || ends[1].Port.State() != mad.PortInit {
		t.Errorf("%d packets, %v", ends[1].Port.Counters().RcvPkts, ends[1].Port.State())
	}
	doc, err := os.ReadFile("../../docs/TUNNEL.md")
	if err != nil {
		t.Fatal(err)
	}
	// In the document lines are broken and zeros of the MAD left out.
	for _, l := range got {
		f := strings.Fields(l)
		text := strings.Join(f[2:4], " ") + " " + f[4][:min(len(f[4]), 72)]
		if !strings.Contains(string(doc), text) || !strings.Contains(string(doc), f[0]+" ms "+f[2]) {
			t.Errorf("docs/TUNNEL.md lacks: %s", l)
		}
	}
	if c := fmt.Sprintf("%#04x", wire.VCRC([]byte("123456789"))); !strings.Contains(string(doc), c) {
		t.Errorf("docs/TUNNEL.md lacks the check value %s", c)
	}
	for _, s := range []string{exampleStateText, exampleFlowText} {
		if !strings.Contains(string(doc), s) {
			t.Errorf("docs/TUNNEL.md lacks the example %s", s)
		}
	}
}

// The examples of the tests of the codec, as the document writes them.
const (
	exampleStateText = "49420103 00000007 0002fed2 12345678 000001ff"
	exampleFlowText  = "49420102 01000007 00024c92 12345678 000002a1"
)
