package switchd

import (
	"bytes"
	"context"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"cnuas/internal/ibport"
	"cnuas/internal/topology"
	"cnuas/internal/wire/mad"
)

// buffer is a log that two goroutines use.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// await polls until the log has a text n times.
func (b *buffer) await(t *testing.T, text string, n int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); strings.Count(b.String(), text) < n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %q (%d times) in 10 s:\n%s", text, n, b)
		}
	}
}

// run starts a switch; end ends it and returns its error.
func run(t *testing.T, cfg Config) (at netip.AddrPort, log *buffer, end func() error) {
	t.Helper()
	log = &buffer{}
	cfg.Log = log
	cfg.Port, _ = PortConfig(topology.IBLink{Width: 4, Speed: topology.EDR, MTU: 4096, VLs: 4})
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	up, done := make(chan netip.AddrPort, 1), make(chan error, 1)
	go func() { done <- Run(ctx, cfg, func(at netip.AddrPort) { up <- at }) }()
	select {
	case at = <-up:
	case err := <-done:
		t.Fatal(err)
	}
	return at, log, func() error { cancel(); return <-done }
}

// Two switches find each other over loopback, miss each other and find each
// other again.
func TestTwoSwitches(t *testing.T) {
	any := netip.MustParseAddrPort("127.0.0.1:0")
	at, log1, end1 := run(t, Config{Name: "s1", Ports: 3, Listen: any})
	peers := map[int]Peer{1: {at, 2}, 2: {at, 3}}
	_, log2, end2 := run(t, Config{Name: "s2", Ports: 2, Listen: any, Peers: peers})
	log1.await(t, "port 2 is Init at 100Gbps", 1)
	log1.await(t, "port 3 is Init", 1)
	log2.await(t, "port 1 is Init", 1)
	if err := end1(); err != nil {
		t.Error(err)
	}
	log2.await(t, "port 1 is Down", 1)
	if s := log1.String(); !strings.Contains(s, "port 2: ") || !strings.Contains(s, " 0 lost; 0 symbol errors") {
		t.Errorf("no summary: %s", s)
	}
	_, log3, end3 := run(t, Config{Name: "s1", Ports: 3, Listen: at})
	log3.await(t, "port 2 is Init", 1)
	log2.await(t, "port 1 is Init", 2)
	for _, end := range []func() error{end2, end3} {
		if err := end(); err != nil {
			t.Error(err)
		}
	}
}

func TestErrors(t *testing.T) {
	at, _, end := run(t, Config{Name: "s1", Ports: 1, Listen: netip.MustParseAddrPort("127.0.0.1:0")})
	for want, c := range map[string]Config{
		"another fabric or cnuas switch has it":                {Name: "s2", Ports: 1, Listen: at},
		"a peer is given for port 2, and its ports are 1 to 1": {Name: "s2", Ports: 1, Listen: at, Peers: map[int]Peer{2: {}}},
		"the peer of port 1 is the switch itself":              {Name: "s2", Ports: 1, Listen: at, Peers: map[int]Peer{1: {at, 1}}},
		"a buffer of 64 bytes holds no packet":                 {Name: "s2", Ports: 1, Listen: at, Port: ibport.Config{BufferBytes: 64}},
		"is not in 0.01 to":                                    {Name: "s2", Ports: 1, Listen: at, Scale: -1},
	} {
		c.Log = &buffer{}
		if err := Run(context.Background(), c, func(netip.AddrPort) { t.Error("it runs") }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

func TestPortConfig(t *testing.T) {
	c, err := PortConfig(topology.IBLink{Width: 4, Speed: topology.HDR, MTU: 2048, VLs: 8})
	if err != nil || c.Widths != mad.Width1X|mad.Width4X || c.SpeedsExt != 7 || c.CapMask2&mad.Cap2SpeedHDR == 0 || c.BufferBytes != 128<<10 || c.Speeds != 7 || c.MTU != mad.MTU2048 || c.VLs.Count() != 8 {
		t.Errorf("%+v, %v", c, err)
	}
	for want, l := range map[string]topology.IBLink{
		"width of 3":   {Width: 3, Speed: topology.EDR, MTU: 4096, VLs: 4},
		"MTU of 100":   {Width: 4, Speed: topology.EDR, MTU: 100, VLs: 4},
		"3 data lanes": {Width: 4, Speed: topology.EDR, MTU: 4096, VLs: 3},
		`"fast"`:       {Width: 4, Speed: "fast", MTU: 4096, VLs: 4},
	} {
		if _, err := PortConfig(l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", l, err)
		}
	}
	if GUIDOf("a") == GUIDOf("b") || GUIDOf("a") != GUIDOf("a") {
		t.Error("GUIDs")
	}
}
