package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// A frame is a type, a length and that many bytes:
//
//	 0        1                                   5
//	+--------+-----------------------------------+---------
//	|  type  |  length, 32 bits, big endian      | payload
//	+--------+-----------------------------------+---------
const frameHeader = 5

// maxFrame is the longest payload, in bytes.
const maxFrame = 64 << 10

// chunk is how much of a stream goes into one frame, in bytes.
const chunk = 32 << 10

// Types of frames. The host sends the first four, the guest the next five;
// files use the last two.
const (
	frameStdin     = 'i' // bytes for the command's standard input
	frameStdinEOF  = 'e' // no more of them
	frameSignal    = 's' // 4 bytes: number of a signal
	frameResize    = 'w' // 2 bytes rows, 2 bytes columns
	frameStdout    = 'o' // bytes of its standard output, or of its terminal
	frameStderr    = 'r' // bytes of its standard error
	frameCredit    = 'c' // 4 bytes: that many bytes of input more may be sent
	frameStdinDone = 'd' // the command reads no more input
	frameExit      = 'x' // JSON, exit; the last frame
	frameData      = 'f' // bytes of a file
	frameEnd       = 'z' // its end; the payload, if any, is the error that cut it short
)

// stdinWindow is how many bytes of input may be under way to a command that
// does not read them. The guest keeps them, so that a signal sent after them
// arrives all the same. It is below yamux's window (256 KiB) so that input
// never blocks a stream.
const stdinWindow = 128 << 10

// exit is the payload of the exit frame.
type exit struct {
	Status int    `json:"status"`
	Error  string `json:"error,omitempty"` // why the command was not started
}

// frameWriter writes frames from several goroutines.
type frameWriter struct {
	mu  sync.Mutex
	w   io.Writer
	buf []byte
}

func (f *frameWriter) write(typ byte, payload []byte) error {
	if len(payload) > maxFrame {
		return fmt.Errorf("frame of %d bytes, at most %d are possible", len(payload), maxFrame)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	// Header and payload in one write: each is a message through the port.
	f.buf = append(f.buf[:0], typ)
	f.buf = binary.BigEndian.AppendUint32(f.buf, uint32(len(payload)))
	f.buf = append(f.buf, payload...)
	_, err := f.w.Write(f.buf)
	return err
}

func (f *frameWriter) write32(typ byte, v uint32) error {
	return f.write(typ, binary.BigEndian.AppendUint32(nil, v))
}

// frameReader reads frames; a payload is valid until the next read.
type frameReader struct {
	r   io.Reader
	hdr [frameHeader]byte
	buf []byte
}

var errFrame = errors.New("broken frame")

// read returns io.EOF only between two frames.
func (f *frameReader) read() (typ byte, payload []byte, err error) {
	if _, err = io.ReadFull(f.r, f.hdr[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(f.hdr[1:])
	if n > maxFrame {
		return 0, nil, fmt.Errorf("%w: %d bytes, at most %d are possible", errFrame, n, maxFrame)
	}
	if int(n) > cap(f.buf) {
		f.buf = make([]byte, max(int(n), 4096))
	}
	payload = f.buf[:n]
	if _, err = io.ReadFull(f.r, payload); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	switch f.hdr[0] {
	case frameSignal, frameResize, frameCredit:
		if n != 4 {
			return 0, nil, fmt.Errorf("%w: %d bytes of type %q", errFrame, n, f.hdr[0])
		}
	}
	return f.hdr[0], payload, nil
}
