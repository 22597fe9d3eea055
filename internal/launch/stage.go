package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// stageArg is the hidden argument with which the program calls itself as the
// stage that becomes the user's program.
const stageArg = "__cnuas-exec-stage"

// stageFD is the descriptor by which the stage talks to its supervisor.
const stageFD = 3

// stage is the child as its supervisor sees it. The conversation: the
// supervisor sends the order; the stage answers with the seccomp listener, or
// says that it is nested, or what went wrong; the supervisor releases it; the
// stage executes the program, which closes the connection, or says why it
// could not.
type stage struct {
	pid   int
	pidfd int // cannot come to mean another process, as pid can
	conn  *net.UnixConn
}

// order is what the stage has to do.
type order struct {
	Mark            string // fabric and node
	NetNS, SysfsDir string
	Kernel          *KernelDevices `json:",omitempty"`
	Argv            []string
	Nice            int
}

// report is what the stage answers.
type report struct {
	Nested bool   `json:",omitempty"`
	Plain  bool   `json:",omitempty"` // there is no filter, so no listener either
	Error  string `json:",omitempty"`
	Status int    `json:",omitempty"`
	Other  string `json:",omitempty"` // node that the stage is in already
}

// stageError is an error that the stage reported.
type stageError struct {
	text   string
	status int
	nested bool
}

func (e *stageError) Error() string { return e.text }

func (e *stageError) Unwrap() error {
	if e.nested {
		return ErrNested
	}
	return nil
}

// startStage starts the child in the caller's process group, so that the
// terminal treats both as one job.
func startStage(cfg *Config) (*stage, error) {
	// Messages keep their boundaries.
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("talk to the stage: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "stage"), pair[1]
	defer unix.Close(theirs)
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		return nil, fmt.Errorf("talk to the stage: %w", err)
	}
	env := cfg.Env
	if env == nil {
		env = os.Environ()
	}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"cnuas", stageArg}, &syscall.ProcAttr{
		Env: marks(env, cfg), Files: []uintptr{0, 1, 2, uintptr(theirs)},
	})
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("start the stage: %w", err)
	}
	s := &stage{pid: pid, conn: conn.(*net.UnixConn)}
	if s.pidfd, err = unix.PidfdOpen(pid, 0); err != nil {
		s.pidfd = -1
		s.discard()
		return nil, fmt.Errorf("start the stage: pidfd: %w", err)
	}
	nice := cfg.Nice
	if nice == 0 {
		nice = DefaultNice
	}
	b, err := json.Marshal(order{Mark: cfg.Fabric + "/" + cfg.Node, NetNS: cfg.NetNS, SysfsDir: cfg.SysfsDir, Kernel: cfg.Kernel, Argv: cfg.Argv, Nice: nice})
	if err == nil {
		err = writeAll(s.conn, b)
	}
	if err != nil {
		s.discard()
		return nil, fmt.Errorf("instruct the stage: %w", err)
	}
	return s, nil
}

// discard ends a stage that has not become a program.
func (s *stage) discard() {
	_ = unix.Kill(s.pid, unix.SIGKILL) // our own child, not waited for yet
	_, _ = s.wait()
	s.close()
}

func (s *stage) close() {
	s.conn.Close()
	if s.pidfd >= 0 {
		unix.Close(s.pidfd)
	}
}

// signal sends a signal to the program.
func (s *stage) signal(sig unix.Signal) {
	_ = unix.PidfdSendSignal(s.pidfd, sig, nil, 0) // ended already is as good
}

// writeAll sends a message that may be longer than a packet: its length comes
// first.
func writeAll(c *net.UnixConn, b []byte) error {
	const piece = 32 << 10
	if _, err := fmt.Fprintf(c, "%d", len(b)); err != nil {
		return err
	}
	for len(b) > 0 {
		n := min(len(b), piece)
		if _, err := c.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// receive takes one report and the descriptor that came with it, or -1.
func (s *stage) receive() (report, int, error) {
	buf, oob := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4))
	n, on, _, _, err := s.conn.ReadMsgUnix(buf, oob)
	if errors.Is(err, io.EOF) || err == nil && n == 0 {
		return report{}, -1, errEnded
	}
	if err != nil {
		return report{}, -1, fmt.Errorf("the stage ended: %w", err)
	}
	fd := -1
	if msgs, err := unix.ParseSocketControlMessage(oob[:on]); err == nil && len(msgs) > 0 {
		if r, err := unix.ParseUnixRights(&msgs[0]); err == nil && len(r) > 0 {
			fd = r[0]
			unix.CloseOnExec(fd)
		}
	}
	var r report
	if err := json.Unmarshal(buf[:n], &r); err != nil {
		return r, fd, fmt.Errorf("answer of the stage: %w", err)
	}
	return r, fd, nil
}

// errEnded tells that the stage has closed the connection: the program runs.
var errEnded = errors.New("the stage ended")

// prepared waits until the stage is in place.
func (s *stage) prepared() (nested bool, listener int, err error) {
	r, fd, err := s.receive()
	switch {
	case err != nil:
		return false, -1, err
	case r.Error != "":
		return false, -1, &stageError{text: r.Error, status: r.Status, nested: r.Other != ""}
	case !r.Nested && !r.Plain && fd < 0:
		return false, -1, errors.New("the stage sent no listener")
	}
	return r.Nested, fd, nil
}

// release lets the stage execute the program, and returns when it has.
func (s *stage) release() error {
	if _, err := s.conn.Write([]byte{1}); err != nil {
		return fmt.Errorf("release the stage: %w", err)
	}
	r, _, err := s.receive()
	if err == errEnded {
		return nil
	}
	if err != nil {
		return err
	}
	return &stageError{text: strings.TrimSpace(r.Error), status: r.Status}
}

// wait returns the status of the program as a shell states it.
func (s *stage) wait() (int, error) {
	var ws unix.WaitStatus
	for {
		_, err := unix.Wait4(s.pid, &ws, 0, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("wait for the program: %w", err)
		}
		if ws.Signaled() {
			return StatusSignal + int(ws.Signal()), nil
		}
		return ws.ExitStatus(), nil
	}
}
