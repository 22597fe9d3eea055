package uverbs_test

import (
	"strings"
	"testing"
	"time"

	"cnuas/internal/simtest"
)

func TestDevices(t *testing.T) {
	simtest.Need(t, "ibv_devices", "ibv_devinfo")
	f := newFabric(t)
	out := f.exec(t, 0, "ibv_devices").wait(t, 10*time.Second, 0)
	if !strings.Contains(out, "rxe0") || !strings.Contains(out, "020c0afffe000001") {
		t.Errorf("ibv_devices: %s", out)
	}
	out = f.exec(t, 1, "ibv_devinfo", "-v").wait(t, 10*time.Second, 0)
	t.Log(out)
	for _, want := range []string{"rxe0", "PORT_ACTIVE", "Ethernet", "4X", "25.0 Gbps", "::ffff:10.213.7.2, RoCE v2", "fe80::2, RoCE v2"} {
		if !strings.Contains(out, want) {
			t.Errorf("ibv_devinfo -v lacks %q:\n%s", want, out)
		}
	}
}

func TestStockPrograms(t *testing.T) {
	simtest.Need(t, "ibv_rc_pingpong", "ib_write_bw")
	f := newFabric(t)
	for _, line := range []string{ // package e2e runs them all
		"ibv_rc_pingpong -d rxe0 -g 1 -n 300 -e -c",
		"ib_write_bw -d rxe0 -F -x 1 -n 300 -b -q 16",
		"ib_read_bw -d rxe0 -F -x 1 -n 300 -e",
		"ib_atomic_bw -d rxe0 -F -x 1 -n 300 -A CMP_AND_SWAP -q 16",
	} {
		t.Run(line, func(t *testing.T) {
			_, out := f.pair(t, 20*time.Second, strings.Fields(line)...)
			t.Log(out)
		})
	}
	for i, n := range f.nodes {
		if u := n.Usage(); u.QPs+u.CQs+u.MRs != 0 {
			t.Errorf("node %d: left behind %+v", i, u)
		}
	}
}
