package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

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
	log, err := os.CreateTemp("", "cnuas-log-")
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("log: %w", err)
	}
	defer os.Remove(log.Name())
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
	var ready Ready
	if err := json.NewDecoder(r).Decode(&ready); err != nil {
		c.Wait()
		b, _ := os.ReadFile(log.Name())
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

// Background is the other side of Start: the daemon's process. It tells on
// descriptor fd when the fabric is up, or why it is not. A vm that is not nil
// runs the fabric in a lab VM.
func Background(arg string, scale float64, sm string, fd int, v *vm.Config, log io.Writer) error {
	syscall.CloseOnExec(fd)
	pipe := os.NewFile(uintptr(fd), "ready")
	told := false
	tell := func(r *Ready) {
		told = true
		json.NewEncoder(pipe).Encode(r)
		pipe.Close()
	}
	spec, err := topology.Load(arg)
	if err == nil {
		cfg := Config{Spec: spec, Scale: scale, SM: sm, Log: log}
		ready := func(r *Ready) {
			keepLog(spec.Name)
			tell(r)
		}
		if v != nil {
			err = RunVM(cfg, arg, *v, ready)
		} else {
			err = Run(cfg, ready)
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
