package bmc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/internal/vm"
)

// Config says what guest to start.
type Config struct {
	Name    string // its host name
	Dir     string // an existing directory of its own: sockets, and the log of the console
	Image   string // flash image; "": the stand-in
	Machine string // QEMU's name of the board; the stand-in has StandInMachine
	MAC     string // of its NIC, "02:02:01:00:00:01"
	Addr    netip.Prefix
	// Net is QEMU's end of a socket of datagrams that are Ethernet frames; nil:
	// the guest has no network. Start closes it.
	Net     *os.File
	Bridges int // FT4232H to plug in, 0 to 3
	Log     func(format string, args ...any)
}

// maxBridges: the root hub has 6 ports, and the rack's BMCs have three.
const maxBridges = 3

func (c *Config) usbSocket(i int) string { return filepath.Join(c.Dir, fmt.Sprintf("usb%d", i)) }

func standInPath(name string) string { return filepath.Join(standIn.Dir(), name) }

// Guest is a guest that runs.
type Guest struct {
	cfg     Config
	cmd     *exec.Cmd
	process *vm.Process
	said    *vm.Tail // by QEMU
	console *Console
	shell   *shell // nil: it has none
	began   time.Time

	mu    sync.Mutex
	ready time.Duration // 0: not yet
}

// Start starts a guest. It returns as soon as QEMU runs with it: Ready waits for
// the stand-in. The error names the remedy.
func Start(ctx context.Context, c Config) (*Guest, error) {
	if c.Net != nil {
		defer c.Net.Close() // also where QEMU has not come to inherit it
	}
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	g, err := start(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("BMC %s: %w", c.Name, err)
	}
	return g, nil
}

func (c *Config) complete(ctx context.Context) error {
	if c.Bridges < 0 || c.Bridges > maxBridges {
		return fmt.Errorf("%d FT4232H bridges: up to %d are possible", c.Bridges, maxBridges)
	}
	// A path of a unix socket has at most 107 bytes.
	if p := c.usbSocket(0); len(p) > 107 {
		return fmt.Errorf("the path %s is too long for a socket; use a shorter directory (CNUAS_RUN_DIR)", p)
	}
	if c.Machine == "" {
		c.Machine = StandInMachine
	}
	if c.Image == "" {
		if c.Machine != StandInMachine {
			return fmt.Errorf("the stand-in boots on %s only, not on %s; name a flash image of that machine: cnuas bmc up --image FILE", StandInMachine, c.Machine)
		}
		if !standIn.Here() {
			return errNotFetched
		}
		return nil
	}
	return checkMachine(ctx, c.Machine)
}

func start(ctx context.Context, c Config) (*Guest, error) {
	path, err := qemu()
	if err != nil {
		return nil, err
	}
	if err := c.complete(ctx); err != nil {
		return nil, err
	}
	g := &Guest{cfg: c, said: vm.NewTail(4096), began: time.Now()}
	if err = g.launch(path); err == nil {
		err = g.runs(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, g.close())
	}
	if g.shell != nil {
		go g.greet()
	}
	return g, nil
}

// legacy is what QEMU inherits; our copies are closed when it has started.
type legacy struct {
	files
	all []*os.File
}

func (l *legacy) add(f *os.File) (fd int) {
	l.all = append(l.all, f)
	return 2 + len(l.all)
}

// line adds a serial line and returns our end of it.
func (l *legacy) line() (ours net.Conn, fd int, err error) {
	ours, theirs, err := pair()
	if err != nil {
		return nil, 0, err
	}
	return ours, l.add(theirs), nil
}

func (l *legacy) close() {
	for _, f := range l.all {
		f.Close()
	}
}

// launch starts QEMU.
func (g *Guest) launch(path string) (err error) {
	c := &g.cfg
	l := &legacy{}
	defer l.close()
	tty, fd, err := l.line()
	if err != nil {
		return err
	}
	if g.console, err = newConsole(tty, filepath.Join(c.Dir, consoleLog)); err != nil {
		tty.Close()
		return err
	}
	l.console = fd
	var fmc flash
	if c.Image == "" {
		err = g.prepareStandIn(l)
	} else {
		var file *os.File
		if file, fmc, err = copyFlash(c.Image); err == nil {
			l.flash = l.add(file)
		}
	}
	if err != nil {
		return err
	}
	if c.Net != nil {
		l.net = l.add(c.Net)
	}
	g.cmd = exec.Command(path, arguments(c, l.files, fmc)...)
	g.cmd.ExtraFiles = l.all
	p, err := vm.StartProcess(g.cmd, g.said, g.said)
	if err == nil {
		g.process = p
	}
	return err
}

// prepareStandIn makes what the stand-in has and an image has not: its root, and
// the line to its shell.
func (g *Guest) prepareStandIn(l *legacy) error {
	initrd, err := vm.MemFile("initramfs", nil)
	if err != nil {
		return err
	}
	l.initrd = l.add(initrd)
	k, err := writeRoot(initrd, standIn.Dir())
	if err != nil {
		return fmt.Errorf("the stand-in in %s: %w; remove that directory, and the next start fetches it again", standIn.Dir(), err)
	}
	conn, fd, err := l.line()
	if err != nil {
		return err
	}
	l.shell, g.shell = fd, newShell(conn, k)
	return nil
}

