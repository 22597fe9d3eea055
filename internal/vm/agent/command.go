package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// defaultPath is PATH where neither the request nor the guest sets one.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// startError says why a command was not started, and with which status that
// is told.
type startError struct {
	status int
	err    error
}

func (e *startError) Error() string { return e.err.Error() }

// process is a command that runs.
type process struct {
	pid    int
	ended  <-chan syscall.WaitStatus
	tty    *os.File // the terminal, or nil
	stdin  *os.File // what the command reads; the terminal itself
	stdout *os.File // what it writes; the terminal itself
	stderr *os.File // nil with a terminal
}

// start runs the command in a session of its own, so that it can be ended with
// all that it started.
func (c *Command) start(run *starter, base []string) (*process, error) {
	env := c.environment(base)
	dir := c.Dir
	if dir == "" {
		dir = value(env, "HOME", "/")
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		if c.Dir != "" {
			return nil, &startError{StatusCannotRun, fmt.Errorf("exec %s: there is no directory %s", c.Argv[0], dir)}
		}
		dir = "/"
	}
	path, err := lookPath(c.Argv[0], dir, env)
	if err != nil {
		return nil, err
	}
	p, child, err := c.open()
	if err != nil {
		return nil, &startError{StatusCannotRun, fmt.Errorf("exec %s: %w", c.Argv[0], err)}
	}
	a := &syscall.ProcAttr{Dir: dir, Env: env, Sys: &syscall.SysProcAttr{Setsid: true, Setctty: c.TTY, Ctty: 0}}
	for _, f := range child {
		a.Files = append(a.Files, f.Fd())
	}
	p.pid, p.ended, err = run.start(path, c.Argv, a)
	for _, f := range child {
		f.Close()
	}
	if err != nil {
		p.close()
		return nil, &startError{StatusCannotRun, fmt.Errorf("exec %s: %w", path, err)}
	}
	return p, nil
}

// open makes the three files of the command and our ends of them.
func (c *Command) open() (p *process, child []*os.File, err error) {
	p = &process{}
	if c.TTY {
		master, slave, err := openTerminal()
		if err != nil {
			return nil, nil, fmt.Errorf("terminal: %w", err)
		}
		p.tty, p.stdin, p.stdout = master, master, master
		if c.Rows > 0 && c.Cols > 0 {
			p.resize(c.Rows, c.Cols)
		}
		// Three descriptors, one file: each is closed once.
		return p, []*os.File{slave, slave, slave}, nil
	}
	for i, ours := range []**os.File{&p.stdin, &p.stdout, &p.stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			p.close()
			for _, f := range child {
				f.Close()
			}
			return nil, nil, err
		}
		if i == 0 {
			*ours, child = w, append(child, r)
		} else {
			*ours, child = r, append(child, w)
		}
	}
	return p, child, nil
}

// openTerminal opens a terminal whose our end has deadlines, which package pty
// takes from it.
func openTerminal() (ours, theirs *os.File, err error) {
	f, theirs, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), theirs, nil
}

// resize sets the size of the terminal, if there is one. Its foreground
// processes get SIGWINCH.
func (p *process) resize(rows, cols uint16) {
	if p.tty == nil {
		return
	}
	if raw, err := p.tty.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols}) })
	}
}

func (p *process) close() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if f != nil {
			f.Close() // a second close of the terminal is an error that says so
		}
	}
}

func (p *process) outputs() []io.Reader {
	if p.stderr == nil {
		return []io.Reader{p.stdout}
	}
	return []io.Reader{p.stdout, p.stderr}
}

// environment is base with the command's own variables over it.
func (c *Command) environment(base []string) []string {
	over := c.Env
	if c.TTY && c.Term != "" {
		over = append([]string{"TERM=" + c.Term}, over...)
	}
	env := append([]string(nil), base...)
	for _, kv := range over {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		i := 0
		for i < len(env) && !strings.HasPrefix(env[i], name+"=") {
			i++
		}
		if i == len(env) {
			env = append(env, kv)
		} else {
			env[i] = kv
		}
	}
	return env
}

func value(env []string, name, otherwise string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok && v != "" {
			return v
		}
	}
	return otherwise
}

// lookPath finds a program as a shell in dir would.
func lookPath(name, dir string, env []string) (string, error) {
	dirs := []string{dir}
	if !strings.Contains(name, "/") {
		dirs = filepath.SplitList(value(env, "PATH", defaultPath))
	}
	var found error
	for _, d := range dirs {
		p := name
		if !filepath.IsAbs(p) {
			p = filepath.Join(d, p)
		}
		st, err := os.Stat(p)
		switch {
		case err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0:
			return p, nil
		case err == nil && st.IsDir():
			found = syscall.EISDIR
		case err == nil:
			found = syscall.EACCES
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			found = err
		}
	}
	if found != nil {
		return "", &startError{StatusCannotRun, fmt.Errorf("exec %s: %w", name, found)}
	}
	return "", &startError{StatusNotFound, fmt.Errorf("exec %s: there is no such program", name)}
}
