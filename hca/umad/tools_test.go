package umad_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"cnuas/internal/simtest"
)

// TestTools: the stock tools on a subnet that our own manager runs.
func TestTools(t *testing.T) {
	simtest.Need(t, "ibstat", "ibv_devinfo", "ibaddr", "smpquery", "saquery", "perfquery", "iblinkinfo")
	w := newWorld(t, "two.toml", twoHosts, true)
	for _, c := range []struct {
		line string
		want []string // regular expressions
	}{
		{"ibstat", []string{`CA 'rxe0'`, `State: Active`, `Physical state: LinkUp`, `Base lid: 1\n`, `SM lid: 1\n`, `Capability mask: 0x0251486a`, `Link layer: InfiniBand`}},
		{"ibv_devinfo -v", []string{`PORT_ACTIVE`, `port_lid:\s+1\n`, `sm_lid:\s+1\n`, `link_layer:\s+InfiniBand`, `active_width:\s+4X`, `GID\[  0\]:\s+fe80:`}},
		{"ibaddr", []string{`LID start 0x1 end 0x1`}},
		{"ibaddr 3", []string{`LID start 0x3 end 0x3`}},
		{"sminfo", []string{`sm lid 1 .* SMINFO_MASTER`}},
		{"smpquery portinfo 3 1", []string{`LinkState:\.+Active`, `Lid:\.+3\n`}},
		{"smpquery -D nodedesc 0,1,2", []string{`Node Description:\.*h2`}},
		{"smpquery -G nodeinfo 0x%h2%", []string{`Node info: Lid 3`}},
		{"smpquery pkeys 1", []string{`0: 0xffff`}},
		{"ibnetdiscover", []string{`"s1"`, `"h1"`, `"h2"`}},
		{"iblinkinfo", []string{`"h1"`, `"h2"`, `Active/  LinkUp`}},
		{"saquery", []string{`(?s)NodeDescription\.+h1.*NodeDescription\.+s1.*NodeDescription\.+h2`}},
		{"saquery --smkey 1 PIR", []string{`(?s)(PortInfoRecord dump.*){5}`}}, // more than a segment
		{"saquery -p", []string{`(?s)(PathRecord dump.*){9}`}},
		{"saquery -g", []string{`ff12:401b:ffff::ffff:ffff`}},
		{"perfquery 3 1", []string{`Lid 3 port 1`, `PortXmitPkts:\.+[1-9]`}},
		{"perfquery -x 2 1", []string{`PortUnicastXmitPkts:\.+[1-9]`}},
		{"ibqueryerrors", []string{`0 bad nodes found`}},
		{"ibportstate 2 1", []string{`LinkState:\.+Active`, `Peer PortInfo`}},
		{"ibtracert 1 3", []string{`To ca .* lid 3-3 "h2"`}},
		{"cat /sys/class/infiniband/rxe0/ports/1/rate", []string{`^40 Gb/sec \(4X QDR\)\n$|^100 Gb/sec \(4X EDR\)\n$`}},
		{"cat /sys/class/infiniband/rxe0/ports/1/counters/port_xmit_packets", []string{`^[1-9]\d+\n$`}},
		{"cat /sys/class/infiniband/rxe0/ports/1/gid_attrs/types/0", []string{`^IB/RoCE v1\n$`}},
		{"cat /sys/class/infiniband_mad/abi_version", []string{`^5\n$`}},
		{"cat /sys/class/infiniband_mad/issm0/ibdev", []string{`^rxe0\n$`}},
	} {
		line := strings.ReplaceAll(c.line, "%h2%", fmt.Sprintf("%x", uint64(w.fab.Node("h2").IBPorts()[0].Port().GUID())))
		out := w.run("h1", line)
		for _, re := range c.want {
			if !regexp.MustCompile(re).MatchString(out) {
				t.Errorf("%s: no %q in\n%s", line, re, out)
			}
		}
	}
	w.await("the agents of the tools are gone", func() bool { return w.agents("h2") == 0 })
}

// TestPing: a server and a client of a vendor class with OUI.
func TestPing(t *testing.T) {
	simtest.Need(t, "ibping", "ibsysstat")
	w := newWorld(t, "two.toml", twoHosts, true)
	idle := 0
	w.loop.Do(func() { idle = w.agents("h2") })
	server := w.start("h2", nil, "ibping", "-S")
	w.untilIn("h1", "ibping -c 3 -L 3", "3 packets transmitted, 3 received")
	stat := w.start("h2", nil, "ibsysstat", "-S")
	w.untilIn("h1", "ibsysstat 3", "sysstat ping succeeded")
	server.kill()
	stat.kill()
	w.await("the killed servers' agents are gone", func() bool { return w.agents("h2") == idle })
	// Nobody answers any more: the tool gets its timeouts.
	p := w.start("h1", nil, "ibping", "-c", "1", "-t", "100", "-L", "3")
	if out := p.wait(t, 20*time.Second, 0); !strings.Contains(out, "1 packets transmitted, 0 received") {
		t.Error(out)
	}
}

// TestStates: what programs see of a port before there is a subnet manager,
// after, and when the cable is pulled.
func TestStates(t *testing.T) {
	simtest.Need(t, "ibstat")
	w := newWorld(t, "two.toml", twoHosts, false)
	see := func(want ...string) {
		t.Helper()
		out := ""
		for range 100 {
			out = w.run("h2", "ibstat")
			all := true
			for _, x := range want {
				all = all && strings.Contains(out, x)
			}
			if all {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Fatalf("want %q in\n%s", want, out)
	}
	see("State: Initializing", "Physical state: LinkUp", "Base lid: 0", "SM lid: 0", "Capability mask: 0x02514868")
	if out := w.run("h2", "smpquery -D nodeinfo 0,1"); !strings.Contains(out, "Switch") {
		t.Errorf("directed route without a manager: %s", out)
	}
	w.loop.Do(func() {
		if _, err := w.fab.StartSM("h1", fabricSM); err != nil {
			t.Error(err)
		}
	})
	see("State: Active", "Base lid: 3", "SM lid: 1")
	w.loop.Do(func() {
		if err := w.fab.SetLink("h2:ib0", false); err != nil {
			t.Error(err)
		}
	})
	see("State: Down")
	w.loop.Do(func() {
		if err := w.fab.SetLink("h2:ib0", true); err != nil {
			t.Error(err)
		}
	})
	see("State: Active", "Base lid: 3")
}
