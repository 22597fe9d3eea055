package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"cnuas/internal/vm"
	"cnuas/internal/vm/agent"
)

const vmUsage = `usage: cnuas vm run [OPTION...] [--] COMMAND [ARG...]   boot a lab VM, run the command in it, end it
       cnuas vm shell [OPTION...]                       the same with a shell on a terminal
       cnuas vm fetch [--siw]                           get the VM's kernel into the cache
`

// vm is the lab VM without a fabric.
func (a *app) vm(args []string) error {
	if len(args) == 0 {
		return usageError("say run, shell or fetch")
	}
	switch args[0] {
	case "run":
		return a.vmRun(args[1:])
	case "shell":
		return a.vmShell(args[1:])
	case "fetch":
		return a.vmFetch(args[1:])
	case "-h", "-help", "--help":
		fmt.Fprint(a.err, vmUsage)
		return flag.ErrHelp
	}
	return usageError("%q is not understood: say run, shell or fetch", args[0])
}

// vmOptions are those of run and shell.
type vmOptions struct {
	kernel        string
	cpus, memory  int
	selfContained bool
	with, out     stringList
	tty           bool
	fabric        string
}

// vmFlags reads the options, which end at the first other argument or "--".
func (a *app) vmFlags(name string, args []string) (*vmOptions, []string, error) {
	fs := flag.NewFlagSet("vm "+name, flag.ContinueOnError)
	o := &vmOptions{}
	fs.StringVar(&o.kernel, "kernel", "", "`directory` with lib/modules/RELEASE and a kernel image, instead of the fetched kernel; / is this machine's")
	fs.IntVar(&o.cpus, "cpus", 0, "processors (default 2)")
	fs.IntVar(&o.memory, "memory", 0, "MB of memory (default 2048)")
	fs.BoolVar(&o.selfContained, "self-contained", false, "hide this machine's files; the VM has copies of the common programs")
	fs.Var(&o.with, "with", "with --self-contained: another `program` that the VM is to have; can be repeated")
	fs.Var(&o.out, "out", "`GUEST[:HOST]`: copy this file out of the VM when the command has ended; can be repeated")
	out, _ := a.out.(*os.File)
	fs.BoolVar(&o.tty, "tty", isTerminal(a.in) && isTerminal(out), "give the command a terminal")
	fs.StringVar(&o.fabric, "fabric", "", "use the VM of this `fabric`, which is up, instead of a new one")
	fs.SetOutput(a.err)
	fs.Usage = func() {
		fmt.Fprint(a.err, vmUsage)
		fs.PrintDefaults()
	}
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, nil, err
		}
		return nil, nil, &exitError{status: exitUsage}
	}
	if err := checkLab(fs); err != nil {
		return nil, nil, err
	}
	if len(o.with) > 0 && !o.selfContained {
		return nil, nil, usageError("--with goes with --self-contained; another VM sees all programs of this machine")
	}
	return o, fs.Args(), nil
}

func (a *app) vmRun(args []string) error {
	o, argv, err := a.vmFlags("run", args)
	if err != nil {
		return err
	}
	if len(argv) == 0 {
		return usageError("name a command: cnuas vm run -- rdma link")
	}
	return a.inVM(o, agent.Command{Argv: argv, TTY: o.tty})
}

// shellScript starts the best shell there is. HOME is the guest's.
const shellScript = "command -v bash >/dev/null && exec bash -l; exec sh -l"

func (a *app) vmShell(args []string) error {
	o, argv, err := a.vmFlags("shell", args)
	if err != nil {
		return err
	}
	if len(argv) > 0 {
		return usageError("shell takes no command; use: cnuas vm run -- %s", argv[0])
	}
	return a.inVM(o, agent.Command{Argv: []string{"sh", "-c", shellScript}, TTY: o.tty})
}

func (a *app) vmFetch(args []string) error {
	fs := flag.NewFlagSet("vm fetch", flag.ContinueOnError)
	siw := fs.Bool("siw", false, "build the driver siw (iWARP over TCP) for it, which Debian's kernels lack")
	fs.SetOutput(a.err)
	fs.Usage = func() {
		fmt.Fprint(a.err, vmUsage)
		fs.PrintDefaults()
	}
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return &exitError{status: exitUsage}
	}
	if fs.NArg() > 0 {
		return usageError("fetch takes no arguments")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	k, err := vm.Fetch(ctx, a.err)
	if err != nil {
		return err
	}
	if *siw {
		if err := vm.BuildSIW(ctx, k, a.err); err != nil {
			return err
		}
	}
	with := ""
	if k.HasModule("siw") {
		with = " with siw"
	}
	fmt.Fprintf(a.out, "Linux %s%s is in %s\n", k.Release, with, k.Dir)
	return nil
}

// inVM boots a VM, runs the command and ends the VM.
func (a *app) inVM(o *vmOptions, c agent.Command) (err error) {
	outs, err := parseOuts(o.out)
	if err != nil {
		return err
	}
	if o.fabric != "" {
		return a.inFabricVM(o, c, outs)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	m, err := a.bootVM(ctx, o)
	if ctx.Err() != nil && err != nil {
		err = errors.New("interrupted before the VM was up")
	}
	if err != nil {
		return &exitError{status: exitExecErr, err: err}
	}
	defer func() {
		if e := m.Close(); err == nil {
			err = e
		}
	}()
	c.Env = vmEnv()
	if !o.selfContained {
		c.Dir = sharedDir()
	}
	open := func() (io.ReadWriteCloser, error) { return m.Open() }
	stop() // from here the command gets the signals
	status, err := a.runIn(open, c)
	if status == agent.StatusLost && err != nil {
		select {
		case <-m.Done():
			err = fmt.Errorf("%w; the VM has ended:\n%s", err, m.Console())
		default:
		}
	}
	if err == nil {
		err = copyOut(open, outs)
		if err != nil && status == 0 {
			status = exitFailed
		}
	}
	if status != 0 || err != nil {
		return programError(status, err)
	}
	return nil
}

// bootVM starts the VM, and gets its kernel first if it is not here.
func (a *app) bootVM(ctx context.Context, o *vmOptions) (*vm.Machine, error) {
	k, err := vm.FindKernel(o.kernel)
	if errors.Is(err, vm.ErrNoKernel) {
		fmt.Fprintln(a.err, "lab VM: there is no kernel for it yet; fetching one")
		k, err = vm.Fetch(ctx, a.err)
	}
	if err != nil {
		return nil, err
	}
	if !o.selfContained {
		fmt.Fprintln(a.err, "lab VM: sees this machine's files read-only (--self-contained hides them)")
	}
	return vm.Start(ctx, vm.Config{
		Kernel: k, CPUs: o.cpus, MemoryMB: o.memory, SelfContained: o.selfContained, With: o.with, Log: a.err,
	})
}

// vmEnv is what a command in a VM gets of our environment: how to talk to the
// user, and nothing that is about this machine.
func vmEnv() (env []string) {
	for _, name := range []string{"LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ", "NO_COLOR", "COLORTERM"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func isTerminal(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }
