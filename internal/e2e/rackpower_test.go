//go:build conformance

package e2e

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRackPowerFollowsTraffic: bursts of ib_write_bw between two nodes of a shelf
// are a saw-tooth in the output power of its power supplies, which a stock
// client sees that reads twice a second. The bursts are those of a program that
// is stopped and continued: it is known when they begin and end. The links are
// slow, so that a program at nice 19 fills them whatever else this machine does.
func TestRackPowerFollowsTraffic(t *testing.T) {
	l := upRack(t, "e2e-rackp", "[defaults]\nlink = { rate = \"1Gbps\" }\n[[rack.shelf]]\nkind = \"hpr-psu\"\n"+nodes("cp", 2))
	s := &sampler{}
	// Register 82, PSU_Output_Power, in eighths of a watt. Line by line: mbpoll
	// buffers what it prints into a pipe.
	p := exec.Command("stdbuf", "-oL", "mbpoll", "-m", "rtu", "-b", "115200", "-P", "even", "-a", "144", "-r", "83", "-l", "500", "-o", "0.4", l.tty("bus0"))
	p.Stdout, p.Stderr = s, s
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Process.Kill()
		p.Wait()
	})
	client := l.writer("cp1", "cp2", "10.0.0.1")

	const bursts, long = 6, 3 * time.Second
	type change struct {
		at time.Time
		on float64
	}
	var pattern []change
	drive := func(sig syscall.Signal, on float64) {
		t.Helper()
		if err := syscall.Kill(client, sig); err != nil {
			t.Fatalf("ib_write_bw has ended: %v", err)
		}
		pattern = append(pattern, change{time.Now(), on})
		time.Sleep(long)
	}
	for range bursts {
		drive(syscall.SIGSTOP, 0)
		drive(syscall.SIGCONT, 1)
	}
	drive(syscall.SIGSTOP, 0)
	end := time.Now()
	syscall.Kill(client, syscall.SIGKILL)

	readings, bad := s.samples()
	// Traffic is sampled, and the rack takes the samples, ten times a second: what
	// a reading shows is up to that old, twice.
	const age = 200 * time.Millisecond
	var x, y []float64
	for _, v := range readings {
		on := -1.0
		for _, c := range pattern {
			if v.at.After(c.at.Add(age)) && v.at.Before(end) {
				on = c.on
			}
		}
		if on >= 0 {
			x, y = append(x, on), append(y, v.v/8)
		}
	}
	// Now and then mbpoll's timeout of 0.4 s is a question of who gets the processor.
	if span := (2*bursts + 1) * long; len(y) < int(1.5*span.Seconds()) || len(bad) > len(y)/10 {
		t.Fatalf("%d readings and %d failures in %v: %q", len(y), len(bad), span, bad)
	}
	idle, busy := means(x, y)
	r := pearson(x, y)
	t.Logf("%d readings, %d failures: %.0f W idle, %.0f W in bursts, correlation %.3f", len(y), len(bad), idle, busy, r)
	if !(r > 0.85) {
		t.Errorf("power and traffic correlate by %.3f only:\n%v\n%v", r, x, y)
	}
	if math.Abs(idle-800.0/6) > 30 || busy < idle+40 {
		t.Errorf("%.0f W idle, %.0f W in bursts", idle, busy)
	}
}

// writer starts an ib_write_bw from a node to another that goes on for longer
// than the test, and returns the client's process once it writes.
func (l *lab) writer(server, client, addr string) int {
	l.t.Helper()
	bw := []string{"ib_write_bw", "-d", "rxe0", "-x", "1", "-F", "-D", "120"}
	l.start(server, bw...)
	l.listening(server, "18515")
	file := filepath.Join(l.t.TempDir(), "pid")
	l.start(client, append([]string{"sh", "-c", `echo $$ > "$0"; exec "$@"`, file}, append(bw, addr)...)...)
	before := port(l.t, l.status(), client+":eth0").TxBytes
	eventually(l.t, 20*time.Second, "ib_write_bw writes", func() bool {
		return port(l.t, l.status(), client+":eth0").TxBytes > before+20e6
	})
	b, err := os.ReadFile(file)
	if err != nil {
		l.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		l.t.Fatal(err)
	}
	return pid
}

// means of y where x is 0 and where it is 1.
func means(x, y []float64) (m0, m1 float64) {
	var n [2]float64
	for i := range x {
		n[int(x[i])]++
		if x[i] == 0 {
			m0 += y[i]
		} else {
			m1 += y[i]
		}
	}
	return m0 / n[0], m1 / n[1]
}

// pearson is the correlation coefficient of two rows of equal length.
func pearson(x, y []float64) float64 {
	var mx, my float64
	for i := range x {
		mx += x[i] / float64(len(x))
		my += y[i] / float64(len(x))
	}
	var sxy, sxx, syy float64
	for i := range x {
		sxy += (x[i] - mx) * (y[i] - my)
		sxx += (x[i] - mx) * (x[i] - mx)
		syy += (y[i] - my) * (y[i] - my)
	}
	return sxy / math.Sqrt(sxx*syy)
}
