package status

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func sample() *Fabric {
	h := Port{Name: "h1:eth0", Peer: "s1:1", State: "up", RateBPS: 25e9, TxFrames: 7, TxBytes: 123456}
	h.PausesRx[3], h.PausedSecs[3], h.Paused = 4, 0.0015, []int{3}
	h.Drops = map[string]uint64{"link_down": 2, "other_mac": 0}
	return &Fabric{
		Name: "demo", PID: 42, Seconds: 3, Scale: 1,
		Verdict:  Verdict{Reasons: []string{"the engine slipped 12.0%", "3 frames lost at kernel rings"}},
		Nodes:    []Node{{Name: "h1", Stack: "soft", Management: &Management{Name: "h1:mgmt0", Address: "192.168.255.1/24", TxFrames: 8, RxBytes: 2000, Ring: Ring{1, 1}}, Interfaces: []Interface{{Port: h, Ring: Ring{TxDropped: 3}, RDMA: &RDMA{Device: "rxe0", ActiveMTU: 4096, GIDs: []GID{{1, "::ffff:10.0.0.1", "RoCE v2"}}, Counters: map[string]uint64{"cnp_sent": 5}}, KernelRoCE: map[string]uint64{"rewritten": 9, "cnp_sent": 2, "ecn_marked": 0}}}}},
		Switches: []Switch{{Name: "s1", BufferBytes: 16e6, PeakBytes: 400e3}},
		Faults:   []string{"storm at h3:eth0"},
	}
}

func TestPrintShowsWhatMatters(t *testing.T) {
	var b strings.Builder
	sample().Print(&b)
	for _, want := range []string{
		"fabric demo: 1 node, 1 switch, 0 links, daemon 42, up 3.00s\n",
		"h1:eth0  s1:1  up     25G",
		"pfc: h1:eth0, from s1:1: priority 3 stopped for 1.50ms by 4 pauses (now)",
		"drops: h1:eth0: link_down 2\n",
		"drops: h1:eth0: kernel ring tx 3 rx 0\n",
		"h1:mgmt0    192.168.255.1/24  8          0         0          2kB       2\n\n",
		"h1:rxe0  4096  0    0         1 ::ffff:10.0.0.1",
		"h1:rxe0: cnp_sent=5\n",
		"  h1:eth0: RoCE of the kernel: cnp_sent=2 rewritten=9\n\n",
		"buffer: s1: 0 of 16MB used, peak 400kB\n",
		"fault: storm at h3:eth0\n",
		"verdict: NOT FAITHFUL: the engine slipped 12.0%; 3 frames lost at kernel rings\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("missing %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "other_mac") {
		t.Error("a reason that never happened is printed")
	}
}

func TestJSONRoundTrip(t *testing.T) {
	b, err := json.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	var got Fabric
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(&got, sample()) {
		t.Errorf("%+v\nwant %+v", got, *sample())
	}
}

func TestUnits(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1kB", 123456: "123kB", 25e9: "25GB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %s, want %s", n, got, want)
		}
	}
	for r, want := range map[int64]string{25e9: "25G", 2.5e9: "2.5G", 100e6: "100M", 9600: "9600"} {
		if got := rate(r); got != want {
			t.Errorf("rate(%d) = %s, want %s", r, got, want)
		}
	}
}
