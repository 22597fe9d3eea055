package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"cnuas/internal/control"
	"cnuas/internal/host"
	"cnuas/internal/topology"
	"cnuas/internal/vm"
	"cnuas/internal/vm/agent"
)

// lab is a fabric that runs in a VM: this process keeps the VM, and relays what
// the command line asks to the daemon inside.
type lab struct {
	cfg    Config
	vmCfg  vm.Config
	vm     *vm.Machine
	cancel context.CancelFunc
}

func (l *lab) logf(format string, args ...any) {
	fmt.Fprintf(l.cfg.Log, "cnuas %s: %s\n", l.cfg.Spec.Name, fmt.Sprintf(format, args...))
}

// RunVM is Run with the fabric inside of a lab VM. arg is the topology as the
// user named it.
func RunVM(cfg Config, arg string, v vm.Config, ready func(*Ready)) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return runVM(ctx, cfg, arg, v, ready)
}

func runVM(ctx context.Context, cfg Config, arg string, v vm.Config, ready func(*Ready)) (err error) {
	if err := RackOutsideVM(cfg.Spec); err != nil {
		return err
	}
	began := time.Now()
	l := &lab{cfg: cfg, vmCfg: v}
	ctx, l.cancel = context.WithCancel(ctx)
	defer l.cancel()
	unlock, err := host.Lock(ctx)
	if err != nil {
		return err
	}
	unlock = sync.OnceFunc(unlock)
	defer unlock()
	if err := errors.Join(clearDead(cfg.Spec.Name), nodesFree(cfg.Spec)); err != nil {
		return err
	}
	j, err := host.OpenJournal(cfg.Spec.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	// The nodes' names find their fabric; namespaces of these names on this
	// machine are not touched, because they do not carry the fabric's marker.
	var names []string
	for i := range cfg.Spec.Nodes {
		names = append(names, cfg.Spec.Nodes[i].Name)
	}
	if err := j.Plan(names...); err != nil {
		return err
	}
	// The names are taken; nobody has to wait until the VM has booted.
	unlock()
	if l.vm, err = vm.Start(ctx, v); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.vm.Close()) }()
	if err := l.bringUp(ctx, arg); err != nil {
		return err
	}
	srv, err := control.Listen(filepath.Join(j.Dir(), socketName))
	if err != nil {
		return err
	}
	defer srv.Close()
	l.register(srv)
	fail := make(chan error, 1)
	go func() { fail <- srv.Serve() }()
	ready(&Ready{Seconds: time.Since(began).Seconds()})
	select {
	case <-ctx.Done():
		return nil
	case <-l.vm.Done():
		l.logf("the VM has ended")
		return errors.New("the lab VM ended by itself")
	case err := <-fail:
		l.logf("ends: %v", err)
		return err
	}
}

// guestDir is where topology files are put inside the VM.
const guestDir = "/run/lab"

// bringUp brings the fabric up inside the VM.
func (l *lab) bringUp(ctx context.Context, arg string) error {
	file, data, err := topology.Source(arg)
	if err != nil {
		return err
	}
	path := filepath.Join(guestDir, filepath.Base(file))
	st, err := l.vm.Open()
	if err != nil {
		return err
	}
	if err := agent.Put(st, path, 0o644, bytes.NewReader(data)); err != nil {
		return err
	}
	if st, err = l.vm.Open(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { st.Close() })()
	var out bytes.Buffer
	argv := []string{"cnuas", "up", "--scale", strconv.FormatFloat(l.cfg.Scale, 'g', -1, 64)}
	if l.cfg.SM != "" {
		argv = append(argv, "--sm", l.cfg.SM)
	}
	if l.cfg.NoIPoIB {
		argv = append(argv, "--no-ipoib")
	}
	status, err := agent.Exec(st, agent.Command{
		Argv: append(argv, path),
	}, agent.IO{Stdout: &out, Stderr: &out})
	if err == nil && status != 0 {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		return fmt.Errorf("up in the lab VM: %w\n%s", err, strings.TrimSpace(out.String()))
	}
	return nil
}
