package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"cnuas/internal/control"
	"cnuas/internal/daemon"
	"cnuas/internal/host"
	"cnuas/internal/topology"
	"cnuas/internal/vm"
	"cnuas/internal/vm/agent"
)

// labFlags are the options of up that are about the lab VM.
type labFlags struct {
	on            bool
	kernel        string
	cpus, memory  int
	selfContained bool
	with          stringList
}

// stringList collects the values of an option that is given several times.
type stringList []string

func (l *stringList) String() string     { return fmt.Sprint(*l) }
func (l *stringList) Set(s string) error { *l = append(*l, s); return nil }

func labOptions(fs *flag.FlagSet) *labFlags {
	l := &labFlags{}
	fs.BoolVar(&l.on, "vm", false, "run the fabric in a lab VM, whose kernel has rdma_rxe")
	fs.StringVar(&l.kernel, "kernel", "", "with --vm: a `directory` with lib/modules and a kernel image, instead of the fetched one; / is this machine's")
	fs.IntVar(&l.cpus, "cpus", 2, "with --vm: processors")
	fs.IntVar(&l.memory, "memory", 2048, "with --vm: MB of memory")
	fs.BoolVar(&l.selfContained, "self-contained", false, "with --vm: hide this machine's files; the VM has copies of the common programs")
	fs.Var(&l.with, "with", "with --self-contained: another `program` that the VM is to have; can be repeated")
	return l
}

// given tells whether one of the options was used.
func (l *labFlags) given(fs *flag.FlagSet) (any bool) {
	fs.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "kernel", "cpus", "memory", "self-contained", "with":
			any = true
		}
	})
	return any
}

// checkLab refuses values that would silently mean the default.
func checkLab(fs *flag.FlagSet) (err error) {
	fs.Visit(func(f *flag.Flag) {
		switch v := f.Value.String(); {
		case (f.Name == "cpus" || f.Name == "memory") && v == "0":
			err = usageError("--%s 0 is no VM: give a number, or leave the option out", f.Name)
		case f.Name == "kernel" && v == "":
			err = usageError("--kernel needs a directory; without the option the fetched kernel is used")
		}
	})
	return err
}

// args are the options for the background process.
func (l *labFlags) args() []string {
	if !l.on {
		return nil
	}
	a := []string{"--vm", "--cpus", strconv.Itoa(l.cpus), "--memory", strconv.Itoa(l.memory)}
	if l.kernel != "" {
		a = append(a, "--kernel", l.kernel)
	}
	if l.selfContained {
		a = append(a, "--self-contained")
	}
	for _, w := range l.with {
		a = append(a, "--with", w)
	}
	return a
}

// config is what the options ask for; the kernel must be there already.
func (l *labFlags) config(log io.Writer) (*vm.Config, error) {
	k, err := vm.FindKernel(l.kernel)
	if err != nil {
		return nil, err
	}
	return &vm.Config{Kernel: k, CPUs: l.cpus, MemoryMB: l.memory, SelfContained: l.selfContained, With: l.with, Log: log}, nil
}

// prepareLab sees to it that the VM can be started: a kernel, with the drivers
// that the topology needs.
func (a *app) prepareLab(l *labFlags, s *topology.Spec) (*vm.Config, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if l.kernel == "" {
		if _, err := vm.FindKernel(""); err != nil {
			if _, err := vm.Fetch(ctx, a.err); err != nil {
				return nil, err
			}
		}
	}
	v, err := l.config(a.err)
	if err != nil {
		return nil, err
	}
	for i := range s.Nodes {
		if s.Nodes[i].Stack == topology.StackSIW && !v.Kernel.HasModule("siw") {
			if err := vm.BuildSIW(ctx, v.Kernel, a.err); err != nil {
				return nil, fmt.Errorf("node %s has stack \"siw\": %w", s.Nodes[i].Name, err)
			}
			break
		}
	}
	if !l.selfContained {
		fmt.Fprintln(a.err, "the lab VM sees this machine's files, read-only (--self-contained hides them)")
	}
	return v, nil
}

// execLab runs a program in a node whose fabric is in a lab VM, over the
// connection that the daemon has joined to the VM. It gets our environment, as
// it would on this machine.
func (a *app) execLab(c *net.UnixConn, selfContained bool, argv []string) (int, error) {
	out, _ := a.out.(*os.File)
	cmd := agent.Command{Argv: argv, Env: vmEnv(), TTY: isTerminal(a.in) && isTerminal(out)}
	if !selfContained {
		cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":"+agent.BinDir, host.EnvRunDir+"=")
		cmd.Dir = sharedDir()
	}
	return a.runIn(func() (io.ReadWriteCloser, error) { return c, nil }, cmd)
}

// inFabricVM runs a command in the VM of a fabric.
func (a *app) inFabricVM(o *vmOptions, c agent.Command, outs []vmOut) error {
	if o.kernel != "" || o.cpus != 0 || o.memory != 0 || o.selfContained {
		return usageError("--kernel, --cpus, --memory and --self-contained are about a new VM; that of a fabric is there already")
	}
	var r daemon.ExecReply
	open := func() (io.ReadWriteCloser, error) {
		conn, err := dialFabric(o.fabric)
		if err != nil {
			return nil, err
		}
		if err := control.Call(conn, daemon.OpAgent, nil, &r); err != nil {
			conn.Close()
			return nil, fmt.Errorf("fabric %s: is it in a VM? %w", o.fabric, err)
		}
		return conn, nil
	}
	// Asked once for what the VM sees of this machine.
	first, err := open()
	if err != nil {
		return &exitError{status: exitExecErr, err: err}
	}
	first.Close()
	if c.Env = vmEnv(); !r.SelfContained {
		c.Dir = sharedDir()
	}
	status, err := a.runIn(open, c)
	if err == nil {
		if err = copyOut(open, outs); err != nil && status == 0 {
			status = exitFailed
		}
	}
	if status != 0 || err != nil {
		return programError(status, err)
	}
	return nil
}

// sharedDir is the working directory if a VM that sees our files has it, too.
func sharedDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for _, own := range []string{"/run", "/dev", "/proc", "/sys"} {
		if dir == own || strings.HasPrefix(dir, own+"/") {
			return "" // the VM has its own there
		}
	}
	return dir
}
