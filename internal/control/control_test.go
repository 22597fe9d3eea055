package control

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

func serve(t *testing.T) (string, *Server) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sock")
	s, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	s.Handle("echo", func(a json.RawMessage) (any, error) {
		var v string
		if err := json.Unmarshal(a, &v); err != nil {
			return nil, err
		}
		return v, nil
	})
	s.Handle("fail", func(json.RawMessage) (any, error) { return nil, errors.New("no such port; cnuas status lists them") })
	s.Handle("take", func(json.RawMessage) (any, error) {
		return &Takeover{Data: "go", Run: func(c *net.UnixConn) {
			io.Copy(c, io.LimitReader(c, 3))
		}}, nil
	})
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return path, s
}

func dial(t *testing.T, path string) *net.UnixConn {
	t.Helper()
	c, err := Dial(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestCall(t *testing.T) {
	path, _ := serve(t)
	var got string
	if err := Call(dial(t, path), "echo", "hello", &got); err != nil || got != "hello" {
		t.Errorf("echo: %q, %v", got, err)
	}
	for op, want := range map[string]string{"fail": "no such port", "nonsense": "unknown to this daemon"} {
		if err := Call(dial(t, path), op, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", op, err, want)
		}
	}
}

func TestTakeoverGetsEveryByte(t *testing.T) {
	path, _ := serve(t)
	c := dial(t, path)
	var got string
	if err := Call(c, "take", nil, &got); err != nil || got != "go" {
		t.Fatalf("%q, %v", got, err)
	}
	c.Write([]byte("abc"))
	b, err := io.ReadAll(c)
	if string(b) != "abc" || err != nil {
		t.Errorf("stream %q, %v", b, err)
	}
}

func TestGarbage(t *testing.T) {
	path, _ := serve(t)
	for _, in := range []string{"\n", "{}\n", "[]\n", `{"op":"echo","x":1}` + "\n", strings.Repeat("x", 100) + "\n"} {
		c := dial(t, path)
		c.Write([]byte(in))
		b, _ := io.ReadAll(c)
		var r Response
		if json.Unmarshal(b, &r) != nil || r.Error == "" {
			t.Errorf("%q answered with %q, want an error", in, b)
		}
	}
}

func TestNoDaemon(t *testing.T) {
	if _, err := Dial(filepath.Join(t.TempDir(), "none")); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("%v, want ErrNoDaemon", err)
	}
}
