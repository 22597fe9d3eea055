//go:build lab

package e2e

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cnuas/internal/daemon"
	"cnuas/internal/simtest"
)

// bmcRack has devices of two rates on one segment, which is on the first of the
// four ports of the BMC's bridge.
const bmcRack = `
[defaults]
node = { stack = "none", idle_power = "400W", peak_power = "1kW" }
[[node]]
name = "cvm1"
[[node]]
name = "cvm2"
[[switch]]
name = "cvms"
[[link]]
a = "cvm1:eth0"
b = "cvms"
[[link]]
a = "cvm2:eth0"
b = "cvms"
[[rack.segment]]
name = "bus0"
baud = 19200
parity = "even"
[[rack.shelf]]
name = "shelf1"
kind = "hpr-psu"
segment = "bus0"
baud = 19200
slots = 6
address = 144
feeds = ["cvm1", "cvm2"]
[[rack.shelf]]
name = "bbu1"
kind = "hpr-bbu"
segment = "bus0"
backs = "shelf1"
[rack.bmc]
ports = ["bus0", "", "", ""]
`

// bmcGenerous is the limit that a boot fails at: the machine may be busy.
const bmcGenerous = 100.0

func (l *lab) bmc() daemon.BMCStatus {
	l.t.Helper()
	var s daemon.BMCStatus
	if err := json.Unmarshal([]byte(l.cnuas("bmc", "status", "--json")), &s); err != nil {
		l.t.Fatal(err)
	}
	return s
}

// inBMC runs a shell script in the guest.
func (l *lab) inBMC(script string) string {
	l.t.Helper()
	return l.cnuas("bmc", "exec", "--", "sh", "-c", script)
}

// ask is a command by which the guest reads registers, and registers by what
// it has printed.
func ask(baud, addr, reg, count int) string {
	return fmt.Sprintf("mbpoll -m rtu -b %d -P even -a %d -t 4 -0 -r %d -c %d -1 -o 0.5 -q /dev/ttyUSB0", baud, addr, reg, count)
}

var registerLine = regexp.MustCompile(`(?m)^\[(\d+)\]:\s+(-?\d+)`)

func (l *lab) read(baud, addr, reg, count int) map[int]int {
	l.t.Helper()
	m := map[int]int{}
	for _, x := range registerLine.FindAllStringSubmatch(l.inBMC(ask(baud, addr, reg, count)), -1) {
		r, _ := strconv.Atoi(x[1])
		v, _ := strconv.Atoi(x[2])
		m[r] = v & 0xffff
	}
	if len(m) != count {
		l.t.Fatalf("slave %d: %d of %d registers", addr, len(m), count)
	}
	return m
}

func upBMC(t *testing.T) *lab {
	t.Helper()
	simtest.Need(t, "qemu-system-arm", "depmod", "xz", "apt-get")
	l := up(t, "cvmrack", bmcRack)
	l.cnuas("bmc", "fetch")
	t.Log(strings.TrimSpace(l.cnuas("bmc", "up")))
	return l
}

// TestLabBMC boots the stand-in and looks at the rack from inside.
func TestLabBMC(t *testing.T) {
	l := upBMC(t)
	s := l.bmc()
	if !s.Up || s.Ready <= 0 || s.Ready > bmcGenerous || len(s.Ports) != 4 || s.Ports[0].Segment != "bus0" || !s.Bridges[0].Connected {
		t.Errorf("%+v", s)
	}
	if got := l.inBMC("ls /dev/ttyUSB* | wc -l; cat $(readlink -f /sys/class/tty/ttyUSB0/device)/../../serial; readlink -f /sys/class/tty/ttyUSB0 | grep -o 1e6a1000.usb"); got != "4\nCNUAS001\n1e6a1000.usb\n" {
		t.Errorf("in the guest: %q", got)
	}
	t.Run("network", func(t *testing.T) { testBMCNetwork(t, l, s.Address) })
	t.Run("exec", func(t *testing.T) { testBMCExec(t, l) })
	t.Run("poll", func(t *testing.T) { testBMCPoll(t, l) })
	t.Run("ac-loss", func(t *testing.T) { testBMCACLoss(t, l) })
	t.Run("errors", func(t *testing.T) { testBMCErrors(t, l) })
	t.Run("hotplug", func(t *testing.T) { testBMCHotPlug(t, l) })
	t.Run("image", func(t *testing.T) { testBMCImage(t, l) })
}

