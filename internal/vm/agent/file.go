package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Dial asks the guest to connect to the unix socket at path ("@name" is an
// abstract one). When it returns nil, conn is that socket's byte stream; a
// half-close (CloseWrite) of either side reaches the other.
func Dial(conn io.ReadWriteCloser, path string) error {
	if _, err := ask(conn, Request{Op: OpDial, Path: path}); err != nil {
		return fmt.Errorf("dial %s: %w", path, err)
	}
	return nil
}

// Put writes the file at path in the guest from r, over conn, a fresh stream,
// which it closes. A regular file is replaced in one step when all of it has
// arrived; mode has its permission bits.
func Put(conn io.ReadWriteCloser, path string, mode fs.FileMode, r io.Reader) (err error) {
	defer conn.Close()
	defer func() {
		if err != nil {
			err = fmt.Errorf("put %s: %w", path, err)
		}
	}()
	if _, err := ask(conn, Request{Op: OpPut, Path: path, Mode: uint32(mode.Perm())}); err != nil {
		return err
	}
	w := frameWriter{w: conn}
	if err := sendFile(&w, r); err != nil {
		return err
	}
	_, err = readReply(conn)
	return err
}

// Get reads the file at path in the guest into w, over conn, a fresh stream,
// which it closes. After an error w may have got a part of it.
func Get(conn io.ReadWriteCloser, path string, w io.Writer) (err error) {
	defer conn.Close()
	defer func() {
		if err != nil {
			err = fmt.Errorf("get %s: %w", path, err)
		}
	}()
	if _, err := ask(conn, Request{Op: OpGet, Path: path}); err != nil {
		return err
	}
	return receiveFile(&frameReader{r: conn}, w)
}

// Greet asks the guest what was booted, over conn, a fresh stream, which it
// closes. The answer comes when the guest is ready for commands.
func Greet(conn io.ReadWriteCloser) (*Hello, error) {
	defer conn.Close()
	r, err := ask(conn, Request{Op: OpHello})
	if err != nil {
		return nil, err
	}
	if r.Hello == nil {
		return nil, errors.New("the VM's agent gave an empty answer")
	}
	return r.Hello, nil
}

// PowerOff asks the guest to end, over conn, a fresh stream, which it closes.
// There is no answer: the guest is gone.
func PowerOff(conn io.ReadWriteCloser) error {
	defer conn.Close()
	return writeLine(conn, Request{Op: OpPowerOff})
}

func ask(conn io.ReadWriter, q Request) (*Reply, error) {
	if err := writeLine(conn, q); err != nil {
		return nil, err
	}
	return readReply(conn)
}

// sendFile sends what r has in frames. If reading fails, the other side is
// told: it must not take the part for the whole.
func sendFile(w *frameWriter, r io.Reader) error {
	buf := make([]byte, chunk)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if err := w.write(frameData, buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return w.write(frameEnd, nil)
		}
		if err != nil {
			m := err.Error()
			w.write(frameEnd, []byte(m[:min(len(m), 1024)]))
			return err
		}
	}
}

// receiveFile is the other side of sendFile. It takes all that is sent even if
// w fails, so that the sender comes to its end.
func receiveFile(r *frameReader, w io.Writer) error {
	var failed error
	for {
		typ, b, err := r.read()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		switch typ {
		case frameData:
			if failed == nil {
				_, failed = w.Write(b)
			}
		case frameEnd:
			if len(b) > 0 && failed == nil {
				failed = errors.New(string(b))
			}
			return failed
		default:
			return fmt.Errorf("%w: type %q in a file", errFrame, typ)
		}
	}
}
