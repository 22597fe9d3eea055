package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"cnuas/internal/seccomp"
)

// MaybeChild must be the first call in main: in the stage that becomes the
// program it does not return.
func MaybeChild() {
	if len(os.Args) != 2 || os.Args[1] != stageArg {
		return
	}
	// Namespaces, filter and niceness belong to this thread; the program
	// takes them over because this thread executes it.
	runtime.LockOSThread()
	unix.CloseOnExec(stageFD)
	o, err := readOrder()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cnuas:", err)
		os.Exit(StatusOwnError)
	}
	status, err := o.carryOut()
	say(report{Error: err.Error(), Status: status}, -1)
	os.Exit(status)
}

// readOrder takes what writeAll sent.
func readOrder() (*order, error) {
	buf := make([]byte, 64<<10)
	n, err := unix.Read(stageFD, buf)
	if err != nil {
		return nil, errors.New("this argument is for the program's own use")
	}
	length, err := strconv.Atoi(string(buf[:n]))
	var all []byte
	for err == nil && len(all) < length {
		if n, err = unix.Read(stageFD, buf); err == nil && n == 0 {
			err = errors.New("the supervisor is gone")
		}
		all = append(all, buf[:max(n, 0)]...)
	}
	o := &order{}
	if err == nil {
		err = json.Unmarshal(all, o)
	}
	if err != nil {
		return nil, fmt.Errorf("order of the supervisor: %w", err)
	}
	return o, nil
}

// say sends a report, with a descriptor if fd is not negative.
func say(r report, fd int) bool {
	b, err := json.Marshal(r)
	if err != nil {
		return false
	}
	var oob []byte
	if fd >= 0 {
		oob = unix.UnixRights(fd)
	}
	return unix.Sendmsg(stageFD, b, oob, nil, 0) == nil
}

// carryOut becomes the program; it returns only if it cannot.
func (o *order) carryOut() (status int, err error) {
	nested := o.nested()
	listener := -1
	if !nested {
		if o.Kernel == nil {
			if listener, err = seccomp.Install(seccomp.Verbs()); errors.Is(err, unix.EBUSY) {
				err = errors.New("another supervisor already handles system calls of this process (seccomp user notification): start from outside of it")
			}
		}
		if err == nil {
			err = o.enter()
		}
		if err != nil {
			return StatusOwnError, err
		}
	}
	if !say(report{Nested: nested, Plain: o.Kernel != nil}, listener) {
		return StatusOwnError, errors.New("the supervisor is gone")
	}
	if listener >= 0 {
		unix.Close(listener)
	}
	var b [1]byte
	if n, err := unix.Read(stageFD, b[:]); n != 1 || err != nil {
		os.Exit(StatusOwnError) // the supervisor has said why
	}
	return o.execute()
}

// nested tells whether we are inside a program of this node already, which
// finds everything prepared. Inside one of another node it does not return.
func (o *order) nested() bool {
	there, err := os.ReadFile(marker)
	if err != nil {
		return false
	}
	if string(there) != o.Mark {
		say(report{Error: fmt.Sprintf("this is already inside of node %s: leave it first (exit)", there), Status: StatusOwnError, Other: string(there)}, -1)
		os.Exit(StatusOwnError)
	}
	return true
}

// enter prepares everything that the program will find.
func (o *order) enter() error {
	mask := unix.Umask(0)
	defer unix.Umask(mask)
	for _, step := range []func() error{
		func() error { return enterNetNS(o.NetNS) },
		mountSysfs,
		func() error { return bindEtc(o.NetNS) },
		o.mountView,
		unlimitMemlock,
		func() error { return setNice(o.Nice) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// unlimitMemlock lets programs register any amount of memory: they check the
// limit themselves, though nothing is locked here.
func unlimitMemlock() error {
	l := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &l)
	if err == unix.EPERM { // root without CAP_SYS_RESOURCE, as in containers
		if err = unix.Getrlimit(unix.RLIMIT_MEMLOCK, &l); err == nil {
			l.Cur = l.Max
			err = unix.Setrlimit(unix.RLIMIT_MEMLOCK, &l)
		}
	}
	if err != nil {
		return fmt.Errorf("limit of locked memory: %w", err)
	}
	return nil
}

// setNice makes the calling thread nicer, never less nice.
func setNice(n int) error {
	if n < 0 {
		return nil
	}
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err == nil && 20-raw >= n { // the system call returns 20 minus the niceness
		return nil
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, min(n, 19)); err != nil {
		return fmt.Errorf("niceness: %w", err)
	}
	return nil
}

// execute replaces the process by the program.
func (o *order) execute() (int, error) {
	path, err := exec.LookPath(o.Argv[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			return StatusNotFound, fmt.Errorf("%s: no such program", o.Argv[0])
		}
		return StatusCannotExec, err
	}
	err = unix.Exec(path, o.Argv, os.Environ())
	if err == unix.ENOENT {
		return StatusNotFound, fmt.Errorf("%s: %w", path, err)
	}
	return StatusCannotExec, fmt.Errorf("%s: %w", path, err)
}
