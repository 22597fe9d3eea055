package vm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/internal/vm/agent"
)

const (
	// bootLimit is how long a guest may take until it answers.
	bootLimit = 90 * time.Second
	// offLimit is how long a guest may take to power off.
	offLimit = 5 * time.Second
)

// Stream is a byte stream to the agent in the guest.
type Stream interface {
	io.ReadWriteCloser
	// CloseWrite tells the guest that no more bytes come; reading goes on.
	CloseWrite() error
}

// Machine is a VM that runs.
type Machine struct {
	cfg     Config
	cmd     *exec.Cmd
	child   *Process
	session *agent.Session
	console *Tail // the guest's kernel
	said    *Tail // QEMU
	accel   string
	hello   *agent.Hello
}

// Start boots a VM and returns when its agent answers. It takes seconds;
// cancelling ctx before it returns ends the VM, afterwards ctx has no meaning.
// The error has the end of the guest's console.
func Start(ctx context.Context, cfg Config) (*Machine, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	path, err := qemu()
	if err != nil {
		return nil, err
	}
	accel := cfg.Accel
	if accel == "" {
		if accel, _, err = Accelerator(ctx); err != nil {
			return nil, err
		}
	}
	m, err := again(cfg.logf, func() (*Machine, error) { return bootOnce(ctx, path, accel, cfg) })
	if err != nil {
		return nil, err
	}
	for _, w := range m.hello.Warnings {
		cfg.logf("lab VM: %s", w)
	}
	return m, nil
}

// bootOnce boots a VM.
func bootOnce(ctx context.Context, path, accel string, cfg Config) (*Machine, error) {
	m := &Machine{cfg: cfg, accel: accel, console: NewTail(8192), said: NewTail(2048)}
	if err := m.start(path, &cfg); err != nil {
		return nil, err
	}
	if err := m.greet(ctx); err != nil {
		m.kill()
		return nil, err
	}
	return m, nil
}

// start starts QEMU.
func (m *Machine) start(path string, cfg *Config) error {
	const portFD, initrdFD, kernelFD = 3, 4, 5 // in QEMU, by their order in ExtraFiles
	initrd, err := MemFile("initramfs", nil)
	if err != nil {
		return err
	}
	defer initrd.Close()
	if err := writeInitramfs(initrd, cfg); err != nil {
		return err
	}
	image, kernel, err := cfg.Kernel.kernelFile(kernelFD)
	if err != nil {
		return err
	}
	ours, theirs, err := portPair()
	if err != nil {
		return err
	}
	defer theirs.Close()
	m.cmd = exec.Command(path, arguments(cfg, m.accel, image, portFD, initrdFD)...)
	m.cmd.ExtraFiles = []*os.File{theirs, initrd}
	if kernel != nil {
		defer kernel.Close()
		m.cmd.ExtraFiles = append(m.cmd.ExtraFiles, kernel)
	}
	if m.child, err = StartProcess(m.cmd, m.console, m.said); err != nil {
		ours.Close()
		return fmt.Errorf("lab VM: %w", err)
	}
	if m.session, err = agent.NewSession(ours); err != nil {
		ours.Close()
		m.cmd.Process.Kill()
		return fmt.Errorf("lab VM: %w", err)
	}
	return nil
}

// portPair makes the two ends of the serial port: there is no socket in the
// file system that others could find.
func portPair() (ours net.Conn, theirs *os.File, err error) {
	fd, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("lab VM: socketpair: %w", err)
	}
	f := os.NewFile(uintptr(fd[0]), "port")
	defer f.Close()
	theirs = os.NewFile(uintptr(fd[1]), "port")
	if ours, err = net.FileConn(f); err != nil {
		theirs.Close()
		return nil, nil, fmt.Errorf("lab VM: %w", err)
	}
	return ours, theirs, nil
}

// greet waits for the agent.
func (m *Machine) greet(ctx context.Context) error {
	type answer struct {
		h   *agent.Hello
		err error
	}
	got := make(chan answer, 1)
	go func() {
		s, err := m.session.Open()
		if err != nil {
			got <- answer{nil, err}
			return
		}
		h, err := agent.Greet(s)
		got <- answer{h, err}
	}()
	limit := time.NewTimer(bootLimit)
	defer limit.Stop()
	select {
	case a := <-got:
		if a.err == nil {
			m.hello = a.h
			return nil
		}
		// The port ended: QEMU has more to say about why when it has ended too.
		select {
		case <-m.child.done:
		case <-time.After(offLimit):
		}
		return m.died()
	case <-m.child.done:
		return m.died()
	case <-limit.C:
		return fmt.Errorf("lab VM: no answer within %v%s", bootLimit, m.lastWords())
	case <-ctx.Done():
		return fmt.Errorf("lab VM: %w", ctx.Err())
	}
}

func (m *Machine) died() error {
	how := "still runs, but its port ended"
	select {
	case <-m.child.done:
		how = "ended"
		if m.child.err != nil {
			how = m.child.err.Error()
		}
	default:
	}
	err := fmt.Errorf("lab VM: QEMU (%s) %s while booting%s%s", m.accel, how, m.lastWords(), kernelRemedy(m.cfg.Kernel, m.said.String()))
	if m.accel == "tcg" && stalePatch(m.console.String()) {
		return &stalePatchError{err}
	}
	return err
}

// lastWords is what QEMU and the guest's kernel wrote last.
func (m *Machine) lastWords() string {
	s := ""
	if t := m.said.String(); t != "" {
		s += "; QEMU said:\n" + t
	}
	if t := m.console.String(); t != "" {
		s += "; the end of its console:\n" + t
	}
	return s
}

// Open gives a fresh stream to the agent, for agent.Exec, Dial, Put or Get.
func (m *Machine) Open() (Stream, error) {
	s, err := m.session.Open()
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Done is closed when the VM has ended.
func (m *Machine) Done() <-chan struct{} { return m.child.done }

// Accelerator is what the VM runs on: "kvm" or "tcg".
func (m *Machine) Accelerator() string { return m.accel }

// Hello is what the guest told about itself when it was ready.
func (m *Machine) Hello() agent.Hello { return *m.hello }

// Console is the end of what the guest's kernel wrote, at most some kilobytes.
func (m *Machine) Console() string { return m.console.String() }

// Close asks the guest to power off, and ends QEMU if it does not within
// seconds. When it returns nothing of the VM is left.
func (m *Machine) Close() error {
	select {
	case <-m.child.done:
	default:
		if s, err := m.session.Open(); err == nil {
			agent.PowerOff(s)
		}
		select {
		case <-m.child.done:
		case <-time.After(offLimit):
		}
	}
	return m.kill()
}

func (m *Machine) kill() error {
	m.cmd.Process.Kill() // an error: it has ended
	m.session.Close()
	select {
	case <-m.child.done:
		return nil
	case <-time.After(offLimit):
		return errors.New("lab VM: QEMU does not die; is it stopped by a debugger?")
	}
}
