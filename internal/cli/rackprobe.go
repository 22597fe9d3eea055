package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cnuas/modbus/port"
	"cnuas/modbus/rtu"
)

// probeOptions are the names of the options of rack probe.
const probeOptions = "baud parity stop address all register count timeout echo"

type probeFlags struct {
	baud, parity, address *string
	stop, register, count *int
	timeout               *time.Duration
	echo, all             *bool
}

func probeOptionsOf(fs *flag.FlagSet) probeFlags {
	return probeFlags{
		baud:     fs.String("baud", "", "probe: rates to try, such as 19200,115200; without it what each kind of device has"),
		parity:   fs.String("parity", "even", "probe: with --baud: even, odd or none; several separated by commas"),
		stop:     fs.Int("stop", 1, "probe: with --baud: stop bits, 1 or 2"),
		address:  fs.String("address", "", "probe: slaves to ask, such as 144 or 16-63,144-255; without it those at which masters look for the kinds"),
		all:      fs.Bool("all", false, "probe: ask every address from 1 to 247, besides those at which masters look"),
		register: fs.Int("register", -1, "probe: only read holding registers from this one on, counted from 0"),
		count:    fs.Int("count", 1, "probe: with --register: how many, 1 to 125"),
		timeout:  fs.Duration("timeout", 70*time.Millisecond, "probe: how long a slave may take to answer"),
		echo:     fs.Bool("echo", false, "probe: the transceiver hears what it sends"),
	}
}

// probePlan is what the options of a probe ask for.
type probePlan struct {
	lines           []rtu.Line // none: those of the kinds
	addresses       []uint8    // none: those of the kinds
	read            bool       // registers only
	register, count uint16
	timeout         time.Duration
	echo, all       bool
}

func (o *probeFlags) plan() (p probePlan, err error) {
	if *o.stop != 1 && *o.stop != 2 {
		return p, usageError("--stop %d: use 1 or 2", *o.stop)
	}
	if *o.baud != "" {
		if p.lines, err = o.lines(); err != nil {
			return p, err
		}
	}
	if *o.address != "" {
		if p.addresses, err = addressList(*o.address); err != nil {
			return p, err
		}
	}
	p.timeout, p.echo, p.all, p.read = *o.timeout, *o.echo, *o.all, *o.register >= 0
	switch r, n := *o.register, *o.count; {
	case *o.timeout <= 0:
		return p, usageError("--timeout %v: use a time above 0, such as 100ms", *o.timeout)
	case *o.all && *o.address != "":
		return p, usageError("--all and --address: use one of them")
	case n < 1 || n > 125:
		return p, usageError("--count %d: use 1 to 125", n)
	case r < -1 || r+n > 0x10000:
		return p, usageError("--register %d: use 0 to %d", r, 0x10000-n)
	case p.read && (len(p.addresses) == 0 || len(p.lines) == 0):
		return p, usageError("--register %d: of which slave, at which line? Add --address 144 --baud 19200", r)
	case p.read:
		p.register, p.count = uint16(r), uint16(n)
	}
	return p, nil
}

func (o *probeFlags) lines() (l []rtu.Line, err error) {
	for _, b := range strings.Split(*o.baud, ",") {
		baud, err := strconv.Atoi(b)
		if err != nil || baud < 50 || baud > 4_000_000 {
			return nil, usageError("--baud %q: use rates of 50 to 4000000, such as 19200,115200", *o.baud)
		}
		for _, x := range strings.Split(*o.parity, ",") {
			par, ok := map[string]rtu.Parity{"none": rtu.None, "odd": rtu.Odd, "even": rtu.Even}[x]
			if !ok {
				return nil, usageError("--parity %q: use even, odd or none", *o.parity)
			}
			l = append(l, rtu.Line{Baud: baud, Data: 8, Parity: par, Stop: uint8(*o.stop)})
		}
	}
	return l, nil
}

// addressList reads "16-63,144-255".
func addressList(s string) (l []uint8, err error) {
	for _, x := range strings.Split(s, ",") {
		from, to, isRange := strings.Cut(x, "-")
		if !isRange {
			to = from
		}
		a, e1 := strconv.ParseUint(from, 0, 8)
		b, e2 := strconv.ParseUint(to, 0, 8)
		if e1 != nil || e2 != nil || a < 1 || b < a {
			return nil, usageError("--address %q: use numbers of 1 to 255, such as 144 or 16-63,144-255", s)
		}
		for v := a; v <= b; v++ {
			l = append(l, uint8(v))
		}
	}
	return l, nil
}

