package status

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func ibSample() *Fabric {
	h := Port{Name: "h1:ib0", Peer: "l1:1", State: "active", Drops: map[string]uint64{"lifetime": 2}}
	h.IB = &IB{State: "active", Phys: "linkup", LID: 5, Width: "4X", Speed: "EDR", MTU: 4096, VLs: 4, Waiting: []int{0, 3}, WaitSecs: 0.002,
		Counters: map[string]uint64{"xmit_pkts": 7, "xmit_data": 250, "rcv_pkts": 6, "rcv_data": 1}}
	l := Port{Name: "l1:1", Peer: "h1:ib0", State: "down", IB: &IB{State: "down", Phys: "polling", Width: "4X", Speed: "EDR", MTU: 4096, VLs: 4, Waiting: []int{}}}
	return &Fabric{
		Name: "demo", Scale: 1, Verdict: Verdict{Faithful: true},
		Nodes:    []Node{{Name: "h1", IBPorts: []IBPort{{Port: h, RDMA: &RDMA{Device: "rxe0", ActiveMTU: 4096, GIDs: []GID{{0, "fe80::1", "IB"}}}}}}},
		Switches: []Switch{{Name: "l1", Mode: "ib", Ports: []Port{l}, UsedBytes: 4096}},
		SMs:      []SM{{Port: "h1:ib0", State: "Master", Priority: 8, Engine: "ftree", Nodes: 2, Switches: 1, MaxLID: 6, HeavySweeps: 1, LightSweeps: 2, SMPs: 60, Traps: 1, Lines: []string{"state: Master"}}},
	}
}

func TestPrintInfiniBand(t *testing.T) {
	var b strings.Builder
	f := ibSample()
	f.Print(&b)
	out := b.String()
	for _, want := range []string{
		"IB PORT  PEER    STATE   PHYS     LID  WIDTH  SPEED  MTU   VLS  TX PKTS  TX BYTES  RX PKTS  RX BYTES  WAIT",
		"h1:ib0   l1:1    active  linkup   5    4X     EDR    4096  4    7        1kB       6        4         2.00ms (now: VL0,3)  2\n",
		"l1:1     h1:ib0  down    polling  0    4X     EDR    4096  4    0        0         0        0         -",
		"sm: h1:ib0: Master, priority 8, ftree, 2 nodes, 1 switches, LIDs to 6, 3 sweeps, 60 SMPs, 1 traps\n",
		"h1:rxe0  4096  0    0         0 fe80::1\n",
		"drops: h1:ib0: lifetime 2\n",
		"buffer: l1: 4.1kB held\n",
		"verdict: FAITHFUL\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("missing %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "PAUSE TX") {
		t.Errorf("a table of Ethernet ports without any:\n%s", out)
	}
	f.SMs = nil
	b.Reset()
	f.Print(&b)
	if !strings.Contains(b.String(), "cnuas sm start NODE starts one") {
		t.Errorf("without a subnet manager:\n%s", b.String())
	}
	f.Nodes[0].IBPorts[0].IB.SMLID = 9
	b.Reset()
	f.Print(&b)
	if !strings.Contains(b.String(), "at LID 9 as their master") {
		t.Errorf("with a subnet manager of somebody else:\n%s", b.String())
	}
	b.Reset()
	ibSample().SMs[0].Print(&b)
	if b.String() != "subnet manager at h1:ib0\n  state: Master\n" {
		t.Errorf("%q", b.String())
	}
}

func TestInfiniBandJSONRoundTrip(t *testing.T) {
	b, err := json.Marshal(ibSample())
	if err != nil {
		t.Fatal(err)
	}
	var f Fabric
	if err := json.Unmarshal(b, &f); err != nil || !reflect.DeepEqual(&f, ibSample()) {
		t.Errorf("%v\n%+v", err, f)
	}
}
