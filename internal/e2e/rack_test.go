//go:build conformance

package e2e

import (
	"math"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRackShipped: the lines of the README, with a stock client on the shipped
// topology. Registers 79 to 82 of an HPR power supply are output voltage, current,
// its share, and power; mbpoll counts from 1.
func TestRackShipped(t *testing.T) {
	l := upRack(t, "e2e-rack", shippedRack(t, "cq"))
	bus0, bus1 := l.tty("bus0"), l.tty("bus1")
	v := l.mbpoll("-b", "19200", "-P", "even", "-a", "144", "-r", "80", "-c", "4", bus0)
	volts, amps, watts := float64(v[80])/1024, float64(v[81])/64, float64(v[83])/8
	// Two idle nodes of 400 W on six power supplies.
	if len(v) != 4 || volts < 45 || volts > 55 || math.Abs(watts-800.0/6) > 0.1*800/6 || math.Abs(volts*amps-watts) > 0.05*watts {
		t.Errorf("%.2f V, %.2f A, %.0f W: %v", volts, amps, watts, v)
	}
	// A battery at 115200 baud on the same wire, and the other segment.
	if v := l.mbpoll("-b", "115200", "-P", "even", "-a", "48", "-r", "95", "-c", "1", bus0); v[95] == 0 {
		t.Errorf("state of charge %v", v)
	}
	if v := l.mbpoll("-b", "115200", "-P", "even", "-a", "144", "-r", "80", "-c", "1", bus1); v[80] == 0 {
		t.Errorf("output voltage on bus1: %v", v)
	}
	// A slave at another baud does not answer.
	if out, err := exec.Command("mbpoll", "-m", "rtu", "-1", "-o", "0.3", "-b", "115200", "-P", "even", "-a", "144", "-r", "80", bus0).CombinedOutput(); err == nil {
		t.Errorf("a slave at 19200 baud answered at 115200:\n%s", out)
	}

	st := l.cnuas("rack", "status")
	for _, want := range []string{"shelf1", "hpr-psu", "144-149, 32", "feeds cq1, cq2", "backs shelf1", bus0} {
		if !strings.Contains(st, want) {
			t.Errorf("rack status lacks %q:\n%s", want, st)
		}
	}
	if s := l.status(); s.Rack == nil || len(s.Rack.Shelves) != 5 || math.Abs(s.Rack.Shelves[0].OutputW-800) > 80 {
		t.Errorf("status has no rack, or another: %+v", s.Rack)
	}
	if out := l.cnuas("rack", "show", "shelf1/psu3"); !strings.Contains(out, "address 146 (0x92) on bus0 at 19200 8E1") || !strings.Contains(out, "Output") {
		t.Errorf("rack show:\n%s", out)
	}
}

// TestRackFaults: what rack commands do is what a stock client sees.
func TestRackFaults(t *testing.T) {
	l := upRack(t, "e2e-rackf", shippedRack(t, "cq"))
	bus0 := l.tty("bus0")
	at := []string{"-b", "19200", "-P", "even", "-a", "144", "-r", "61", "-c", "2", bus0}
	if v := l.mbpoll(at...); v[61] != 0 || v[62] != 0 {
		t.Errorf("alarms of a healthy power supply: %v", v)
	}
	// AC loss: PFC alarm (register 61) bit 8 AC_Not_OK; general alarm (60) bit 0.
	l.cnuas("rack", "ac-loss", "shelf1")
	eventually(t, 10*time.Second, "the power supply reports the loss of AC", func() bool {
		v := l.mbpoll(at...)
		return v[62]&(1<<8) != 0 && v[61]&1 != 0
	})
	eventually(t, 20*time.Second, "the status tells who carries the load", func() bool {
		return strings.Contains(strings.ToLower(l.status().Rack.Shelves[1].State), "discharg")
	})
	l.cnuas("rack", "ac-restore", "shelf1")
	eventually(t, 30*time.Second, "AC is back", func() bool { return l.mbpoll(at...)[62]&(1<<8) == 0 })

	l.cnuas("rack", "unplug", "shelf1/psu1")
	silent := []string{"-m", "rtu", "-1", "-q", "-o", "0.3"}
	if out, err := exec.Command("mbpoll", append(silent, at...)...).CombinedOutput(); err == nil {
		t.Errorf("an unplugged power supply answered:\n%s", out)
	}
	l.mbpoll("-b", "19200", "-P", "even", "-a", "145", "-r", "80", bus0)
	l.cnuas("rack", "plug", "shelf1/psu1")
	eventually(t, 10*time.Second, "the power supply is back", func() bool {
		return exec.Command("mbpoll", append(silent, at...)...).Run() == nil
	})

	l.cnuas("rack", "fault", "bus0", "silent")
	if out, err := exec.Command("mbpoll", append(silent, at...)...).CombinedOutput(); err == nil {
		t.Errorf("a silent segment answered:\n%s", out)
	}
	if st := l.cnuas("rack", "status"); !strings.Contains(st, "fault: bus0: silent") {
		t.Errorf("the fault is not in the status:\n%s", st)
	}
	l.cnuas("rack", "clear", "bus0")
	l.mbpoll(at...)
	for _, bad := range [][]string{{"show", "shelf1/psu9"}, {"show", "shelf1"}, {"ac-loss", "bbu1"}, {"tty", "bus7"}, {"set", "shelf1/psu1", "mood=bad"}, {"load", "h77", "5W"}} {
		if out, err := l.try(append([]string{"rack"}, bad...)...); err == nil || !strings.Contains(out, "it has") && !strings.Contains(out, "show lists") && !strings.Contains(out, "name the PSU shelf") {
			t.Errorf("rack %v: %v, %s", bad, err, out)
		}
	}
}

// TestRackCapture: what is captured is what tshark understands as Modbus RTU.
func TestRackCapture(t *testing.T) {
	l := upRack(t, "e2e-rackc", shippedRack(t, "cq"))
	bus0 := l.tty("bus0")
	file := t.TempDir() + "/bus.pcapng"
	j := l.startCmd(exec.Command(cnuasBin, "rack", "capture", "bus0", "-w", file, "-c", "4", "--duration", "20s"))
	eventually(t, 10*time.Second, "the capture begins", func() bool { return strings.Contains(j.out.String(), "capturing") })
	for range 2 {
		l.mbpoll("-b", "19200", "-P", "even", "-a", "144", "-r", "80", "-c", "4", bus0)
	}
	if err := j.wait(t, 30*time.Second); err != nil {
		t.Fatalf("%v\n%s", err, j.out.String())
	}
	out, err := exec.Command("tshark", "-r", file).CombinedOutput()
	if err != nil {
		t.Fatalf("tshark: %v\n%s", err, out)
	}
	if n := strings.Count(string(out), "Read Holding Registers"); n != 4 {
		t.Errorf("%d frames of 4 are requests or replies of function 3:\n%s", n, out)
	}
}

// TestRackKill9: a killed daemon leaves no terminal, and what it leaves in its
// directory goes with the next down or up.
func TestRackKill9(t *testing.T) {
	const name, prefix = "e2e-rackk", "cq"
	l := upRack(t, name, shippedRack(t, prefix))
	for i := range 4 {
		tty := l.tty("bus0")
		p := l.startCmd(exec.Command("mbpoll", "-m", "rtu", "-b", "19200", "-P", "even", "-a", "144", "-r", "80", "-c", "4", "-l", "20", "-o", "0.1", tty))
		eventually(t, 10*time.Second, "mbpoll reads", func() bool { return strings.Contains(p.out.String(), "[80]") })
		syscall.Kill(l.status().PID, syscall.SIGKILL)
		p.cmd.Process.Signal(syscall.SIGTERM)
		p.wait(t, 10*time.Second)
		eventually(t, 5*time.Second, "the terminal is gone", func() bool {
			_, err := os.Stat(tty)
			return os.IsNotExist(err)
		})
		if i%2 == 0 {
			l.cnuas("down", name)
			if left := leftovers(prefix, name); len(left) > 0 {
				t.Fatalf("round %d left:\n%s", i, strings.Join(left, "\n"))
			}
		}
		l.cnuas("up", l.file)
	}
	l.cnuas("down", name)
	if left := leftovers(prefix, name); len(left) > 0 {
		t.Fatalf("down left:\n%s", strings.Join(left, "\n"))
	}
}
