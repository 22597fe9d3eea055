package uverbs

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/internal/simtest"
)

// own returns a memory over this process, as its first process.
func own(t testing.TB) *memory {
	t.Helper()
	simtest.Root(t)
	m := &memory{c: &copier{}}
	p, err := openProcess(unix.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	m.procs[0].Store(p)
	return m
}

func seg(b []byte) hca.Segment {
	return hca.Segment{Addr: uint64(uintptr(unsafe.Pointer(&b[0]))), Len: uint64(len(b))}
}

// TestCopies: lengths around the limits of one system call and of the small
// path, in one piece and in many.
func TestCopies(t *testing.T) {
	m := own(t)
	for _, n := range []int{1, 8, smallCopy, smallCopy + 1, 64 << 10, 256 << 10} {
		for _, pieces := range []int{1, 2, 100, maxIOV, maxIOV + 1, 3000} {
			if pieces > n {
				continue
			}
			mem := make([]byte, n)
			for i := range mem {
				mem[i] = byte(i * 7)
			}
			var segs []hca.Segment
			var parts [][]byte
			got, back := make([]byte, n), make([]byte, n)
			for i := range pieces {
				lo, hi := i*n/pieces, (i+1)*n/pieces
				segs = append(segs, seg(mem[lo:hi]))
				parts = append(parts, got[lo:hi])
			}
			if err := m.Gather(got, segs); err != nil || !bytes.Equal(got, mem) {
				t.Errorf("gather of %d bytes in %d pieces: %v", n, pieces, err)
			}
			if err := m.Scatter([]hca.Segment{seg(back)}, parts); err != nil || !bytes.Equal(back, mem) {
				t.Errorf("scatter of %d pieces, %d bytes, to one: %v", pieces, n, err)
			}
			clear(mem)
			if err := m.Scatter(segs, [][]byte{got[: n/2 : n/2], nil, got[n/2:]}); err != nil || !bytes.Equal(mem, got) {
				t.Errorf("scatter of %d bytes to %d pieces: %v", n, pieces, err)
			}
		}
	}
}

func TestCopiesThatFail(t *testing.T) {
	m := own(t)
	b := make([]byte, 64<<10)
	good := seg(b)
	for name, s := range map[string][]hca.Segment{
		"unmapped":            {{Addr: 4096, Len: 64 << 10}},
		"unmapped, small":     {{Addr: 4096, Len: 8}},
		"second unmapped":     {{Addr: good.Addr, Len: 32 << 10}, {Addr: 4096, Len: 32 << 10}},
		"no such process":     {{Addr: good.Addr | 3<<procShift, Len: 64 << 10}},
		"index out of range":  {{Addr: good.Addr | 1<<63, Len: 64 << 10}},
		"kernel address":      {{Addr: 1<<57 | 1<<56, Len: 64 << 10}},
		"shorter than stated": {{Addr: good.Addr, Len: 1}},
		"longer than stated":  {{Addr: good.Addr, Len: 1 << 40}},
		"longer by one":       {{Addr: good.Addr, Len: 64<<10 + 1}},
	} {
		n := 64 << 10
		if name == "unmapped, small" {
			n = 8
		}
		if err := m.Gather(make([]byte, n), s); !errors.Is(err, errFault) {
			t.Errorf("gather, %s: %v", name, err)
		}
		if name == "shorter than stated" {
			continue // the rest of the data has nowhere to go, which is the caller's affair
		}
		if err := m.Scatter(s, [][]byte{make([]byte, n)}); !errors.Is(err, errFault) {
			t.Errorf("scatter, %s: %v", name, err)
		}
	}
	if err := m.Gather(nil, nil); err != nil {
		t.Errorf("nothing: %v", err)
	}
}

// TestOtherProcess copies to and from a program, and no more once it is gone.
func TestOtherProcess(t *testing.T) {
	m := own(t)
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	p, err := openProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	m.procs[5].Store(p)
	stack := mapping(t, cmd.Process.Pid, "[stack]")
	at := hca.Segment{Addr: stack | 5<<procShift, Len: 8192}
	was := make([]byte, 8192)
	if err := m.Gather(was, []hca.Segment{at}); err != nil {
		t.Fatal(err)
	}
	// Into the free lower part of its stack.
	msg := bytes.Repeat([]byte("cnuas"), 8192)[:8192]
	if err := m.Scatter([]hca.Segment{at}, [][]byte{msg}); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 8192)
	if err := m.Gather(got, []hca.Segment{at}); err != nil || !bytes.Equal(got, msg) {
		t.Errorf("read back: %v", err)
	}
	if !p.alive() || !p.named() {
		t.Error("a living process counts as gone")
	}
	cmd.Process.Kill()
	cmd.Wait()
	for _, n := range []uint64{8, 8192} {
		at.Len = n
		if m.Gather(got[:n], []hca.Segment{at}) == nil || m.Scatter([]hca.Segment{at}, [][]byte{msg[:n]}) == nil {
			t.Errorf("a copy of %d bytes with a process that is gone succeeded", n)
		}
	}
	if p.alive() || p.named() {
		t.Error("a process that is gone counts as alive")
	}
}

func mapping(t *testing.T, pid int, name string) uint64 {
	t.Helper()
	// Until the program is loaded it may still be the test itself.
	for range 1000 {
		exe, _ := exec.Command("readlink", fmt.Sprintf("/proc/%d/exe", pid)).Output()
		if !strings.Contains(string(exe), "sleep") {
			continue
		}
		out, err := exec.Command("grep", "-F", name, fmt.Sprintf("/proc/%d/maps", pid)).Output()
		if err != nil {
			continue
		}
		lo, _, _ := strings.Cut(string(out), "-")
		a, err := strconv.ParseUint(lo, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	t.Fatalf("no %s", name)
	return 0
}

func TestCopiesAllocateNothing(t *testing.T) {
	m := own(t)
	b, got := make([]byte, 64<<10), make([]byte, 64<<10)
	many := []hca.Segment{seg(b[:32<<10]), seg(b[32<<10:])}
	one := []hca.Segment{seg(b[:64])}
	parts, small := [][]byte{got}, [][]byte{got[:64]}
	if n := testing.AllocsPerRun(100, func() {
		if m.Gather(got, many) != nil || m.Scatter(many, parts) != nil || m.Gather(got[:64], one) != nil || m.Scatter(one, small) != nil {
			t.Error("copy failed")
		}
	}); n != 0 {
		t.Errorf("%v allocations per round of copies", n)
	}
}

func BenchmarkCopy(b *testing.B) {
	m := own(b)
	mem, buf := make([]byte, 256<<10), make([]byte, 256<<10)
	for _, n := range []int{64, 4096, 8192, 65536, 256 << 10} {
		s, parts := []hca.Segment{seg(mem[:n])}, [][]byte{buf[:n]}
		b.Run(fmt.Sprintf("gather-%d", n), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				m.Gather(buf[:n], s)
			}
		})
		b.Run(fmt.Sprintf("scatter-%d", n), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				m.Scatter(s, parts)
			}
		})
	}
}
