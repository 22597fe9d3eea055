package pty

import (
	"errors"

	"golang.org/x/sys/unix"

	"cnuas/internal/poll"
)

// Flush is what a client has thrown away, by tcflush(3) or TCSAFLUSH; bits.
type Flush uint8

// What may be flushed.
const (
	FlushInput  Flush = 1 << iota // received and not read by the client
	FlushOutput                   // written and not transmitted yet
)

var (
	// ErrNoClient: no client has the terminal open. What the last one wrote is
	// read before this is returned.
	ErrNoClient = errors.New("pty: no client has it open")

	// ErrFull: the client does not read, and what did not fit is lost, as in a
	// UART's driver without room.
	ErrFull = errors.New("pty: the client does not read")

	// ErrEmpty: nothing to read now.
	ErrEmpty = errors.New("pty: nothing to read")
)

// Read takes up to Chunk bytes that clients have written, or tells of a flush. A
// flush comes ahead of the bytes that are written after it. The bytes are
// valid until the next call.
func (p *PTY) Read() ([]byte, Flush, error) {
	n, err := unix.Read(p.master, p.buf[:])
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return nil, 0, ErrEmpty
	case err != nil || n == 0:
		return nil, 0, ErrNoClient
	}
	if c := p.buf[0]; c != unix.TIOCPKT_DATA {
		var f Flush
		if c&unix.TIOCPKT_FLUSHREAD != 0 {
			f |= FlushInput
		}
		if c&unix.TIOCPKT_FLUSHWRITE != 0 {
			f |= FlushOutput
		}
		return nil, f, nil
	}
	return p.buf[1:n], 0, nil
}

// Flushed tells whether Read has a flush to tell of.
func (p *PTY) Flushed() bool {
	got, err := poll.Now(p.master, unix.POLLPRI)
	return err == nil && got&unix.POLLPRI != 0
}

// Write gives b to whoever has the terminal open. It returns how much was
// taken, with ErrNoClient or ErrFull if that is not all: the rest is lost.
func (p *PTY) Write(b []byte) (int, error) {
	if !p.Open() {
		return 0, ErrNoClient
	}
	for n := 0; n < len(b); {
		k, err := unix.Write(p.master, b[n:])
		switch {
		case err == unix.EINTR:
		case err != nil || k <= 0:
			return n, ErrFull
		default:
			n += k
		}
	}
	return len(b), nil
}
