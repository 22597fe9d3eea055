package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"cnuas/internal/control"
	"cnuas/internal/daemon"
	"cnuas/internal/vm/agent"
	"cnuas/modbus/bmc"
	"cnuas/modbus/ftdi"
)

const bmcForms = `one of
  cnuas bmc up [--image FILE] [--machine NAME]
  cnuas bmc down
  cnuas bmc status [--json]
  cnuas bmc console
  cnuas bmc exec -- COMMAND [ARG...]
  cnuas bmc unplug [BRIDGE] | replug [BRIDGE]
  cnuas bmc fetch`

// bmcTakes tells how many arguments a command takes at most, and its options
// besides --fabric.
var bmcTakes = map[string]struct {
	most  int
	flags string
}{
	"up": {0, "image machine"}, "down": {0, ""}, "status": {0, "json"}, "console": {0, ""},
	"unplug": {1, ""}, "replug": {1, ""}, "fetch": {0, ""}, "exec": {1 << 16, ""},
}

// bmc is the guest that manages the rack.
func (a *app) bmc(args []string) error {
	// What follows exec belongs to the command, options and all.
	var argv []string
	for i, s := range args {
		if s == "--" {
			args, argv = args[:i], args[i+1:]
			break
		}
	}
	fs := flag.NewFlagSet("bmc", flag.ContinueOnError)
	fabric := fs.String("fabric", "", "name of the fabric, if several with a rack are up")
	image := fs.String("image", "", "up: flash `file` of an OpenBMC build for the whole flash; without one a stand-in boots, or the topology's image")
	machine := fs.String("machine", "", "up: QEMU's `name` of the board (default that of the topology)")
	json := fs.Bool("json", false, "status: print JSON")
	pos, err := a.parse(fs, args)
	if err != nil {
		return err
	}
	if len(pos) == 0 {
		return usageError("say what: %s", bmcForms)
	}
	action := pos[0]
	takes, ok := bmcTakes[action]
	if !ok {
		return usageError("%q is not understood; %s", strings.Join(append(pos, argv...), " "), bmcForms)
	}
	if len(pos)-1 > takes.most || len(argv) > 0 && action != "exec" {
		return usageError("%q is not understood; write %s", strings.Join(append(pos, argv...), " "), formOf(bmcForms, action))
	}
	fs.Visit(func(f *flag.Flag) {
		if f.Name != "fabric" && !wordIn(takes.flags, f.Name) || f.Name == "fabric" && action == "fetch" {
			err = usageError("--%s does not go with bmc %s; write %s", f.Name, action, formOf(bmcForms, action))
		}
	})
	if err != nil {
		return err
	}
	req := daemon.BMCArgs{Action: action, Machine: *machine}
	switch action {
	case "fetch":
		return a.bmcFetch()
	case "console":
		return a.bmcConsole(*fabric)
	case "exec":
		return a.bmcExec(*fabric, append(pos[1:], argv...))
	case "unplug", "replug":
		if len(pos) == 2 {
			if req.Bridge, err = strconv.Atoi(pos[1]); err != nil || req.Bridge < 1 {
				return usageError("%q is not the number of a USB bridge: write 1, 2 or 3, or nothing for all", pos[1])
			}
		}
	case "up":
		if *image != "" {
			// The daemon has a working directory of its own.
			if req.Image, err = filepath.Abs(*image); err != nil {
				return err
			}
		}
		if err := a.prepareBMC(*fabric, req); err != nil {
			return err
		}
	}
	r, err := askBMC(*fabric, req)
	switch {
	case err != nil:
		return err
	case *json:
		return a.printJSON(r.Status)
	case r.Status != nil:
		printBMC(a.out, r.Status)
	default:
		fmt.Fprintln(a.out, r.Done)
	}
	return nil
}

// dialBMC connects to the daemon of the fabric that has a BMC.
func dialBMC(fabric string) (*net.UnixConn, error) {
	live := daemon.Live()
	if fabric != "" || len(live) < 2 {
		return dialRack(fabric, daemon.RackArgs{})
	}
	var found []daemon.Instance
	for _, f := range live {
		c, err := dialFabric(f.Name)
		if err != nil {
			continue
		}
		if control.Call(c, daemon.OpBMC, daemon.BMCArgs{Action: "status"}, nil) == nil {
			found = append(found, f)
		}
		c.Close()
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no fabric that is up (%s) has a BMC; add [rack.bmc] to a topology", names(live))
	case 1:
		return dialFabric(found[0].Name)
	}
	return nil, fmt.Errorf("several fabrics (%s) have a BMC: say which with --fabric NAME", names(found))
}

func askBMC(fabric string, req daemon.BMCArgs) (r daemon.BMCReply, err error) {
	c, err := dialBMC(fabric)
	if err != nil {
		return r, err
	}
	defer c.Close()
	return r, control.Call(c, daemon.OpBMC, req, &r)
}

// prepareBMC gets the stand-in's packages if it is the stand-in that is to boot.
func (a *app) prepareBMC(fabric string, req daemon.BMCArgs) error {
	if req.Image != "" || bmc.StandInHere() {
		return nil
	}
	r, err := askBMC(fabric, daemon.BMCArgs{Action: "status"})
	if err != nil || r.Status.Up || r.Status.Image != "" {
		return err
	}
	fmt.Fprintln(a.err, "the stand-in's packages are not here yet; fetching them")
	return a.bmcGet()
}