// testBMCNetwork: nodes reach the guest, and it them, on the management network.
func testBMCNetwork(t *testing.T, l *lab, address string) {
	p, err := netip.ParsePrefix(address)
	if err != nil {
		t.Fatal(err)
	}
	l.cnuas("exec", "cvm1", "--", "ping", "-c", "2", "-W", "5", p.Addr().String())
	banner := l.cnuas("exec", "cvm2", "--", "bash", "-c", "exec 3<>/dev/tcp/"+p.Addr().String()+"/22; head -c 8 <&3")
	if banner != "SSH-2.0-" {
		t.Errorf("port 22: %q", banner)
	}
	node := l.cnuas("exec", "cvm1", "--", "sh", "-c", "ip -4 -o addr show mgmt0 | awk '{print $4}'")
	from := netip.MustParsePrefix(strings.TrimSpace(node))
	if out := l.inBMC("ping -c 2 " + from.Addr().String()); !strings.Contains(out, " 0% packet loss") {
		t.Error(out)
	}
}

func testBMCExec(t *testing.T, l *lab) {
	out, err := l.try("bmc", "exec", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
	if err == nil || !strings.Contains(err.Error(), "exit status 7") || out != "out\nerr\n" {
		t.Errorf("%q %v", out, err)
	}
	if out, err := l.try("bmc", "exec", "--", "no-such-program"); err == nil || !strings.Contains(err.Error(), "exit status 127") {
		t.Errorf("%q %v", out, err)
	}
}

// testBMCPoll: devices of both rates on one segment, in turn, without an error.
func testBMCPoll(t *testing.T, l *lab) {
	const rounds = 20
	before := l.bmc().Ports[0].Counters
	out := l.inBMC(fmt.Sprintf("for i in $(seq %d); do %s && %s; done >/tmp/poll || echo failed; grep -c '^\\[' /tmp/poll", rounds, ask(19200, 144, 79, 6), ask(115200, 48, 94, 6)))
	if want := fmt.Sprintf("%d\n", rounds*12); out != want {
		t.Errorf("%q, want %q\n%s", out, want, l.inBMC("tail -20 /tmp/poll"))
	}
	c := l.bmc().Ports[0].Counters
	if tx, rx := c.TxBytes-before.TxBytes, c.RxBytes-before.RxBytes; tx != rounds*16 || rx != rounds*2*17 || c.ParityErrors+c.FramingErrors+c.Overruns != 0 {
		t.Errorf("%d bytes sent, %d received, %+v", tx, rx, c)
	}
}

// testBMCACLoss: the loss shows in what the guest reads of both shelves.
func testBMCACLoss(t *testing.T, l *lab) {
	const inputPower, inputVoltage, mode, discharge = 87, 88, 107, 1 << 1
	psu, bbu := l.read(19200, 144, inputPower, 2), l.read(115200, 48, mode, 1)
	if psu[inputPower] == 0 || psu[inputVoltage] == 0 || bbu[mode]&discharge != 0 {
		t.Errorf("with AC: PSU %v, BBU %v", psu, bbu)
	}
	await := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(200 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: PSU %v, BBU %v", what, l.read(19200, 144, inputPower, 2), l.read(115200, 48, mode, 1))
			}
		}
	}
	l.cnuas("rack", "ac-loss", "shelf1")
	await("AC is lost", func() bool {
		return l.read(19200, 144, inputPower, 1)[inputPower] == 0 && l.read(115200, 48, mode, 1)[mode]&discharge != 0
	})
	l.cnuas("rack", "ac-restore", "shelf1")
	await("AC is back", func() bool {
		return l.read(19200, 144, inputPower, 1)[inputPower] > 0 && l.read(115200, 48, mode, 1)[mode]&discharge == 0
	})
}