// pair makes the two ends of a serial line.
func pair() (ours net.Conn, theirs *os.File, err error) {
	fd, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	f := os.NewFile(uintptr(fd[0]), "serial")
	defer f.Close()
	theirs = os.NewFile(uintptr(fd[1]), "serial")
	if ours, err = net.FileConn(f); err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// startLimit is how long QEMU may take until it listens for the bridges, or
// without any until it is taken to run.
const startLimit = 20 * time.Second

// runs waits until QEMU has read its arguments, which shows by its sockets, or
// by that it has not ended at once.
func (g *Guest) runs(ctx context.Context) error {
	const look = 20 * time.Millisecond
	limit := time.Now().Add(startLimit)
	if g.cfg.Bridges == 0 {
		limit = time.Now().Add(500 * time.Millisecond)
	}
	for {
		select {
		case <-g.process.Done():
			return g.died()
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(look):
		}
		if g.cfg.Bridges > 0 {
			if _, err := os.Stat(g.cfg.usbSocket(g.cfg.Bridges - 1)); err == nil {
				return nil
			}
		}
		if time.Now().After(limit) {
			if g.cfg.Bridges == 0 {
				return nil
			}
			return fmt.Errorf("QEMU does not listen for the USB bridges within %v%s", startLimit, g.lastWords())
		}
	}
}

func (g *Guest) died() error {
	how := "has ended"
	if err := g.process.Err(); err != nil {
		how = "ended: " + err.Error()
	}
	err := fmt.Errorf("QEMU %s%s", how, g.lastWords())
	if r := remedy(g.said.String()); r != "" {
		err = fmt.Errorf("%w\n%s", err, r)
	}
	return err
}

// lastWords is what QEMU and the guest have said last.
func (g *Guest) lastWords() (s string) {
	var said []string
	for l := range strings.Lines(g.said.String()) {
		// The boards have more NICs than we use.
		if !strings.Contains(l, "has no peer") {
			said = append(said, strings.TrimSpace(l))
		}
	}
	if len(said) > 0 {
		s += "; QEMU said:\n" + strings.Join(said, "\n")
	}
	if t := g.console.Tail(); t != "" {
		s += "; the end of the console:\n" + t
	}
	return s
}

// greet waits for the stand-in's shell.
func (g *Guest) greet() {
	if err := g.shell.connect(); err != nil {
		g.cfg.Log("BMC %s: %v", g.cfg.Name, err)
		return
	}
	g.mu.Lock()
	g.ready = time.Since(g.began)
	g.mu.Unlock()
	g.cfg.Log("BMC %s: the stand-in is ready after %.1f s", g.cfg.Name, g.ready.Seconds())
}

// Ready waits until commands can be run in the stand-in. The error, that the
// guest has ended or ctx has, has the end of its console.
func (g *Guest) Ready(ctx context.Context) error {
	if g.shell == nil {
		return nil
	}
	select {
	case <-g.shell.up:
		return nil
	case <-g.process.Done():
		return fmt.Errorf("BMC %s: %w", g.cfg.Name, g.died())
	case <-ctx.Done():
		return fmt.Errorf("BMC %s: %w%s", g.cfg.Name, ctx.Err(), g.lastWords())
	}
}

// Done is closed when the guest has ended.
func (g *Guest) Done() <-chan struct{} { return g.process.Done() }

// Err is why it has ended.
func (g *Guest) Err() error { return g.died() }

// Console of the guest.
func (g *Guest) Console() *Console { return g.console }

// USBSocket is where QEMU listens for the peer of a bridge.
func (g *Guest) USBSocket(i int) string { return g.cfg.usbSocket(i) }

// Status of a guest.
type Status struct {
	Name, Machine, Image string
	PID                  int
	Seconds              float64 // since the start
	Ready                float64 // seconds from the start until the stand-in's shell answered; 0: not yet, or no stand-in
	MAC                  string
	Addr                 string // "": it is told none
	ConsoleLog           string // path
}

// Status tells how the guest is.
func (g *Guest) Status() Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := Status{
		Name: g.cfg.Name, Machine: g.cfg.Machine, Image: g.cfg.Image, PID: g.cmd.Process.Pid,
		Seconds: time.Since(g.began).Seconds(), Ready: g.ready.Seconds(), ConsoleLog: g.console.path,
	}
	if g.cfg.Net != nil {
		s.MAC = g.cfg.MAC
		if g.cfg.Addr.IsValid() {
			s.Addr = g.cfg.Addr.String()
		}
	}
	return s
}

// Close ends the guest at once, as pulling its plug does. When it returns
// nothing of it is left.
func (g *Guest) Close() error {
	err := g.close()
	for i := range g.cfg.Bridges {
		os.Remove(g.cfg.usbSocket(i))
	}
	return err
}

func (g *Guest) close() error {
	if g.shell != nil {
		g.shell.close()
	}
	var err error
	if g.process != nil {
		g.cmd.Process.Kill() // an error: it has ended
		select {
		case <-g.process.Done():
		case <-time.After(10 * time.Second):
			err = errors.New("QEMU does not die; is it stopped by a debugger?")
		}
	}
	if g.console != nil {
		err = errors.Join(err, g.console.Close())
	}
	return err
}
