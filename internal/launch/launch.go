// Package launch starts a program inside a node of a fabric, in the node's
// network namespace and with its verbs devices, and supervises it. It is the
// client's side of `cnuas exec`; the daemon's side is package uverbs.
//
// The process that calls Exec stays as the supervisor. It starts itself again
// as the stage that becomes the program: that stage enters the namespaces,
// puts the views of the verbs devices over /sys/class and /dev/infiniband,
// installs the seccomp filter and executes the program.
package launch

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/hca/uverbs/memfile"
)

// Exit statuses that are the launcher's own, as a shell and env(1) use them.
const (
	StatusOwnError   = 125 // the launcher itself failed; Exec returns the error too
	StatusCannotExec = 126 // the program is there and cannot be executed
	StatusNotFound   = 127 // there is no such program
	StatusSignal     = 128 // plus the signal that ended the program
)

// DefaultNice keeps programs from taking the core from the fabric's thread,
// which needs little of it but at once: it took the 99.9th percentile of a
// round trip from 2 ms to 30 us.
const DefaultNice = 19

// Config says what to start and where.
type Config struct {
	// Conn is the connection to the daemon after it has agreed to serve the
	// node: it now belongs to package uverbs there and to Exec here. Nothing
	// may have been read ahead from it.
	Conn *net.UnixConn

	Fabric string // name of the fabric, for messages and nested calls
	Node   string // name of the node

	NetNS    string // path of the network namespace, "/run/netns/h1"
	SysfsDir string // directory that uverbs.WriteSysfs filled: one directory per class

	// Kernel are the node's devices where the kernel itself drives them; the
	// program then talks to the kernel and SysfsDir is not used.
	Kernel *KernelDevices

	Argv []string // program and arguments; the program is looked up in PATH
	Env  []string // nil: the present environment
	Nice int      // 0: DefaultNice; negative: leave as it is
}

// ErrNested is returned by Exec when it runs inside a program that another
// node's, or another fabric's, Exec started.
var ErrNested = errors.New("already inside another node's programs")

// answerTime bounds how long the daemon may take to accept a session.
const answerTime = 10 * time.Second

// Exec runs the program and returns when it has ended, with the status to exit
// with. The error says why the launcher itself failed; the status is then
// StatusOwnError, StatusCannotExec or StatusNotFound. It needs root.
//
// While the program runs, signals sent to the calling process are passed on.
// When the daemon goes away, programs that use its devices get completions in
// error, and those that still hold a device after 4 s are ended.
func Exec(cfg Config) (status int, err error) {
	defer cfg.Conn.Close()
	if len(cfg.Argv) == 0 {
		return StatusOwnError, fmt.Errorf("exec on %s: no program", cfg.Node)
	}
	if os.Geteuid() != 0 {
		return StatusOwnError, fmt.Errorf("exec on %s: namespaces and mounts need root: use sudo", cfg.Node)
	}
	sig := catchSignals()
	defer sig.stop()
	child, err := startStage(&cfg)
	if err != nil {
		return StatusOwnError, fmt.Errorf("exec on %s: %w", cfg.Node, err)
	}
	sup := newSupervisor(&cfg)
	if err := child.admit(&cfg, sup); err != nil {
		child.discard()
		var own *stageError
		if errors.As(err, &own) && own.status != 0 {
			return own.status, fmt.Errorf("exec on %s: %w", cfg.Node, err)
		}
		return StatusOwnError, fmt.Errorf("exec on %s: %w", cfg.Node, err)
	}
	defer child.close()
	sig.passTo(child.signal)
	status, err = child.wait()
	sup.close()
	if err != nil {
		return StatusOwnError, fmt.Errorf("exec on %s: %w", cfg.Node, err)
	}
	return status, nil
}

// admit brings the stage and the daemon together and lets the program start.
func (c *stage) admit(cfg *Config, sup *supervisor) error {
	nested, listener, err := c.prepared()
	if err != nil {
		return err
	}
	if !nested && cfg.Kernel == nil {
		err := memfile.SendListener(cfg.Conn, listener)
		// Were it kept here, programs would wait for ever after the daemon's
		// end instead of getting ENOSYS.
		unix.Close(listener)
		if err != nil {
			return err
		}
		if err := cfg.Conn.SetReadDeadline(time.Now().Add(answerTime)); err != nil {
			return err
		}
		if err := memfile.AwaitReady(cfg.Conn); err != nil {
			return err
		}
		if err := cfg.Conn.SetReadDeadline(time.Time{}); err != nil {
			return err
		}
	}
	if !nested {
		sup.start()
	}
	return c.release()
}
