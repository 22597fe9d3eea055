package capture

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/google/gopacket/pcapgo"

	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
)

// goldenIB returns the frames of ib_erf21.pcap and their ERF records.
func goldenIB(t testing.TB, file string) (frames, records [][]byte) {
	t.Helper()
	b, err := os.ReadFile("../../testdata/ib/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for b = b[24:]; len(b) > 0; {
		n := int(binary.LittleEndian.Uint32(b[8:]))
		r := b[16 : 16+n]
		records = append(records, r)
		frames = append(frames, r[16:][:binary.BigEndian.Uint16(r[14:])])
		b = b[16+n:]
	}
	return frames, records
}

// ibFrame is a packet as an HCA sends it: headers, payload elsewhere, CRCs
// deferred.
func ibFrame(t testing.TB, whole []byte) *frame.Frame {
	t.Helper()
	var l wire.IBLayers
	if !l.Parse(whole) || !l.Transport {
		t.Fatal("no transport packet")
	}
	f := new(frame.Frame)
	copy(f.Head(int(l.Payload)), whole)
	f.SetPayload(bytes.Clone(l.Message(whole)), nil)
	f.Meta.ICRCDeferred, f.Meta.Pad = true, uint8(wire.BTH(whole[l.BTH:]).Pad())
	f.WireLen()
	return f
}

func part(b []byte) *frame.Frame {
	f := new(frame.Frame)
	copy(f.Buf(len(b)), b)
	f.WireLen()
	return f
}

// Whatever of the CRCs a packet has, it is captured with both.
func TestIBSeal(t *testing.T) {
	frames, _ := goldenIB(t, "ib_erf21.pcap")
	s := NewSession(Config{Base: base})
	tap := s.TapLink("h1/1", InfiniBand)
	var want [][]byte
	for _, b := range frames {
		deferred, noVCRC, whole := ibFrame(t, b), part(b[:len(b)-2]), part(b)
		for _, f := range []*frame.Frame{deferred, noVCRC, whole} {
			tap.Observe(nil, link.Tx, 0, f)
			want = append(want, b)
		}
	}
	wrong := bytes.Clone(frames[0]) // corrupted on the way: as it is
	wrong[40] ^= 1
	tap.Observe(nil, link.Rx, 0, part(wrong))
	want = append(want, wrong)
	n := decode(t, finished(t, s))
	if len(n.records) != len(want) || n.links[0] != InfiniBand {
		t.Fatalf("%d records, links %v", len(n.records), n.links)
	}
	for i, r := range n.records {
		if !bytes.Equal(r.Data, want[i]) || r.OrigLen != len(want[i]) || r.Link != InfiniBand {
			t.Errorf("record %d (%d of frame %d):\n got %x\nwant %x", i, i%3, i/3+1, r.Data, want[i])
		}
	}
}

// With a snap length nothing is read or written behind it.
func TestIBSnapLen(t *testing.T) {
	frames, _ := goldenIB(t, "ib_erf21.pcap")
	b := frames[7]
	for snap := range len(b) + 3 {
		s := NewSession(Config{Base: base, SnapLen: snap})
		tap := s.TapLink("h1/1", InfiniBand)
		tap.Observe(nil, link.Tx, 0, ibFrame(t, b))
		tap.Observe(nil, link.Tx, 0, part(b[:len(b)-2]))
		for i, r := range decode(t, finished(t, s)).records {
			n := min(snap, len(b))
			if snap == 0 {
				n = len(b)
			}
			// A CRC that is cut off in the middle may be missing altogether.
			whole := r.Data[:max(0, min(n, len(b)-6))]
			if len(r.Data) != n || r.OrigLen != len(b) || !bytes.Equal(whole, b[:len(whole)]) || n == len(b) && !bytes.Equal(r.Data, b) {
				t.Fatalf("snap length %d, packet %d: %d bytes: %x", snap, i, len(r.Data), r.Data)
			}
		}
	}
}

// One session with ports of both kinds: two interfaces, and records of ERF
// where the port is InfiniBand.
func TestIBPcapNG(t *testing.T) {
	frames, records := goldenIB(t, "ib_erf21.pcap")
	flows, flowRecords := goldenIB(t, "ib_erf25_flow_pad64.pcap")
	s := NewSession(Config{Base: base})
	eth, ib := s.Tap("h1:eth0"), s.TapLink("h1/1", InfiniBand)
	eth.Observe(nil, link.Tx, 0, whole(64, 1))
	var want [][]byte
	for i, f := range frames {
		ib.Note(link.Tx, sim.Time(i)*sim.Microsecond, part(f), "frame")
		want = append(want, records[i])
	}
	for i, f := range flows {
		ib.Observe(nil, link.Rx, sim.Second, part(f[:wire.FlowLen]))
		want = append(want, flowRecords[i])
	}
	eth.Observe(nil, link.Rx, 2*sim.Second, whole(64, 2))

	var out bytes.Buffer
	if err := Decode(bytes.NewReader(finished(t, s)), NewPcapNG(&out)); err != nil {
		t.Fatal(err)
	}
	r, err := pcapgo.NewNgReader(&out, pcapgo.NgReaderOptions{WantMixedLinkType: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(want) + 2 {
		data, ci, err := r.ReadPacketData()
		if err != nil {
			t.Fatal(err)
		}
		in, _ := r.Interface(ci.InterfaceIndex)
		if i == 0 || i == len(want)+1 {
			if ci.InterfaceIndex != 0 || in.LinkType != 1 || len(data) != 64 {
				t.Errorf("Ethernet: %+v, link type %v, %d bytes", ci, in.LinkType, len(data))
			}
			continue
		}
		// All but the time, which is another.
		if w := want[i-1]; ci.InterfaceIndex != 1 || in.LinkType != linkTypeERF || !bytes.Equal(data[8:], w[8:]) || ci.Length != len(w) {
			t.Errorf("packet %d: interface %d of type %v\n got %x\nwant %x", i, ci.InterfaceIndex, in.LinkType, data[8:], w[8:])
		}
		if sec := binary.LittleEndian.Uint32(data[4:]); int64(sec) != ci.Timestamp.Unix() {
			t.Errorf("packet %d: %d seconds, %v", i, sec, ci.Timestamp)
		}
	}
}

// The filter's language is one for Ethernet.
func TestIBFilter(t *testing.T) {
	frames, _ := goldenIB(t, "ib_erf21.pcap")
	s := NewSession(Config{Base: base, Filter: &Filter{}})
	s.TapLink("h1/1", InfiniBand).Observe(nil, link.Tx, 0, part(frames[0]))
	if n := decode(t, finished(t, s)); len(n.records) != 0 {
		t.Error("matched")
	}
}

func TestIBNoAllocations(t *testing.T) {
	frames, _ := goldenIB(t, "ib_erf21.pcap")
	s := NewSession(Config{Base: base})
	tap := s.TapLink("h1/1", InfiniBand)
	f := ibFrame(t, frames[2])
	if n := testing.AllocsPerRun(100, func() { tap.Observe(nil, link.Tx, 0, f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
