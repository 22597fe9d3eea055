package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
)

// dial connects the stream to a unix socket.
func dial(c *served, path string) {
	a, err := net.Dial("unix", path)
	if err != nil {
		writeLine(c, failed(err))
		return
	}
	u := a.(*net.UnixConn)
	defer u.Close()
	if writeLine(c, Reply{}) != nil {
		return
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-c.gone:
			u.CloseRead() // whoever writes into the socket is told
		case <-done:
		}
	}()
	var both sync.WaitGroup
	both.Go(func() {
		if _, err := io.Copy(u, c); err != nil {
			// The socket takes no more, or the port is gone. Its other
			// direction ends by itself; the stream must not fill up.
			io.Copy(io.Discard, c)
		}
		u.CloseWrite()
	})
	both.Go(func() {
		if _, err := io.Copy(c, u); err != nil {
			u.CloseRead()
		}
		c.end()
	})
	both.Wait()
}

// put writes a file.
func put(c *served, q *Request) error {
	f, commit, err := create(q.Path, fs.FileMode(q.Mode).Perm())
	if err != nil {
		return err
	}
	if err := writeLine(c, Reply{}); err != nil {
		commit(err)
		return err
	}
	err = receiveFile(&frameReader{r: c}, f)
	if err := commit(err); err != nil {
		return err
	}
	return writeLine(c, Reply{})
}

// create opens what put writes into. commit closes it, and makes it the file at
// path if all went well.
func create(path string, mode fs.FileMode) (f *os.File, commit func(error) error, err error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		if st.IsDir() {
			return nil, nil, fmt.Errorf("%s is a directory", path)
		}
		// A device or a file of /proc is written, not replaced.
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		return f, func(err error) error { return errors.Join(err, f.Close()) }, err
	}
	if f, err = os.CreateTemp(filepath.Dir(path), ".put-*"); err != nil {
		return nil, nil, err
	}
	return f, func(err error) error {
		if err == nil {
			err = f.Chmod(mode)
		}
		if e := f.Close(); err == nil {
			err = e
		}
		if err == nil {
			err = os.Rename(f.Name(), path)
		}
		if err != nil {
			os.Remove(f.Name())
		}
		return err
	}, nil
}

// get sends a file.
func get(c *served, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return fmt.Errorf("%s is a directory", path)
	}
	if err := writeLine(c, Reply{}); err != nil {
		return err
	}
	sendFile(&frameWriter{w: c}, &listened{f, c.gone}) // an error is in its last frame
	return nil
}

// listened ends when nobody listens any more.
type listened struct {
	r    io.Reader
	gone chan struct{}
}

func (l *listened) Read(b []byte) (int, error) {
	select {
	case <-l.gone:
		return 0, errors.New("the host hung up")
	default:
		return l.r.Read(b)
	}
}