func (a *app) bmcGet() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return bmc.FetchStandIn(ctx, a.err)
}

func (a *app) bmcFetch() error {
	if err := a.bmcGet(); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "the stand-in BMC is in %s\n", bmc.StandInDir())
	return nil
}

// bmcStream asks for a connection to the guest.
func bmcStream(fabric, op string) (*net.UnixConn, error) {
	c, err := dialBMC(fabric)
	if err != nil {
		return nil, err
	}
	if err := control.Call(c, op, nil, nil); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// bmcExec runs a command in the stand-in.
func (a *app) bmcExec(fabric string, argv []string) error {
	if len(argv) == 0 {
		return usageError("name a command: cnuas bmc exec -- mbpoll -h")
	}
	out, _ := a.out.(*os.File)
	cmd := agent.Command{Argv: argv, TTY: isTerminal(a.in) && isTerminal(out)}
	status, err := a.runIn(func() (io.ReadWriteCloser, error) { return bmcStream(fabric, daemon.OpBMCExec) }, cmd)
	if r := (*agent.RemoteError)(nil); errors.As(err, &r) {
		err = errors.New(r.Msg) // it speaks of a VM, as of the one with a fabric in it
	}
	if status == agent.StatusLost && err != nil {
		return &exitError{status: exitExecErr, err: err}
	}
	if status != 0 || err != nil {
		return programError(status, err)
	}
	return nil
}

// consoleEscape ends bmc console: Ctrl-], as in telnet.
const consoleEscape = 0x1d

// bmcConsole joins the terminal with the guest's console until the escape key,
// the end of the input, or of the guest.
func (a *app) bmcConsole(fabric string) error {
	c, err := bmcStream(fabric, daemon.OpBMCConsole)
	if err != nil {
		return err
	}
	defer c.Close()
	if isTerminal(a.in) {
		fmt.Fprint(a.err, "the console of the BMC; Ctrl-] leaves it\r\n")
		_, restore, err := a.terminal(&agent.Command{})
		if err != nil {
			return err
		}
		defer restore()
	}
	left := make(chan struct{})
	go func() {
		if a.in != nil {
			io.Copy(c, &untilEscape{r: a.in})
		}
		close(left)
		c.CloseWrite()
	}()
	_, err = io.Copy(a.out, c)
	select {
	case <-left:
		return nil
	default:
	}
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("console: %w", err)
	}
	fmt.Fprint(a.err, "\r\nthe BMC has ended\r\n")
	return nil
}

// untilEscape ends at consoleEscape.
type untilEscape struct {
	r    io.Reader
	done bool
}

func (u *untilEscape) Read(b []byte) (int, error) {
	if u.done {
		return 0, io.EOF
	}
	n, err := u.r.Read(b)
	for i, c := range b[:n] {
		if c == consoleEscape {
			u.done = true
			return i, nil
		}
	}
	return n, err
}

func printBMC(w io.Writer, s *daemon.BMCStatus) {
	what := "the stand-in"
	if s.Image != "" {
		what = s.Image
	}
	if !s.Up {
		fmt.Fprintf(w, "%s: off (%s on %s); start it: cnuas bmc up\n", s.Name, what, s.Machine)
		return
	}
	fmt.Fprintf(w, "%s: %s on %s, up for %.0f s, QEMU is process %d\n", s.Name, what, s.Machine, s.Seconds, s.PID)
	if s.Ready > 0 {
		fmt.Fprintf(w, "  ready after %.1f s\n", s.Ready)
	}
	if s.MAC != "" {
		fmt.Fprintf(w, "  management network: %s, MAC %s\n", s.Address, s.MAC)
	}
	fmt.Fprintf(w, "  console: cnuas bmc console; log %s\n", s.Console)
	for i, b := range s.Bridges {
		state := "plugged in"
		switch {
		case !b.Plugged:
			state = "unplugged"
		case !b.Connected:
			state = "plugged in, but QEMU does not listen"
		}
		fmt.Fprintf(w, "  USB bridge %d (FT4232H): %s\n", i+1, state)
		for _, p := range s.Ports {
			if p.Bridge == i+1 {
				printBMCPort(w, &p)
			}
		}
	}
}

func printBMCPort(w io.Writer, p *daemon.BMCPort) {
	segment := p.Segment
	if segment == "" {
		segment = "open"
	}
	fmt.Fprintf(w, "    port %d: %-8s %-12s (%.1f baud)  sent %d, received %d bytes%s\n",
		p.Port, segment, p.Line, p.Baud, p.Counters.TxBytes, p.Counters.RxBytes, portErrors(&p.Counters))
}

func portErrors(c *ftdi.Counters) (s string) {
	for _, e := range []struct {
		n    uint64
		what string
	}{{c.ParityErrors, "parity errors"}, {c.FramingErrors, "framing errors"}, {c.Breaks, "breaks"}, {c.Overruns, "overruns"}} {
		if e.n > 0 {
			s += fmt.Sprintf(", %d %s", e.n, e.what)
		}
	}
	return s
}
