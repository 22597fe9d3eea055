// Package cli is the command line: it parses arguments, talks to the daemon of
// a fabric and prints what it answers.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// Exit statuses of the program itself; exec passes on the program's.
const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2
	exitExecErr = 125 // exec: the program could not be started
)

// app carries what commands print to.
type app struct {
	in       *os.File
	out, err io.Writer
}

type command struct {
	name, args, short string
	hidden            bool
	run               func(*app, []string) error
}

// exitError ends the program with a status of its own, after its message, if
// it has one, was printed.
type exitError struct {
	status int
	err    error
	run    bool // the status is that of a program that was run
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return &exitError{status: exitUsage, err: fmt.Errorf(format, args...)}
}

// programError ends with the status of a program that was run.
func programError(status int, err error) error {
	return &exitError{status: status, err: err, run: true}
}

func commands() []command {
	return []command{
		{"up", "FILE|NAME [--scale S] [--sm none|NODE] [--vm] [--foreground]", "bring a fabric up", false, (*app).up},
		{"down", "[NAME | --all]", "take a fabric down, or remove what a dead daemon left", false, (*app).down},
		{"status", "[NAME] [--json]", "nodes, links, ports, counters and the fidelity verdict", false, (*app).status},
		{"exec", "NODE -- PROGRAM [ARG...]", "run a program in a node, with its network and its verbs devices", false, (*app).exec},
		{"capture", "PORT... -w FILE|- [FILTER]", "capture at ports of any device into pcapng", false, (*app).capture},
		{"show", "PORT... [-c N] [FILTER]", "print what passes ports, a line a frame", false, (*app).show},
		{"sm", "start|stop NODE, or status", "subnet managers of InfiniBand: start, stop, look at", false, (*app).sm},
		{"fault", "link|loss|storm|mute|clear ...", "take a link down, lose frames, make a NIC or a port sick", false, (*app).fault},
		{"rack", "tty|status|show|set|ac-loss|unplug|fault|capture|probe ...", "power shelves on RS-485: find, look at, make sick, capture, probe", false, (*app).rack},
		{"bmc", "up|down|status|console|exec|unplug|replug ...", "the guest that manages the rack: an OpenBMC image, or a stand-in", false, (*app).bmc},
		{"switch", "--name NAME --ports N [--peer P=HOST:PORT]", "run one InfiniBand switch as a process of its own, with links over UDP", false, (*app).switchProcess},
		{"lint", "FILE...", "check topology files without starting anything", false, (*app).lint},
		{"export", "FILE|NAME", "print the InfiniBand part of a topology as ibnetdiscover would", false, (*app).export},
		{"topologies", "[NAME]", "list the topologies inside the program, or print one", false, (*app).topologies},
		{"vm", "run|shell|fetch ...", "a lab VM: a Linux with RDMA drivers, for a command or a shell", false, (*app).vm},
		{"doctor", "", "what this machine can do, and the remedy where it cannot", false, (*app).doctor},
		{"version", "", "print the version", false, (*app).version},
		{"daemon", "FILE", "the process behind a fabric; started by up", true, (*app).daemon},
	}
}

// Main runs the command line and returns the exit status.
func Main(args []string, in *os.File, out, errw io.Writer) int {
	a := &app{in: in, out: out, err: errw}
	if len(args) == 0 {
		a.help(errw)
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		if len(args) == 1 {
			a.help(out)
			return exitOK
		}
		args = append(args[1:], "-h")
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return a.finish(c, c.run(a, args[1:]))
		}
	}
	fmt.Fprintf(errw, "cnuas: there is no command %q; cnuas help lists them\n", args[0])
	return exitUsage
}

