package cli

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cnuas/modbus/port"
	"cnuas/modbus/rtu"
)

// probeOptions are the names of the options of rack probe.
const probeOptions = "baud parity stop address register count timeout echo"

type probeFlags struct {
	baud, parity, address *string
	stop, register, count *int
	timeout               *time.Duration
	echo                  *bool
}

func probeOptionsOf(fs *flag.FlagSet) probeFlags {
	return probeFlags{
		baud:     fs.String("baud", "19200,115200", "probe: rates to try, separated by commas"),
		parity:   fs.String("parity", "even", "probe: even, odd or none; several separated by commas"),
		stop:     fs.Int("stop", 1, "probe: stop bits, 1 or 2"),
		address:  fs.String("address", "1-255", "probe: slaves to ask, such as 144 or 16-63,144-255"),
		register: fs.Int("register", 0, "probe: first holding register to read, from 0"),
		count:    fs.Int("count", 8, "probe: registers to read, 1 to 125"),
		timeout:  fs.Duration("timeout", 100*time.Millisecond, "probe: how long a slave may take to answer"),
		echo:     fs.Bool("echo", false, "probe: the transceiver hears what it sends"),
	}
}

// probePlan is what the options of a probe ask for.
type probePlan struct {
	lines           []rtu.Line
	addresses       []uint8
	register, count uint16
	timeout         time.Duration
	echo            bool
}

func (o *probeFlags) plan() (p probePlan, err error) {
	if *o.stop != 1 && *o.stop != 2 {
		return p, usageError("--stop %d: use 1 or 2", *o.stop)
	}
	for _, b := range strings.Split(*o.baud, ",") {
		baud, err := strconv.Atoi(b)
		if err != nil || baud < 50 || baud > 4_000_000 {
			return p, usageError("--baud %q: use rates of 50 to 4000000, such as 19200,115200", *o.baud)
		}
		for _, x := range strings.Split(*o.parity, ",") {
			par, ok := map[string]rtu.Parity{"none": rtu.None, "odd": rtu.Odd, "even": rtu.Even}[x]
			if !ok {
				return p, usageError("--parity %q: use even, odd or none", *o.parity)
			}
			p.lines = append(p.lines, rtu.Line{Baud: baud, Data: 8, Parity: par, Stop: uint8(*o.stop)})
		}
	}
	if p.addresses, err = addressList(*o.address); err != nil {
		return p, err
	}
	switch r, n := *o.register, *o.count; {
	case n < 1 || n > 125:
		return p, usageError("--count %d: use 1 to 125", n)
	case r < 0 || r+n > 0x10000:
		return p, usageError("--register %d: use 0 to %d", r, 0x10000-n)
	case *o.timeout <= 0:
		return p, usageError("--timeout %v: use a time above 0, such as 100ms", *o.timeout)
	default:
		p.register, p.count, p.timeout, p.echo = uint16(r), uint16(n), *o.timeout, *o.echo
	}
	return p, nil
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

// probeResult is a slave that has answered.
type probeResult struct {
	Address   uint8    `json:"address"`
	Line      string   `json:"line"`
	Register  uint16   `json:"register"`
	Words     []uint16 `json:"words,omitempty"`
	Text      string   `json:"text,omitempty"` // the words as characters, if they are all printable
	Exception string   `json:"exception,omitempty"`
}

// rackProbe asks every address of a serial line, emulated or real.
func (a *app) rackProbe(o *rackFlags, path string) error {
	p, err := o.probe.plan()
	if err != nil {
		return err
	}
	found := []probeResult{}
	for _, line := range p.lines {
		l, err := a.probeLine(path, line, &p, !*o.json)
		if err != nil {
			return err
		}
		found = append(found, l...)
	}
	if *o.json {
		return a.printJSON(found)
	}
	if len(found) == 0 {
		return fmt.Errorf("no slave answered on %s; is it another line? --baud and --parity choose what to try", path)
	}
	return nil
}

func (a *app) probeLine(path string, line rtu.Line, p *probePlan, tell bool) (found []probeResult, err error) {
	s, err := port.Open(path, line)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	c := port.Client{Port: s, Timeout: p.timeout, Echo: p.echo}
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
