package pty

import (
	"cnuas/modbus/rtu"

	"golang.org/x/sys/unix"
)

// Mode is what a client has set its port to.
type Mode struct {
	Line rtu.Line

	// Check: characters with errors are to be marked (INPCK). IgnoreBad drops
	// them then (IGNPAR); otherwise they read as NUL, see termios(3).
	Check, IgnoreBad bool

	// Named: the rate has been set by its name (B19200) and not as a number; see
	// Settle.
	Named bool

	// Cooked: the line discipline would alter or echo what it is sent.
	Cooked bool
}

// Rates that rtu.Line allows; what a client asks beyond is noise to all.
const (
	minBaud = 50
	maxBaud = 4000000
	// zeroBaud stands for B0, which asks to hang up; Linux's serial drivers go
	// on at this rate (uart_get_baud_rate).
	zeroBaud = 9600
)

// modeOf reads a termios. A pseudo terminal forces CS8 and clears PARENB, so
// the parity is what INPCK and PARODD say.
func modeOf(t *unix.Termios) Mode {
	m := Mode{Line: rtu.Line{Baud: baud(t.Ospeed), Data: 8, Parity: rtu.None, Stop: 1}}
	if t.Cflag&unix.CSTOPB != 0 {
		m.Line.Stop = 2
	}
	if m.Check = t.Iflag&unix.INPCK != 0; m.Check {
		m.Line.Parity = rtu.Even
		if t.Cflag&unix.PARODD != 0 {
			m.Line.Parity = rtu.Odd
		}
	}
	m.Named = t.Cflag&unix.CBAUD != unix.BOTHER
	m.IgnoreBad = t.Iflag&unix.IGNPAR != 0
	m.Cooked = t.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) != 0 || t.Oflag&unix.OPOST != 0 ||
		t.Iflag&(unix.ISTRIP|unix.INLCR|unix.IGNCR|unix.ICRNL|unix.IUCLC|unix.PARMRK|unix.IXON) != 0
	return m
}

func baud(b uint32) int {
	if b == 0 {
		return zeroBaud
	}
	return min(max(int(b), minBaud), maxBaud)
}

// setRaw is cfmakeraw(3) but for what the client says of the line: rate, stop
// bits, parity and what to do with errors.
func setRaw(t *unix.Termios) {
	t.Iflag &= unix.INPCK | unix.IGNPAR
	t.Oflag, t.Lflag = 0, 0
	t.Cflag |= unix.CREAD | unix.CLOCAL
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
}

// setLine asks for the line as modeOf reads it, and for the rate by its number.
func setLine(t *unix.Termios, l rtu.Line) {
	t.Cflag &^= unix.CBAUD | unix.CBAUD<<unix.IBSHIFT | unix.CSTOPB | unix.PARODD
	t.Cflag |= unix.BOTHER
	t.Ispeed, t.Ospeed = uint32(l.Baud), uint32(l.Baud)
	if l.Stop == 2 {
		t.Cflag |= unix.CSTOPB
	}
	t.Iflag &^= unix.INPCK
	if l.Parity != rtu.None {
		t.Iflag |= unix.INPCK
	}
	if l.Parity == rtu.Odd {
		t.Cflag |= unix.PARODD
	}
}

// setNumber puts the number of the rate in the place of its name. C libraries
// of distributions (Debian's glibc 2.36) let tcsetattr fail with EINVAL if the
// kernel has dropped PARENB, as it does of a pseudo terminal, and nothing else
// has changed: a client that wants 19200 8E1 where the last one had it would be
// refused. Where the rate stands by its number, the name is a change.
func setNumber(t *unix.Termios) {
	l := modeOf(t).Line
	t.Cflag = t.Cflag&^(unix.CBAUD|unix.CBAUD<<unix.IBSHIFT) | unix.BOTHER
	t.Ispeed, t.Ospeed = uint32(l.Baud), uint32(l.Baud)
}
