package agent

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func FuzzFrames(f *testing.F) {
	var b bytes.Buffer
	w := frameWriter{w: &b}
	w.write(frameStdin, []byte("abc"))
	w.write32(frameSignal, 15)
	w.write(frameExit, []byte(`{"status":1}`))
	f.Add(b.Bytes())
	f.Add([]byte{'i', 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{'s', 0, 0, 0, 3, 1, 2, 3})
	f.Fuzz(func(t *testing.T, in []byte) {
		r := frameReader{r: bytes.NewReader(in)}
		var again bytes.Buffer
		w := frameWriter{w: &again}
		for {
			typ, p, err := r.read()
			if err != nil {
				if err == io.EOF && !bytes.Equal(again.Bytes(), in) {
					t.Errorf("%x became %x", in, again.Bytes())
				}
				return
			}
			if len(p) > maxFrame {
				t.Errorf("%d bytes", len(p))
			}
			w.write(typ, p)
		}
	})
}

func FuzzRequest(f *testing.F) {
	for _, s := range []string{`{"op":"exec","command":{"argv":["a"]}}`, `{"op":"get","path":"/x"}`, `{"op":"exec"}`, "{", "", `{"op":"hangup","stream":-1}`} {
		f.Add([]byte(s + "\nrest"))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bufio.NewReader(bytes.NewReader(in))
		q, err := readRequest(r)
		if err != nil {
			return
		}
		if q.Op == OpExec && (q.Command == nil || q.Command.Argv[0] == "") || (q.Op == OpGet || q.Op == OpPut || q.Op == OpDial) && q.Path == "" {
			t.Errorf("%+v was let through", q)
		}
	})
}

// TestHostileStreams: whatever comes, the guest answers or closes.
func TestHostileStreams(t *testing.T) {
	g := newGuest(t)
	long := strings.Repeat("x", 100)
	for _, in := range []string{
		"", "\n", "{}\n", "nonsense\n", `{"op":"dance"}` + "\n", `{"op":"exec","command":{"argv":["cat"]}}` + "\n\x00\x00\x00\x00\x00",
		`{"op":"exec","command":{"argv":["cat"]}}` + "\ni\xff\xff\xff\xff", `{"op":"put","path":"/no/such/x"}` + "\n" + long,
		`{"op":"put","path":"/dev/null"}` + "\n" + long, `{"op":"hangup","stream":99}` + "\n", `{"op":"poweroff"}` + "\n",
		`{"op":"exec","command":{"argv":["sleep","100"]}}` + "\ns\x00\x00\x00\x04\xff\xff\xff\xff",
	} {
		c := g.direct()
		c.Write([]byte(in))
		c.(interface{ CloseWrite() error }).CloseWrite()
		within(t, 1e10, func() { io.Copy(io.Discard, c) })
		c.Close()
	}
}

func TestLineIsBounded(t *testing.T) {
	if _, err := readLine(bufio.NewReader(strings.NewReader(strings.Repeat("x", 20)+"\n")), 10); err == nil || !strings.Contains(err.Error(), "more than 10") {
		t.Error(err)
	}
	if _, err := readLine(bufio.NewReader(strings.NewReader("x")), 10); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

func TestModules(t *testing.T) {
	early, rest := openModules([]BootModule{{Name: "no-such-a", Early: true}, {Name: "no-such-b"}})
	if len(early) != 1 || len(rest) != 1 {
		t.Fatal(early, rest)
	}
	var done []string
	if err := early.load(&done); err == nil || len(done) != 0 || !strings.Contains(err.Error(), "no-such-a") {
		t.Error(err, done)
	}
}
