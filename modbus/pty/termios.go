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

// setLine asks for the line as modeOf reads it. A standard rate goes by its
// name: a client that saves and restores the termios by the calls without
// rates (TCGETS, TCSETS) would lose any other.
func setLine(t *unix.Termios, l rtu.Line) {
	t.Cflag &^= unix.CBAUD | unix.CBAUD<<unix.IBSHIFT | unix.CSTOPB | unix.PARODD
	rate, ok := named[l.Baud]
	if !ok {
		rate = unix.BOTHER
	}
	t.Cflag |= rate
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

// named are the rates that have a name in termios(3).
var named = map[int]uint32{
	50: unix.B50, 75: unix.B75, 110: unix.B110, 134: unix.B134, 150: unix.B150, 200: unix.B200, 300: unix.B300,
	600: unix.B600, 1200: unix.B1200, 1800: unix.B1800, 2400: unix.B2400, 4800: unix.B4800, 9600: unix.B9600,
	19200: unix.B19200, 38400: unix.B38400, 57600: unix.B57600, 115200: unix.B115200, 230400: unix.B230400,
	460800: unix.B460800, 500000: unix.B500000, 576000: unix.B576000, 921600: unix.B921600, 1000000: unix.B1000000,
	1152000: unix.B1152000, 1500000: unix.B1500000, 2000000: unix.B2000000, 2500000: unix.B2500000,
	3000000: unix.B3000000, 3500000: unix.B3500000, 4000000: unix.B4000000,
}