// rackProbe asks a serial line, emulated or real, who is on it.
func (a *app) rackProbe(o *rackFlags, path string) error {
	p, err := o.probe.plan()
	if err != nil {
		return err
	}
	log.SetOutput(io.Discard) // goburrow/serial also logs errors that it returns
	if p.read {
		return a.readRegisters(path, &p, *o.json)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	line := ""
	found, err := port.Probe(ctx, path, port.ProbeOptions{
		Lines: p.lines, Addresses: p.addresses, All: p.all, Silence: p.timeout, Echo: p.echo,
		Progress: func(l rtu.Line, _ uint8, done, all int) {
			if s := l.String(); s != line {
				line = s
				fmt.Fprintf(a.err, "asking at %s, %d of %d questions\n", s, done, all)
			}
		},
	})
	if *o.json {
		if found == nil {
			found = []port.Found{}
		}
		return errors.Join(a.printJSON(found), err)
	}
	for i := range found {
		a.printFound(&found[i])
	}
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no slave answered on %s; --baud, --parity and --all ask others", path)
	}
	return err
}

func (a *app) printFound(f *port.Found) {
	what := f.Kind
	if what == "" {
		what = "a device of no kind that is known here"
	}
	fmt.Fprintf(a.out, "%3d (0x%02X) at %s: %s", f.Address, f.Address, f.Line, what)
	if f.Profile != "" {
		fmt.Fprintf(a.out, " (%s)", f.Profile)
	}
	set := []port.Value{}
	for _, v := range f.Flags {
		if strings.Trim(v.Text, "0x") != "" {
			set = append(set, v)
		}
	}
	for _, l := range [][]port.Value{f.Identity, f.Values, set} {
		for i, v := range l {
			sep := ", "
			if i == 0 {
				sep = "\n      "
			}
			fmt.Fprintf(a.out, "%s%s %s", sep, v.Name, v.Text)
		}
	}
	if len(f.Flags) > 0 && len(set) == 0 {
		fmt.Fprint(a.out, "\n      no alarm")
	}
	if f.Note != "" {
		fmt.Fprintf(a.out, "\n      %s", f.Note)
	}
	fmt.Fprintln(a.out)
}

// probeResult is a slave whose registers were asked for.
type probeResult struct {
	Address   uint8    `json:"address"`
	Line      string   `json:"line"`
	Register  uint16   `json:"register"`
	Words     []uint16 `json:"words,omitempty"`
	Text      string   `json:"text,omitempty"` // the words as characters, if they are all printable
	Exception string   `json:"exception,omitempty"`
}

// readRegisters reads the same registers of all slaves that were named.
func (a *app) readRegisters(path string, p *probePlan, asJSON bool) error {
	found := []probeResult{}
	for _, line := range p.lines {
		l, err := a.probeLine(path, line, p, !asJSON)
		if err != nil {
			return err
		}
		found = append(found, l...)
	}
	if asJSON {
		return a.printJSON(found)
	}
	if len(found) == 0 {
		return fmt.Errorf("no slave answered on %s", path)
	}
	return nil
}

func (a *app) probeLine(path string, line rtu.Line, p *probePlan, tell bool) (found []probeResult, err error) {
	s, err := port.Open(path, line)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	c := port.Client{Port: s, Timeout: p.timeout, Retries: 2, Echo: p.echo}
	for _, addr := range p.addresses {
		words, err := c.ReadRegisters(addr, p.register, p.count)
		r := probeResult{Address: addr, Line: line.String(), Register: p.register, Words: words, Text: printable(words)}
		var ex *port.ExceptionError
		switch {
		case errors.As(err, &ex):
			r.Exception = ex.Error()
		case errors.Is(err, port.ErrHangup):
			return found, err
		case err != nil:
			continue // silence, or noise of those at other lines
		}
		if found = append(found, r); tell {
			fmt.Fprintln(a.out, r.String())
		}
	}
	if tell {
		fmt.Fprintf(a.err, "%v: %d of %d addresses answered; %d timeouts, %d bad replies\n", line, len(found), len(p.addresses), c.Timeouts, c.Bad)
	}
	return found, nil
}

// String is the result in one line.
func (r *probeResult) String() string {
	s := fmt.Sprintf("%3d (0x%02X) at %s: ", r.Address, r.Address, r.Line)
	if r.Exception != "" {
		return s + r.Exception
	}
	for i, w := range r.Words {
		if i == 8 {
			s += "..."
			break
		}
		s += fmt.Sprintf("%04X ", w)
	}
	if r.Text != "" {
		s += fmt.Sprintf(" %q", r.Text)
	}
	return strings.TrimRight(s, " ")
}

// printable is the text in the words, without the NULs behind it; "" if it is
// none.
func printable(words []uint16) string {
	b := make([]byte, 0, 2*len(words))
	for _, w := range words {
		b = append(b, byte(w>>8), byte(w))
	}
	s := strings.TrimRight(string(b), "\x00")
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return ""
		}
	}
	return s
}
