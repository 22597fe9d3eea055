package port

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"cnuas/modbus/rtu"

	"github.com/goburrow/serial"
)

// Port is an open serial port. It is not safe for concurrent use.
type Port struct {
	path string
	line rtu.Line
	s    serial.Port
	idle int // reads in a row that gave neither bytes nor an error
}

var (
	// ErrTimeout: nothing came in time.
	ErrTimeout = errors.New("no answer in time")
	// ErrNoise: something came that is no frame.
	ErrNoise = errors.New("noise on the line")
	// ErrHangup: the other end is gone for good.
	ErrHangup = errors.New("the port has hung up: unplugged, or its emulator has ended")
)

const (
	// slice is how long one Read waits, and so how exact a deadline is.
	slice = 5 * time.Millisecond
	// hangup is how many empty reads in a row are a hang-up. A few can happen
	// when another process flushes what select has announced.
	hangup = 16
	// selectable is where descriptors end that select(2) can watch (FD_SETSIZE).
	selectable = 1024
)

// Open opens the port at a line: 7 or 8 data bits, a rate that termios(3) has a
// name for. The port gets its former settings back when it is closed.
func Open(path string, l rtu.Line) (*Port, error) {
	p := &Port{path: path, line: l}
	if err := p.open(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Port) open() error {
	l := p.line
	if l.Data < 7 || l.Data > 8 || l.Stop < 1 || l.Stop > 2 || l.Parity > rtu.Even {
		return fmt.Errorf("port %s: %v is no serial line: 7 or 8 data bits, 1 or 2 stop bits", p.path, l)
	}
	if l.Baud <= 0 { // which would mean 19200
		return fmt.Errorf("port %s: %d baud: give a positive rate, such as 19200", p.path, l.Baud)
	}
	s, err := serial.Open(&serial.Config{
		Address: p.path, BaudRate: l.Baud, DataBits: int(l.Data), StopBits: int(l.Stop),
		Parity: string("NOE"[l.Parity]), Timeout: slice,
	})
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("port %s: %w: name a serial port, such as /dev/ttyUSB0 or what \"cnuas rack tty\" prints", p.path, err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("port %s: %w: run as root, or as a member of the port's group", p.path, err)
	case err != nil:
		return fmt.Errorf("port %s at %v: %w (it must be a terminal, at a named rate such as 19200, 57600 or 115200)", p.path, l, err)
	}
	if err := watchable(p.path); err != nil {
		s.Close()
		return fmt.Errorf("port %s: %w", p.path, err)
	}
	p.s, p.idle = s, 0
	return nil
}

// watchable refuses a port whose descriptor is too high for select(2): Read
// would watch another one. The library does not tell its descriptor, but the
// kernel tells which of ours is the port.
func watchable(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	es, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range es {
		n, err := strconv.Atoi(e.Name())
		if err != nil || n < selectable {
			continue
		}
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && to == real {
			return fmt.Errorf("descriptor %d: open the port before %d other files are open", n, selectable)
		}
	}
	return nil
}

// Line is what the port is set to.
func (p *Port) Line() rtu.Line { return p.line }

// SetLine sets another line. The library can only do so by closing the port
// and opening it again: what has arrived and was not read is lost.
func (p *Port) SetLine(l rtu.Line) error {
	if l == p.line && p.s != nil {
		return nil
	}
	if err := p.Close(); err != nil {
		return err
	}
	p.line = l
	return p.open()
}

// Close closes the port; closing it again does nothing.
func (p *Port) Close() error {
	if p.s == nil {
		return nil
	}
	s := p.s
	p.s = nil
	if err := s.Close(); err != nil {
		return fmt.Errorf("port %s: close: %w", p.path, err)
	}
	return nil
}

// Read waits for bytes until the deadline, to within 5 ms, and returns how many
// it has read, at least one, or ErrTimeout or ErrHangup.
func (p *Port) Read(b []byte, deadline time.Time) (int, error) {
	if p.s == nil {
		return 0, fmt.Errorf("port %s: %w", p.path, os.ErrClosed)
	}
	for {
		n, err := p.s.Read(b)
		switch {
		case n > 0:
			p.idle = 0
			return n, nil
		case err == nil:
			if p.idle++; p.idle >= hangup {
				return 0, fmt.Errorf("port %s: %w", p.path, ErrHangup)
			}
		case errors.Is(err, serial.ErrTimeout):
			p.idle = 0
		case !again(err):
			return 0, fmt.Errorf("port %s: read: %w", p.path, err)
		}
		if !time.Now().Before(deadline) {
			return 0, ErrTimeout
		}
	}
}

// Write writes all of b, or returns why not. It gives up at the deadline if
// the driver does not take the bytes.
func (p *Port) Write(b []byte, deadline time.Time) error {
	if p.s == nil {
		return fmt.Errorf("port %s: %w", p.path, os.ErrClosed)
	}
	for len(b) > 0 {
		n, err := p.s.Write(b)
		if n > 0 {
			b = b[n:]
			continue
		}
		if err != nil && !again(err) {
			return fmt.Errorf("port %s: write: %w", p.path, err)
		}
		if !time.Now().Before(deadline) {
			return fmt.Errorf("port %s: write: %w", p.path, ErrTimeout)
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// Drain reads and forgets until the line has been silent for 5 ms, at most for
// the time given: a line that never falls silent is noise.
func (p *Port) Drain(limit time.Duration) error {
	var b [256]byte
	for end := time.Now().Add(limit); time.Now().Before(end); {
		_, err := p.Read(b[:], time.Time{})
		if errors.Is(err, ErrTimeout) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
