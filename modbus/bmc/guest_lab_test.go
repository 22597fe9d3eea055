//go:build lab

package bmc

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"cnuas/internal/simtest"
	"cnuas/internal/vm/agent"
)

// bootLimit is generous: the machine may be busy.
const bootLimit = 120 * time.Second

// boot starts the stand-in, getting its packages once per machine.
func boot(t *testing.T, c Config) *Guest {
	t.Helper()
	simtest.Need(t, qemuName, "depmod", "xz")
	if !StandInHere() {
		simtest.Need(t, "apt-get")
		if err := FetchStandIn(context.Background(), os.Stderr); err != nil {
			simtest.Missing(t, err.Error(), "run: cnuas bmc fetch")
		}
	}
	c.Name, c.Dir, c.Log = "bmc", t.TempDir(), t.Logf
	g, err := Start(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), bootLimit)
	defer cancel()
	if err := g.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("ready after %.1f s", g.Status().Ready)
	return g
}

// in runs a command in the guest.
func in(t *testing.T, g *Guest, stdin string, argv ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status, err := g.Exec(context.Background(), agent.Command{Argv: argv}, agent.IO{Stdin: strings.NewReader(stdin), Stdout: &o, Stderr: &e})
	if err != nil {
		t.Errorf("%v: %v", argv, err)
	}
	return status, o.String(), e.String()
}

func TestLabStandIn(t *testing.T) {
	g := boot(t, Config{})
	status, out, errs := in(t, g, "in", "sh", "-c", "cat; hostname; echo err >&2; exit 7")
	if status != 7 || out != "inbmc\n" || errs != "err\n" {
		t.Errorf("%d %q %q", status, out, errs)
	}
	if status, out, _ := in(t, g, "", "mbpoll", "-V"); status != 0 || !strings.Contains(out, ".") {
		t.Errorf("mbpoll: %d %q", status, out)
	}
	if status, _, errs := in(t, g, "", "no-such-program"); status != agent.StatusNotFound || errs == "" {
		t.Errorf("%d %q", status, errs)
	}
	if _, out, _ := in(t, g, "", "sh", "-c", "ls /dev/ttyUSB*; ls -d /sys/class/net/eth0; lsmod | grep -c -e ^ftdi_sio -e ^ftgmac100"); out != "/sys/class/net/eth0\n2\n" {
		t.Errorf("without bridges and network: %q", out)
	}
	big := strings.Repeat("0123456789abcdef", 4_000)
	begin := time.Now()
	if _, out, _ := in(t, g, big, "cat"); out != big {
		t.Errorf("%d bytes came back changed", len(out))
	}
	t.Logf("%.0f kB/s each way", float64(len(big))/1000/time.Since(begin).Seconds())
}
