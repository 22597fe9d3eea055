//go:build conformance

package conformance

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"cnuas/internal/simtest"
	"cnuas/modbus/bus"
	"cnuas/modbus/rtu"
)

// withoutNUL tells whether no byte of the reply is NUL: a character with a
// parity error reads as NUL, so one that was a NUL reads well.
func withoutNUL(req []byte) bool {
	reply := rtu.NewSlave(req[0], newDevice(), rtu.AllOptions()).Serve(0, req, nil)
	return len(reply) > 0 && bytes.IndexByte(reply, 0) < 0
}

// TestNoiseLibmodbus: what a program of libmodbus counts is what the segment
// counts.
func TestNoiseLibmodbus(t *testing.T) {
	t.Parallel()
	bin := buildLibmodbus(t)
	for _, x := range []struct {
		name  string
		fault bus.Fault
	}{
		{"bit errors", bus.Fault{Kind: bus.BitErrors, Prob: 0.0001}},
		{"wrong CRC", bus.Fault{Kind: bus.WrongCRC, Prob: 0.1}},
		{"silence", bus.Fault{Kind: bus.Silent, Prob: 0.1}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			g, _ := live(t)
			g.inject(x.fault)
			a := startAsker(t, exec.Command(bin, g.TTY("bus0"), "115200", "E", "800"))
			var c tally
			for i := 0; c.Polls < 160; i++ {
				addr, reg, n := uint8(1+i%8), uint16(1+i%200), uint16(1+i%20)
				if i%10 == 9 {
					reg = 900
				}
				if !withoutNUL(rtu.AppendRead(nil, addr, rtu.ReadHoldingRegisters, reg, n)) {
					continue
				}
				c.Polls++
				switch got := a.ask(fmt.Sprintf("%d 03 %d %d", addr, reg, n)); {
				case got == exIllegalAddress:
					c.Exceptions++
				case got == timedOut:
					c.Timeouts++
				case got == count(0x1000+int(reg), int(n)):
					c.Replies++
				default:
					if got[0] >= '0' && got[0] <= '9' {
						t.Errorf("%d registers from %d: %s", n, reg, got)
					}
					c.Bad++ // "Invalid CRC", "Invalid data"
				}
			}
			g.clear()
			time.Sleep(time.Duration(bus.AnswerTime.Nanoseconds()) + 100*time.Millisecond)
			agree(t, c, g.segment(), false)
			if c.errors() < 5 || c.Exceptions == 0 {
				t.Errorf("%+v: the fault does too little", c)
			}
			t.Logf("%+v", c)
		})
	}
}

// TestNoiseMbpoll: likewise of mbpoll, which polls until it is interrupted and
// then prints what it has counted.
func TestNoiseMbpoll(t *testing.T) {
	t.Parallel()
	mbpoll := simtest.Need(t, "mbpoll")
	g, _ := live(t)
	g.inject(bus.Fault{Kind: bus.WrongCRC, Prob: 0.2})
	g.inject(bus.Fault{Kind: bus.Silent, Prob: 0.2})
	c := exec.Command(mbpoll, "-m", "rtu", "-0", "-b", "115200", "-P", "even", "-a", "3", "-r", "10", "-c", "4", "-l", "100", "-o", "0.6", g.TTY("bus0"))
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	master := func() (m bus.MasterCounters) { return g.segment().Masters[0] }
	// The interrupt must not come between a request and its end: it is sent
	// right behind a reply, 100 ms before the next request.
	last := master()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		m := master()
		if m.Requests >= 60 && m.Replies > last.Replies {
			break
		}
		if last = m; time.Now().After(end) {
			t.Errorf("%+v after 30 s", m)
			break
		}
	}
	time.Sleep(20 * time.Millisecond)
	c.Process.Signal(os.Interrupt)
	c.Wait()
	i := strings.LastIndex(out.String(), " frames transmitted")
	if i < 0 {
		t.Fatalf("no statistics in:\n%s", out.String())
	}
	var sent, got, failed uint64
	line := out.String()[strings.LastIndex(out.String()[:i], "\n")+1:]
	if _, err := fmt.Sscanf(line, "%d frames transmitted, %d received, %d errors", &sent, &got, &failed); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	m := master()
	if sent != m.Requests || got != m.Replies || failed != m.BadRequests+m.Unanswered+m.BadReplies || failed < 5 {
		t.Errorf("mbpoll: %s\nmaster: %+v", strings.TrimSpace(line), m)
	}
	t.Log(strings.TrimSpace(line))
}
