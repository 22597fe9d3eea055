package ideal

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cnuas/internal/sim"
)

// recorder is a host that notes what it gets.
type recorder struct {
	name string
	log  *[]string
	full bool
}

func (r *recorder) Deliver(f []byte) bool {
	if r.full {
		return false
	}
	*r.log = append(*r.log, r.name+"<"+string(f[14:]))
	return true
}

func mac(n int) (m [6]byte) {
	m[0] = 2
	binary.BigEndian.PutUint32(m[2:], uint32(n))
	return m
}

func packet(dst, src [6]byte, text string) []byte {
	return append(append(append(dst[:], src[:]...), 0x88, 0xb5), text...)
}

func lab(n int) (*Switch, []*recorder, *[]string) {
	s, log := New(), &[]string{}
	var hosts []*recorder
	for i := range n {
		h := &recorder{name: fmt.Sprint(i), log: log}
		s.Plug(s.AddPort(fmt.Sprintf("n%d:mgmt0", i)), h)
		hosts = append(hosts, h)
	}
	return s, hosts, log
}

var broadcast = [6]byte{255, 255, 255, 255, 255, 255}

// TestForwarding is a table of frames in and out, in their order.
func TestForwarding(t *testing.T) {
	s, _, log := lab(4)
	group := [6]byte{1, 0, 0x5e, 0, 0, 1}
	for _, c := range []struct {
		at       sim.Time
		port     int
		dst, src [6]byte
		text     string
		want     string
	}{
		{0, 0, mac(1), mac(0), "unknown", "1<unknown 2<unknown 3<unknown"},
		{1, 1, mac(0), mac(1), "answer", "0<answer"},
		{2, 0, mac(1), mac(0), "known", "1<known"},
		{3, 2, broadcast, mac(2), "all", "0<all 1<all 3<all"},
		{4, 3, group, mac(3), "group", "0<group 1<group 2<group"},
		{5, 1, mac(1), mac(1), "itself", ""},
		{6, 3, mac(1), mac(0), "moved", "1<moved"},
		{7, 1, mac(0), mac(1), "follows", "3<follows"},
		{6 + AgeingTime - 1, 1, mac(0), mac(1), "almost old", "3<almost old"},
		{6 + AgeingTime, 1, mac(0), mac(1), "old", "0<old 2<old 3<old"},
	} {
		*log = nil
		s.Send(c.at, c.port, packet(c.dst, c.src, c.text))
		if got := strings.Join(*log, " "); got != c.want {
			t.Errorf("%q: delivered %q, want %q", c.text, got, c.want)
		}
	}
}

func TestCounters(t *testing.T) {
	s, hosts, _ := lab(3)
	f := packet(broadcast, mac(0), "x")
	s.Send(0, 0, f)
	hosts[1].full = true
	s.Send(0, 0, f)
	s.Plug(2, nil)
	s.Send(0, 0, f)
	s.Send(0, 0, f[:13])
	s.Send(0, 0, packet(mac(1), broadcast, "from a group"))
	n := uint64(len(f))
	for p, want := range []Counters{
		{TxFrames: 3, TxBytes: 3 * n, Malformed: 2},
		{RxFrames: 1, RxBytes: n, NotTaken: 2},
		{RxFrames: 2, RxBytes: 2 * n},
	} {
		if got := s.Counters(p); got != want {
			t.Errorf("port %d: %+v, want %+v", p, got, want)
		}
	}
	if s.Name(2) != "n2:mgmt0" || s.Ports() != 3 {
		t.Errorf("%d ports, the last is %s", s.Ports(), s.Name(2))
	}
}

// TestAddressesAreBounded: a host that makes up addresses neither fills memory
// nor harms the addresses of others, and is believed again later.
func TestAddressesAreBounded(t *testing.T) {
	s, _, log := lab(3)
	s.Send(0, 1, packet(broadcast, mac(1<<20), "here"))
	for i := range 5 * maxAddresses {
		s.Send(sim.Time(i), 0, packet(mac(1<<20), mac(i), "noise"))
	}
	if len(s.table) != maxAddresses+1 {
		t.Errorf("%d addresses learned, want %d", len(s.table), maxAddresses+1)
	}
	*log = nil
	s.Send(1, 2, packet(mac(1<<20), mac(1<<21), "a"))
	s.Send(1, 2, packet(mac(5*maxAddresses-1), mac(1<<21), "b"))
	later := AgeingTime + 10*maxAddresses
	s.Send(later, 0, packet(mac(1<<20), mac(1<<22), "c"))
	s.Send(later, 2, packet(mac(1<<22), mac(1<<21), "d"))
	if want := []string{"1<a", "0<b", "1<b", "1<c", "2<c", "0<d"}; !slices.Equal(*log, want) {
		t.Errorf("delivered %v, want %v", *log, want)
	}
	// A station that moves counts at one port only.
	s.Send(later, 1, packet(broadcast, mac(1<<22), "moved"))
	total := 0
	for _, p := range s.ports {
		total += p.addresses
	}
	if total != len(s.table) {
		t.Errorf("ports count %d addresses, the table has %d", total, len(s.table))
	}
}

func TestNoAllocation(t *testing.T) {
	s, _, _ := lab(8)
	for p := range 8 {
		s.Plug(p, sink{})
	}
	f, g := packet(mac(1), mac(0), "x"), packet(mac(0), mac(1), "x")
	if n := testing.AllocsPerRun(100, func() { s.Send(0, 0, f); s.Send(0, 1, g) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

type sink struct{}

func (sink) Deliver([]byte) bool { return true }

func FuzzSend(f *testing.F) {
	f.Add([]byte("short"), uint8(0))
	f.Add(packet(mac(1), mac(0), "x"), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, p uint8) {
		s, _, log := lab(4)
		in := int(p % 4)
		s.Send(0, in, b)
		c := s.Counters(in)
		if c.TxFrames+c.Malformed != 1 || (len(*log) != 3) == (c.TxFrames == 1) {
			t.Errorf("%x at %d: %+v, delivered %v", b, in, c, *log)
		}
	})
}