// finish turns a command's error into a message and a status.
func (a *app) finish(c command, err error) int {
	if err == nil {
		return exitOK
	}
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	status, usage := exitFailed, false
	var e *exitError
	if errors.As(err, &e) {
		status = e.status
		usage = status == exitUsage && !e.run
	}
	if m := err.Error(); m != "" {
		fmt.Fprintf(a.err, "cnuas %s: %s\n", c.name, m)
	}
	if usage && !strings.Contains(err.Error(), "cnuas "+c.name+" ") { // the form that fits may have been shown
		fmt.Fprintf(a.err, "usage: cnuas %s %s\n", c.name, c.args)
	}
	return status
}

func (a *app) help(w io.Writer) {
	fmt.Fprint(w, "cnuas brings up RoCE and InfiniBand fabrics on this machine; unmodified verbs programs run on it.\n\n")
	for _, c := range commands() {
		if !c.hidden {
			fmt.Fprintf(w, "  cnuas %-58s %s\n", c.name+" "+c.args, c.short)
		}
	}
	fmt.Fprint(w, "\ncnuas help COMMAND, or cnuas COMMAND -h, lists the options of a command.\n")
}

// parse reads flags that may stand before, between or after the positional
// arguments, and returns the latter. It stops at "--", which it drops.
func (a *app) parse(fs *flag.FlagSet, args []string) ([]string, error) {
	fs.SetOutput(a.err)
	var pos []string
	fs.Usage = func() {
		if len(pos) > 0 && a.actionUsage(fs, pos[0]) {
			return
		}
		for _, c := range commands() {
			if c.name == fs.Name() {
				fmt.Fprintf(a.err, "usage: cnuas %s %s\n", c.name, c.args)
			}
		}
		switch fs.Name() {
		case "fault":
			fmt.Fprintln(a.err, faultForms)
		case "sm":
			fmt.Fprintln(a.err, smForms)
		case "rack":
			fmt.Fprintln(a.err, rackForms)
		case "bmc":
			fmt.Fprintln(a.err, bmcForms)
		}
		fs.PrintDefaults()
	}
	for {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, &exitError{status: exitUsage} // flag has printed it
		}
		rest := fs.Args()
		if n := len(args) - len(rest); n > 0 && args[n-1] == "--" {
			return append(pos, rest...), nil
		}
		if len(rest) == 0 {
			return pos, nil
		}
		pos = append(pos, rest[0])
		args = rest[1:]
	}
}

// actionUsage prints the usage of one action of a command that has many, and
// tells whether it knows it.
func (a *app) actionUsage(fs *flag.FlagSet, action string) bool {
	var forms, takes string
	switch fs.Name() {
	case "rack":
		forms, takes = rackForms, rackTakes[action].flags
	case "bmc":
		forms, takes = bmcForms, bmcTakes[action].flags
	}
	form := formOf(forms, action)
	if form == "" {
		return false
	}
	fmt.Fprintf(a.err, "usage: %s\n", form)
	own := flag.NewFlagSet(fs.Name(), flag.ContinueOnError)
	own.SetOutput(a.err)
	fs.VisitAll(func(f *flag.Flag) {
		if wordIn(takes, f.Name) || f.Name == "fabric" && action != "probe" && action != "fetch" {
			own.Var(f.Value, f.Name, f.Usage)
		}
	})
	own.PrintDefaults()
	return true
}

// formOf is the line of forms that has the action; "" if none has.
func formOf(forms, action string) string {
	for _, l := range strings.Split(forms, "\n")[1:] {
		if wordIn(l, action) {
			return strings.TrimSpace(l)
		}
	}
	return ""
}

// fraction reads "30%", "0.3" or "1e-3" as a fraction in [0,1].
func fraction(s string) (float64, error) {
	t, div := s, 1.0
	if strings.HasSuffix(s, "%") {
		t, div = strings.TrimSuffix(s, "%"), 100
	}
	var v float64
	var rest string
	n, _ := fmt.Sscanf(t+" .", "%g %s", &v, &rest)
	if n != 2 || rest != "." || !(v >= 0) || v/div > 1 {
		return 0, fmt.Errorf("%q is not a share between 0 and 1 or 0%% and 100%%", s)
	}
	return v / div, nil
}
