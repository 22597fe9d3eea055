package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"cnuas/internal/launch"
	"cnuas/internal/topology"
	"cnuas/internal/vm"
)

// Start brings the fabric up in a process of its own and returns when it is
// up. arg is the topology as the user named it; more are options of the daemon
// command.
func Start(scale float64, sm, arg string, more ...string) (*Ready, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	log, err := memLog()
	if err != nil {
		w.Close()
		return nil, err
	}
	defer log.Close()
	args := append([]string{"daemon", "--scale", strconv.FormatFloat(scale, 'g', -1, 64), "--sm", sm, "--ready-fd", "3"}, more...)
	c := exec.Command(self, append(args, "--", arg)...)
	c.Stdout, c.Stderr = log, log
	c.ExtraFiles = []*os.File{w}
	// A fabric that is brought up from a program of another one is no program
	// of that.
	c.Env = launch.Unmarked(os.Environ())
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // survives the terminal
	err = c.Start()
	w.Close()
	if err != nil {
		return nil, fmt.Errorf("start the daemon: %w", err)
	}
	ctx, stop := interruption()
	defer stop()
	told := context.AfterFunc(ctx, func() {
		stop() // the next signal ends this process, whatever the daemon does
		c.Process.Signal(syscall.SIGTERM)
	})
	var ready Ready
	err = json.NewDecoder(r).Decode(&ready)
	if !told() {
		c.Wait()
		return nil, errors.New("interrupted: the fabric is not up")
	}
	if err != nil {
		c.Wait()
		b, _ := io.ReadAll(io.NewSectionReader(log, 0, 1<<20))
		if len(b) == 0 {
			b = []byte("it was killed, by cnuas down perhaps")
		}
		return nil, fmt.Errorf("the daemon ended before the fabric was up: %s", b)
	}
	if ready.Error != "" {
		c.Wait()
		return nil, errors.New(ready.Error)
	}
	return &ready, c.Process.Release()
}

// interruption is a context that ends with a signal that asks this process to
// end. Signals that the caller has it ignore, as nohup does, stay ignored.
func interruption() (context.Context, context.CancelFunc) {
	var l []os.Signal
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			l = append(l, s)
		}
	}
	if len(l) == 0 {
		return context.WithCancel(context.Background())
	}
	return signal.NotifyContext(context.Background(), l...)
}

// memLog takes what the daemon writes until the fabric is up. It is no file: a
// kill -9 leaves none behind, and a full or read-only /tmp does no harm.
func memLog() (*os.File, error) {
	fd, err := unix.MemfdCreate("log", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("log: memfd_create: %w", err)
	}
	return os.NewFile(uintptr(fd), "log"), nil
}

// Background is the other side of Start: the daemon's process, of a fabric whose
// Spec is not loaded yet. It tells on
// descriptor fd when the fabric is up, or why it is not. A vm that is not nil
// runs the fabric in a lab VM. When nobody waits for it any more, because Start
// was killed, the fabric does not come up: it would appear some time after its
// user gave it up, and a VM takes its time.
func Background(arg string, cfg Config, fd int, v *vm.Config) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	syscall.CloseOnExec(fd)
	pipe := os.NewFile(uintptr(fd), "ready")
	unwatch := onUnread(fd, cancel)
	told := false
	tell := func(r *Ready) {
		told = true
		unwatch()
		if err := json.NewEncoder(pipe).Encode(r); err != nil {
			cancel()
		}
		pipe.Close()
	}
	spec, err := topology.Load(arg)
	if err == nil {
		cfg.Spec = spec
		ready := func(r *Ready) {
			keepLog(spec.Name)
			tell(r)
		}
		if v != nil {
			err = runVM(ctx, cfg, arg, *v, ready)
		} else {
			err = run(ctx, cfg, ready)
		}
	}
	if err != nil && !told {
		tell(&Ready{Error: err.Error()})
		return nil
	}
	return err
}

// keepLog gives the log a place beside the control socket, for as long as the
// fabric is up; Start made it where it can be read if the fabric never comes up.
func keepLog(name string) {
	path := filepath.Join(filepath.Dir(Socket(name)), logName)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return
	}
	defer f.Close()
	for _, std := range []int{1, 2} {
		syscall.Dup3(int(f.Fd()), std, 0)
	}
	null, err := os.Open(os.DevNull)
	if err == nil {
		syscall.Dup3(int(null.Fd()), 0, 0)
		null.Close()
	}
}
