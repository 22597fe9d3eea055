package capture

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/gopacket/pcapgo"

	"cnuas/internal/link"
	"cnuas/internal/sim"
)

// What NgReader reads is what was captured.
func TestPcapNG(t *testing.T) {
	n := &note{
		head:  Header{Base: base, Filter: "udp"},
		ports: []string{"s1:1", "h1:eth0"},
		stats: []Stats{{0, 5, 2}, {1, 1, 0}},
	}
	for i := range 9 { // all paddings of data and comment
		n.records = append(n.records, Record{
			Port: i & 1, Dir: link.Direction(i >> 1 & 1), Time: sim.Time(i) * 1001, OrigLen: 60 + i,
			Data: bytes.Repeat([]byte{byte(i)}, 60+i), Comment: strings.Repeat("c", i),
		})
	}
	n.records[8].OrigLen = 4242
	var out bytes.Buffer
	p := NewPcapNG(&out)
	if err := Decode(bytes.NewReader(encode(n)), p); err != nil {
		t.Fatal(err)
	}
	if got, lost := p.Counts(); got != 6 || lost != 2 {
		t.Errorf("received %d, lost %d", got, lost)
	}
	r, err := pcapgo.NewNgReader(bytes.NewReader(out.Bytes()), pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range n.records {
		data, ci, err := r.ReadPacketData()
		if err != nil {
			t.Fatalf("packet %d: %v", i, err)
		}
		if !bytes.Equal(data, want.Data) || ci.Length != want.OrigLen || ci.InterfaceIndex != want.Port ||
			ci.Timestamp.UnixNano() != base.UnixNano()+want.Time.Nanoseconds() {
			t.Errorf("packet %d: %+v, data %x", i, ci, data)
		}
	}
	if _, _, err := r.ReadPacketData(); err != io.EOF {
		t.Errorf("after the last packet: %v", err)
	}
	if r.NInterfaces() != 2 {
		t.Fatalf("%d interfaces", r.NInterfaces())
	}
	for i, name := range n.ports {
		in, err := r.Interface(i)
		if err != nil || in.Name != name || in.Filter != "\x00udp" && in.Filter != "udp" || in.TimestampResolution != 9 {
			t.Errorf("interface %d: %+v %v", i, in, err)
		}
		if st := in.Statistics; st.PacketsReceived != n.stats[i].Received || st.PacketsDropped != n.stats[i].Lost {
			t.Errorf("interface %d: statistics %+v", i, st)
		}
	}
}

func TestPcapNGWriteError(t *testing.T) {
	if err := Decode(bytes.NewReader(encode(example())), NewPcapNG(&brokenWriter{})); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}

// A capture that goes on is readable while it does: what came is written out
// before Decode waits for more.
func TestPcapNGLive(t *testing.T) {
	pr, pw := io.Pipe()
	fr, fw := io.Pipe()
	defer pw.Close()
	go func() {
		fw.CloseWithError(Decode(pr, NewPcapNG(fw)))
	}()
	n := example()
	b := encode(n)
	stats := appendEnd(appendStats(appendStats(nil, n.stats[0]), n.stats[1]))
	go pw.Write(b[:len(b)-len(stats)]) // the frames, and no end
	r, err := pcapgo.NewNgReader(fr, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range n.records {
		data, _, err := r.ReadPacketData()
		if err != nil || !bytes.Equal(data, want.Data) {
			t.Fatalf("packet %d: %x, %v", i, data, err)
		}
	}
}