// testBMCErrors: noise on the wire is errors of the chip's receiver, and a
// failure in the guest; when it has ended all is well.
func testBMCErrors(t *testing.T, l *lab) {
	before := l.bmc().Ports[0].Counters
	l.cnuas("rack", "fault", "bus0", "noise", "--burst", "3ms", "--every", "20ms")
	l.inBMC("for i in $(seq 5); do " + ask(19200, 144, 79, 10) + "; done >/dev/null 2>&1; true")
	l.cnuas("rack", "clear", "bus0")
	c := l.bmc().Ports[0].Counters
	if c.ParityErrors+c.FramingErrors == before.ParityErrors+before.FramingErrors {
		t.Errorf("no errors: %+v", c)
	}
	l.read(19200, 144, 79, 10)
}

// testBMCHotPlug pulls the bridge out while the guest polls, twice.
func testBMCHotPlug(t *testing.T, l *lab) {
	for range 2 {
		polling := make(chan string, 1)
		go func() {
			out, err := l.try("bmc", "exec", "--", "sh", "-c",
				"touch /tmp/on; while [ -e /dev/ttyUSB0 ]; do mbpoll -m rtu -b 19200 -P even -a 144 -0 -r 79 -c 1 -1 -o 0.2 -q /dev/ttyUSB0 >/dev/null 2>&1; done; ls /dev | grep -c ttyUSB")
			polling <- fmt.Sprint(out, err)
		}()
		l.inBMC("until [ -e /tmp/on ]; do sleep 0.1; done; rm /tmp/on; sleep 0.5")
		l.cnuas("bmc", "unplug")
		if got := <-polling; !strings.HasPrefix(got, "0\n") {
			t.Errorf("unplugged: %q", got)
		}
		if l.bmc().Bridges[0].Plugged {
			t.Error("it is plugged in")
		}
		l.cnuas("bmc", "replug")
		l.inBMC("for i in $(seq 200); do [ -e /dev/ttyUSB3 ] && exit 0; sleep 0.1; done; exit 1")
		l.read(19200, 144, 79, 4)
		l.read(115200, 48, 94, 4)
	}
}

// testBMCImage: a flash image runs in place of the stand-in. An empty one does
// nothing, but QEMU has taken it.
func testBMCImage(t *testing.T, l *lab) {
	if b, err := os.ReadFile(l.bmc().Console); err != nil || !strings.Contains(string(b), "stand-in BMC") {
		t.Errorf("log of the console: %q %v", b, err)
	}
	if out, err := l.try("bmc", "up"); err == nil || !strings.Contains(out, "cnuas bmc down") {
		t.Errorf("a second one: %q %v", out, err)
	}
	l.cnuas("bmc", "down")
	if s := l.bmc(); s.Up {
		t.Errorf("%+v", s)
	}
	if out, err := l.try("bmc", "exec", "--", "true"); err == nil || !strings.Contains(out, "cnuas bmc up") {
		t.Errorf("%q %v", out, err)
	}
	image := filepath.Join(t.TempDir(), "obmc.static.mtd")
	if err := os.WriteFile(image, make([]byte, 33<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := l.try("bmc", "up", "--image", image, "--machine", "no-such"); err == nil || !strings.Contains(out, "ast2600-evb") {
		t.Errorf("%q %v", out, err)
	}
	for _, machine := range []string{"ast2600-evb", "fuji-bmc", "ast2500-evb"} {
		l.cnuas("bmc", "up", "--image", image, "--machine", machine)
		if s := l.bmc(); !s.Up || s.Image != image || s.Machine != machine || s.Ready != 0 {
			t.Errorf("%+v", s)
		}
		if out, err := l.try("bmc", "exec", "--", "true"); err == nil || !strings.Contains(out, "ssh") {
			t.Errorf("%q %v", out, err)
		}
		l.cnuas("bmc", "down")
	}
}

// TestLabBMCKilled: kill -9 of the daemon leaves no guest behind.
func TestLabBMCKilled(t *testing.T) {
	l := upBMC(t)
	qemu := l.bmc().PID
	if err := syscall.Kill(l.status().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", qemu))
		if err != nil || strings.Contains(string(b), ") Z ") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("QEMU %d is still there", qemu)
		}
	}
	l.cnuas("down", l.name)
}
