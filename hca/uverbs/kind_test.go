package uverbs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"cnuas/hca/uverbs"
	"cnuas/internal/seccomp"
)

// echoEnv makes the test binary act as a program that uses an echoKind.
const echoEnv = "CNUAS_TEST_ECHO"

// echoKind is a device whose files are one end of a pair of sockets.
type echoKind struct{}

func (*echoKind) Serves(name string) bool { return strings.HasPrefix(name, "echo") }

func (*echoKind) Sysfs(add func(path, text string)) {
	add("echo/echo0/dev", "1:3")
	add("echo/echo1/dev", "none")
}

func (*echoKind) Open(t *uverbs.Syscall, name string) {
	if name == "echo2" {
		t.Reply(0, unix.EAGAIN)
		return
	}
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Reply(0, err.(unix.Errno))
		return
	}
	f, at := &echoFile{ours: p[0]}, 0
	if name == "echo3" {
		at = seccomp.FirstWritten + 1
	}
	f.release, err = t.Become(p[1], at, f)
	unix.Close(p[1])
	if err != nil {
		t.Reply(0, unix.EIO)
	} else if t.Op == uverbs.OpIoctl {
		f.Trapped(t)
	}
}

type echoFile struct {
	ours    int
	release func()
}

// Trapped answers ioctls by their number, reads by a byte, and writes by twice
// what was written, later.
func (f *echoFile) Trapped(t *uverbs.Syscall) {
	switch t.Op {
	case uverbs.OpIoctl:
		t.Reply(int64(t.Request&0xff), 0)
	case uverbs.OpRead:
		if err := t.Write(t.Addr, []byte{'R'}); err != nil || !t.Valid() {
			t.Reply(0, unix.EFAULT)
			return
		}
		t.Reply(1, 0)
	case uverbs.OpWrite:
		t.Later()
		go func() {
			time.Sleep(time.Millisecond)
			t.Reply(int64(2*t.Count), 0)
		}()
	}
}

func (f *echoFile) End() { unix.Close(f.ours); f.release() }

// echoMain is the program; it prints what it finds wrong.
func echoMain(string) int {
	bad := 0
	check := func(what string, got, want any) {
		if got != want {
			fmt.Printf("%s: %v, want %v\n", what, got, want)
			bad++
		}
	}
	call := func(nr, a, b, c uintptr) (int, unix.Errno) {
		r, _, e := unix.Syscall(nr, a, b, c)
		return int(r), e
	}
	buf := make([]byte, 4096)
	ptr := uintptr(unsafe.Pointer(&buf[0]))

	fd, err := unix.Open("/dev/infiniband/echo0", unix.O_RDWR|unix.O_NONBLOCK, 0)
	check("open natively", err, nil)
	n, e := call(unix.SYS_IOCTL, uintptr(fd), 0x1b07, 0)
	check("first ioctl", fmt.Sprint(n, e), fmt.Sprint(7, unix.Errno(0)))
	_, e = call(unix.SYS_READ, uintptr(fd), ptr, 64)
	check("native read, nothing there", e, unix.EAGAIN)
	n, e = call(unix.SYS_READ, uintptr(fd), ptr, seccomp.ShortRead)
	check("trapped read", fmt.Sprint(n, e, buf[0]), fmt.Sprint(1, unix.Errno(0), 'R'))
	_, e = call(unix.SYS_READ, uintptr(fd), 8, seccomp.ShortRead)
	check("trapped read, bad buffer", e, unix.EFAULT)

	_, err = unix.Open("/dev/infiniband/echo1", unix.O_RDONLY, 0)
	check("open that is not trapped", err, unix.ENXIO)
	fd, err = unix.Open("/dev/infiniband/echo1", unix.O_RDONLY|unix.O_NONBLOCK, 0)
	check("trapped open", err, nil)
	n, e = call(unix.SYS_IOCTL, uintptr(fd), 0x1b09, 0)
	check("ioctl after trapped open", fmt.Sprint(n, e), fmt.Sprint(9, unix.Errno(0)))
	fl, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	check("close on exec", fl, 0)

	_, err = unix.Open("/dev/infiniband/echo2", unix.O_RDWR|unix.O_CLOEXEC, 0)
	check("refused open", err, unix.EAGAIN)
	fd, err = unix.Open("/dev/infiniband/echo3", unix.O_RDWR|unix.O_CLOEXEC, 0)
	check("open at a number", fmt.Sprint(fd, err), fmt.Sprint(seccomp.FirstWritten+1, error(nil)))
	n, e = call(unix.SYS_WRITE, uintptr(fd), ptr, 21)
	check("trapped write", fmt.Sprint(n, e), fmt.Sprint(42, unix.Errno(0)))
	fl, _ = unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	check("close on exec", fl, unix.FD_CLOEXEC)

	// What is not ours must work as ever.
	_, err = unix.Open("/nonexistent", unix.O_RDWR|unix.O_CLOEXEC, 0)
	check("open elsewhere", err, unix.ENOENT)
	_, err = unix.Open("/dev/infiniband/nosuch", unix.O_RDWR|unix.O_CLOEXEC, 0)
	check("open of no device", err, unix.ENOENT)
	_, e = call(unix.SYS_OPENAT, ^uintptr(99), 8, unix.O_RDWR|unix.O_CLOEXEC)
	check("open of a bad address", e, unix.EFAULT)
	zero, _ := unix.Open("/dev/zero", unix.O_RDONLY, 0)
	n, e = call(unix.SYS_READ, uintptr(zero), ptr, seccomp.ShortRead)
	check("read elsewhere", fmt.Sprint(n, e), fmt.Sprint(seccomp.ShortRead, unix.Errno(0)))
	_, e = call(unix.SYS_READ, 77, ptr, seccomp.ShortRead)
	check("read of no descriptor", e, unix.EBADF)
	null, _ := unix.Open("/dev/null", unix.O_RDWR, 0)
	_, e = call(unix.SYS_IOCTL, uintptr(null), 0x1b01, 0)
	check("ioctl elsewhere", e, unix.ENOTTY)
	if bad == 0 {
		fmt.Println("echo: all right")
	}
	return bad
}

// TestKinds: device files of other kinds plug into a session.
func TestKinds(t *testing.T) {
	f := newFabric(t)
	cfg := f.config(0, "/proc/self/exe")
	cfg.Env = append(os.Environ(), echoEnv+"=1")
	conn, err := f.session(0)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Argv = []string{exe}
	if out := launchOn(t, conn, cfg).wait(t, 10*time.Second, 0); !strings.Contains(out, "all right") {
		t.Error(out)
	}
}
