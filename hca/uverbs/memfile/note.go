package memfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// The conversation of a session, over a unix stream socket: the launcher sends
// one byte with the descriptor of the seccomp listener; the daemon answers one
// byte when it listens, and then sends a Note whenever a program opens a device
// or the device is closed. The launcher says nothing more. The end of the
// stream tells the launcher that the daemon has left.

const (
	helloByte = 'L'
	readyByte = 'A'
	noteLen   = 24
)

// Note tells the supervisor of a device that a program has opened or closed.
type Note struct {
	Opened bool
	File   uint64 // inode of the memory file
	PID    int32  // process that opened it
	FD     int    // a descriptor of the memory file if Opened, else -1
}

// SendListener passes the seccomp listener to the daemon.
func SendListener(c *net.UnixConn, fd int) error {
	if _, _, err := c.WriteMsgUnix([]byte{helloByte}, unix.UnixRights(fd), nil); err != nil {
		return fmt.Errorf("pass the listener to the daemon: %w", err)
	}
	return nil
}

// ReceiveListener takes the listener that SendListener sent.
func ReceiveListener(c *net.UnixConn) (int, error) {
	var b [1]byte
	n, fds, err := receive(c, b[:])
	if err != nil {
		return -1, fmt.Errorf("take the launcher's listener: %w", err)
	}
	if n != 1 || b[0] != helloByte || len(fds) != 1 {
		closeAll(fds)
		return -1, errors.New("take the launcher's listener: it sent something else")
	}
	return fds[0], nil
}

// Acknowledge tells the launcher that its programs may start.
func Acknowledge(c *net.UnixConn) error {
	if _, err := c.Write([]byte{readyByte}); err != nil {
		return fmt.Errorf("answer the launcher: %w", err)
	}
	return nil
}

// AwaitReady waits for Acknowledge.
func AwaitReady(c *net.UnixConn) error {
	var b [1]byte
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return fmt.Errorf("the daemon does not answer: %w", err)
	}
	if b[0] != readyByte {
		return errors.New("the daemon answers nonsense")
	}
	return nil
}

// Send sends a note with its descriptor, which stays open here.
func Send(c *net.UnixConn, n Note) error {
	var b [noteLen]byte
	var oob []byte
	if n.Opened {
		b[0] = 1
		oob = unix.UnixRights(n.FD)
	}
	binary.LittleEndian.PutUint32(b[4:], uint32(n.PID))
	binary.LittleEndian.PutUint64(b[8:], n.File)
	if _, _, err := c.WriteMsgUnix(b[:], oob, nil); err != nil {
		return fmt.Errorf("tell the launcher of a device: %w", err)
	}
	return nil
}

// Receive waits for the next note; the descriptor is the caller's. It returns
// io.EOF when the daemon is gone.
func Receive(c *net.UnixConn) (Note, error) {
	var b [noteLen]byte
	got, fds, err := receive(c, b[:])
	for err == nil && got < noteLen { // a stream may be cut anywhere
		var n int
		var more []int
		n, more, err = receive(c, b[got:])
		got, fds = got+n, append(fds, more...)
	}
	if err != nil {
		closeAll(fds)
		return Note{FD: -1}, err
	}
	n := Note{Opened: b[0] == 1, PID: int32(binary.LittleEndian.Uint32(b[4:])), File: binary.LittleEndian.Uint64(b[8:]), FD: -1}
	if n.Opened {
		if len(fds) != 1 {
			closeAll(fds)
			return Note{FD: -1}, errors.New("note of a device without its memory file")
		}
		n.FD = fds[0]
		return n, nil
	}
	closeAll(fds)
	return n, nil
}

// receive reads some bytes and the descriptors that came with them.
func receive(c *net.UnixConn, b []byte) (int, []int, error) {
	oob := make([]byte, unix.CmsgSpace(4*8))
	n, on, _, _, err := c.ReadMsgUnix(b, oob)
	if errors.Is(err, io.EOF) || err == nil && n == 0 {
		return 0, nil, io.EOF
	}
	if err != nil {
		return 0, nil, err
	}
	var fds []int
	msgs, err := unix.ParseSocketControlMessage(oob[:on])
	if err != nil {
		return n, nil, fmt.Errorf("control message: %w", err)
	}
	for _, m := range msgs {
		r, err := unix.ParseUnixRights(&m)
		if err == nil {
			fds = append(fds, r...)
		}
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	return n, fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
