package capture

import (
	"strings"
	"testing"

	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/simtest"
	"cnuas/internal/wire"
)

func TestFilter(t *testing.T) {
	simtest.Need(t, "tcpdump")
	var pool frame.Pool
	roce := writeFrame(&pool, []byte("hello"))
	pause := new(frame.Frame)
	(&wire.PFC{Enable: 8}).Encode(pause.Buf(wire.PFCLen), [6]byte{2})
	pause.WireLen()
	tagged := whole(64, 0)
	wire.Ethernet(tagged.Data).SetType(wire.EtherTypeVLAN)
	tests := []struct {
		expr string
		want string // of roce, pause, tagged
	}{
		{"udp port 4791", "100"},
		{"ether proto 0x8808", "010"},
		{"vlan", "001"},
		{"udp[8] == 0x0a", "100"},          // the opcode
		{"udp[36:4] == 0x68656c6c", "100"}, // the payload, which is not in Data
		{"greater 64", "101"},              // pad and ICRC count
		{"ip dst 10.0.0.2 and not src port 9", "100"},
		{"ether[0] / ether[54] == 0", "000"}, // divides by zero: no match
		{"", "111"},
	}
	for _, tt := range tests {
		f, err := CompileFilter(tt.expr)
		if err != nil {
			t.Errorf("%q: %v", tt.expr, err)
			continue
		}
		if f.String() != tt.expr {
			t.Errorf("%q: String %q", tt.expr, f)
		}
		s := NewSession(Config{Filter: f})
		tap := s.Tap("p")
		got := ""
		for _, fr := range []*frame.Frame{roce, pause, tagged} {
			before := tap.received.Load()
			tap.Observe(nil, link.Tx, 0, fr)
			got += string(rune('0' + tap.received.Load() - before))
		}
		if got != tt.want {
			t.Errorf("%q: %s, want %s", tt.expr, got, tt.want)
		}
		if n := decode(t, finished(t, s)); len(n.records) != strings.Count(tt.want, "1") || n.head.Filter != tt.expr {
			t.Errorf("%q: %d records, filter %q in the stream", tt.expr, len(n.records), n.head.Filter)
		}
	}
}

func TestFilterErrors(t *testing.T) {
	simtest.Need(t, "tcpdump")
	for expr, want := range map[string]string{
		"udp prot 4791":              "syntax error",
		"-w /nowhere/at-all":         "syntax error", // an expression, not an option
		strings.Repeat("x", 1<<14+1): "are the most",
	} {
		if _, err := CompileFilter(expr); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.20q: %v, want %q in it", expr, err, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := CompileFilter("udp"); err == nil || !strings.Contains(err.Error(), "apt-get install tcpdump") {
		t.Errorf("without tcpdump: %v", err)
	}
}

func TestAssembleErrors(t *testing.T) {
	for _, out := range []string{"", "x", "2\n6 0 0 0", "1\n6 0 0", "1\n6 0 0 x", "1\n6 0 999 0", "1\n21 5 5 0", "1\n40 0 0 12"} {
		if _, err := assemble(out); err == nil {
			t.Errorf("%q was accepted", out)
		}
	}
}

func FuzzAssemble(f *testing.F) {
	f.Add("2\n40 0 0 12\n6 0 0 262144\n", []byte("0123456789abcd"))
	f.Add("3\n48 0 0 0\n52 0 0 0\n6 0 0 1", []byte{})
	f.Fuzz(func(t *testing.T, out string, frame []byte) {
		vm, err := assemble(out)
		if err != nil {
			return
		}
		(&Filter{vm: vm}).Match(frame)
	})
}

func TestFilterNoAllocations(t *testing.T) {
	simtest.Need(t, "tcpdump")
	filter, err := CompileFilter("udp port 4791 and greater 100")
	if err != nil {
		t.Fatal(err)
	}
	tap := NewSession(Config{Filter: filter}).Tap("p")
	var pool frame.Pool
	f := writeFrame(&pool, make([]byte, 1024))
	if n := testing.AllocsPerRun(100, func() { tap.Observe(nil, link.Tx, 1, f) }); n != 0 {
		t.Errorf("%v allocations per frame", n)
	}
}
