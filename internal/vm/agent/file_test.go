package agent

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestPutGet(t *testing.T) {
	both(t, func(t *testing.T, open func() io.ReadWriteCloser) {
		path := filepath.Join(t.TempDir(), "f")
		data := make([]byte, 3<<20+1)
		rand.Read(data)
		for _, d := range [][]byte{data, nil, []byte("short")} {
			if err := Put(open(), path, 0o640, bytes.NewReader(d)); err != nil {
				t.Fatal(err)
			}
			if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o640 {
				t.Error(st, err)
			}
			var back bytes.Buffer
			if err := Get(open(), path, &back); err != nil || !bytes.Equal(back.Bytes(), d) {
				t.Errorf("%d bytes: %v", back.Len(), err)
			}
		}
		// A source that fails leaves the file as it was.
		bad := io.MultiReader(strings.NewReader("half"), &failing{})
		if err := Put(open(), path, 0o600, bad); err == nil || !strings.Contains(err.Error(), "no more") {
			t.Error(err)
		}
		eventually(t, "the file was changed, or a part left", func() bool {
			b, _ := os.ReadFile(path)
			l, _ := os.ReadDir(filepath.Dir(path))
			return string(b) == "short" && len(l) == 1
		})
		if err := Put(open(), "/dev/null", 0, strings.NewReader("x")); err != nil {
			t.Error(err)
		}
		if st, _ := os.Stat("/dev/null"); st.Mode().IsRegular() {
			t.Fatal("/dev/null was replaced")
		}
		for _, err := range []error{
			Get(open(), "/no/such", io.Discard),
			Put(open(), "/no/such/file", 0o600, strings.NewReader("x")),
			Dial(open(), "/no/such"),
		} {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
		}
		if err := Get(open(), "/", io.Discard); err == nil {
			t.Error("a directory was read")
		}
	})
}

type failing struct{}

func (*failing) Read([]byte) (int, error) { return 0, errors.New("no more") }

func TestGetThatIsGivenUp(t *testing.T) {
	g := newGuest(t)
	c := g.open()
	err := Get(c, "/dev/zero", &failingWriter{left: 1 << 20, close: c})
	if err == nil {
		t.Error("no error")
	}
	eventually(t, "the guest still reads", func() bool {
		g.s.mu.Lock()
		defer g.s.mu.Unlock()
		return len(g.s.streams) == 0
	})
}

// failingWriter closes a stream while it is read.
type failingWriter struct {
	left  int
	close io.Closer
}

func (f *failingWriter) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 && f.close != nil {
		f.close.Close()
		f.close = nil
	}
	return len(b), nil
}

func TestDialHalfClose(t *testing.T) {
	both(t, func(t *testing.T, open func() io.ReadWriteCloser) {
		path := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		got := make(chan string, 2)
		go func() { // reads to the end, then answers; the second way round
			a, _ := l.Accept()
			b, _ := io.ReadAll(a)
			got <- string(b)
			a.Write(bytes.Repeat([]byte("y"), 1<<20))
			a.Close()
			a, _ = l.Accept()
			a.Write([]byte("first"))
			a.(*net.UnixConn).CloseWrite()
			b, _ = io.ReadAll(a)
			got <- string(b)
			a.Close()
		}()
		within(t, 20*time.Second, func() {
			c := open()
			if err := Dial(c, path); err != nil {
				t.Fatal(err)
			}
			c.Write([]byte("question"))
			c.(interface{ CloseWrite() error }).CloseWrite()
			b, err := io.ReadAll(c)
			if q := <-got; q != "question" || len(b) != 1<<20 || err != nil {
				t.Errorf("%q, %d bytes, %v", q, len(b), err)
			}
			c.Close()
			c = open()
			if err := Dial(c, path); err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(c); string(b) != "first" || err != nil {
				t.Errorf("%q %v", b, err)
			}
			c.Write([]byte("second"))
			c.Close()
			if s := <-got; s != "second" {
				t.Errorf("%q", s)
			}
		})
	})
}

// TestDialGivenUp: a server that sends for ever is told that nobody listens.
func TestDialGivenUp(t *testing.T) {
	both(t, func(t *testing.T, open func() io.ReadWriteCloser) {
		path := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		told := make(chan error, 1)
		go func() {
			a, _ := l.Accept()
			_, err := io.Copy(a, &endless{})
			told <- err
			a.Close()
		}()
		c := open()
		if err := Dial(c, path); err != nil {
			t.Fatal(err)
		}
		io.ReadFull(c, make([]byte, 1000))
		c.Close()
		within(t, 10*time.Second, func() {
			if err := <-told; !errors.Is(err, syscall.EPIPE) {
				t.Error(err)
			}
		})
	})
}
