package e2e

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/google/gopacket/pcapgo"

	"cnuas/internal/wire"
)

// checkICRC recomputes the invariant CRC of every RoCEv2 frame of a file.
func checkICRC(t *testing.T, file string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pcapgo.NewNgReader(f, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for {
		b, _, err := r.ReadPacketData()
		if err != nil {
			break
		}
		var l wire.Layers
		if !l.Parse(b) || !l.RoCE {
			continue
		}
		// The IP packet ends before the padding of a short frame.
		end := int(l.L3) + int(binary.BigEndian.Uint16(b[l.L3+2:]))
		if l.EtherType == wire.EtherTypeIPv6 {
			end = int(l.L3) + 40 + int(binary.BigEndian.Uint16(b[l.L3+4:]))
		}
		body := b[:end-wire.ICRCLen]
		if got, want := binary.LittleEndian.Uint32(b[end-wire.ICRCLen:]), wire.ICRC(body, int(l.L3)); got != want {
			t.Fatalf("frame %d: ICRC %08x, computed %08x", n, got, want)
		}
		n++
	}
	if n < 1000 {
		t.Errorf("only %d RoCE frames in %s", n, file)
	}
}
