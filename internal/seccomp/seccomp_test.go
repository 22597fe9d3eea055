package seccomp

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"cnuas/internal/simtest"
)

// TestFilter runs the filter in the bpf package's virtual machine against calls
// with known verdicts.
func TestFilter(t *testing.T) {
	prog, err := Verbs().Assemble()
	if err != nil {
		t.Fatal(err)
	}
	raw := make([]bpf.RawInstruction, len(prog))
	for i, p := range prog {
		raw[i] = bpf.RawInstruction{Op: p.Code, Jt: p.Jt, Jf: p.Jf, K: p.K}
	}
	ins, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("the filter has unknown instructions")
	}
	vm, err := bpf.NewVM(ins)
	if err != nil {
		t.Fatal(err)
	}
	refused := uint32(Refuse(unix.EPROTONOSUPPORT))
	const allow = uint32(unix.SECCOMP_RET_ALLOW)
	for _, c := range []struct {
		name string
		arch uint32
		nr   uint32
		args [3]uint32
		want uint32
	}{
		{"verbs ioctl", auditNative, unix.SYS_IOCTL, [3]uint32{3, 0xc0181b01}, uint32(Notify)},
		{"other rdma ioctl", auditNative, unix.SYS_IOCTL, [3]uint32{3, 0x1b7f}, uint32(Notify)},
		{"terminal ioctl", auditNative, unix.SYS_IOCTL, [3]uint32{0, unix.TCGETS}, allow},
		{"magic in another byte", auditNative, unix.SYS_IOCTL, [3]uint32{0, 0x1b0001}, allow},
		{"read", auditNative, unix.SYS_READ, [3]uint32{3, 0x1b01}, allow},
		{"rdma netlink", auditNative, unix.SYS_SOCKET, [3]uint32{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_RDMA}, refused},
		{"rdma netlink, cloexec", auditNative, unix.SYS_SOCKET, [3]uint32{unix.AF_NETLINK, unix.SOCK_RAW | unix.SOCK_CLOEXEC, unix.NETLINK_RDMA}, refused},
		{"route netlink", auditNative, unix.SYS_SOCKET, [3]uint32{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, allow},
		{"protocol 20 elsewhere", auditNative, unix.SYS_SOCKET, [3]uint32{unix.AF_INET, unix.SOCK_RAW, 20}, allow},
		{"32-bit verbs ioctl", auditCompat, compat[Ioctl], [3]uint32{3, 0xc0181b01}, uint32(Notify)},
		{"32-bit number of native ioctl", auditCompat, unix.SYS_IOCTL, [3]uint32{3, 0xc0181b01}, allow},
		{"64-bit number of compat ioctl", auditNative, compat[Ioctl], [3]uint32{3, 0xc0181b01}, allow},
		{"open as librdmacm does", auditNative, unix.SYS_OPENAT, [3]uint32{0, 0, unix.O_RDWR | unix.O_CLOEXEC}, uint32(Notify)},
		{"open as OpenSM does", auditNative, unix.SYS_OPENAT, [3]uint32{0, 0, unix.O_NONBLOCK}, uint32(Notify)},
		{"open for reading", auditNative, unix.SYS_OPENAT, [3]uint32{0, 0, unix.O_RDONLY}, allow},
		{"open for reading, cloexec", auditNative, unix.SYS_OPENAT, [3]uint32{0, 0, unix.O_CLOEXEC}, allow},
		{"32-bit open", auditCompat, compat[OpenAt], [3]uint32{0, 0, unix.O_RDWR | unix.O_CLOEXEC | 0o100000}, uint32(Notify)},
		{"read of a MAD", auditNative, unix.SYS_READ, [3]uint32{3, 0x1000, ShortRead}, uint32(Notify)},
		{"write below", auditNative, unix.SYS_WRITE, [3]uint32{FirstWritten - 1, 0x1000, 64}, allow},
		{"write, first", auditNative, unix.SYS_WRITE, [3]uint32{FirstWritten, 0x1000, 64}, uint32(Notify)},
		{"write, last", auditNative, unix.SYS_WRITE, [3]uint32{LastWritten, 0x1000, 64}, uint32(Notify)},
		{"write above", auditNative, unix.SYS_WRITE, [3]uint32{LastWritten + 1, 0x1000, 64}, allow},
		{"unknown architecture", 0x1234, unix.SYS_IOCTL, [3]uint32{3, 0xc0181b01}, allow},
	} {
		// The virtual machine reads big-endian, as of a packet.
		b := make([]byte, 64)
		put := func(off int, v uint32) {
			b[off], b[off+1], b[off+2], b[off+3] = byte(v>>24), byte(v>>16), byte(v>>8), byte(v)
		}
		put(offNr, c.nr)
		put(offArch, c.arch)
		for i, a := range c.args {
			put(offArg+8*i, a)
		}
		got, err := vm.Run(b)
		if err != nil || uint32(got) != c.want {
			t.Errorf("%s: %#x %v, want %#x", c.name, uint32(got), err, c.want)
		}
	}
}

func TestFilterRefusesNonsense(t *testing.T) {
	for _, r := range []Rule{
		{Matches: []Match{{Arg: 6, Mask: 1, Value: 1}}},
		{Matches: []Match{{Arg: -1, Mask: 1, Value: 1}}},
		{Matches: []Match{{Arg: 0, Mask: 0xff, Value: 0x100}}},
		{Matches: make([]Match, 100)},
	} {
		if _, err := (Filter{Native: []Rule{r}}).Assemble(); err == nil {
			t.Errorf("%+v was accepted", r)
		}
	}
}

func TestProbe(t *testing.T) {
	simtest.Root(t)
	for _, c := range Probe() {
		t.Logf("%-36s ok=%v %s %s", c.Feature, c.OK, c.Detail, c.Remedy)
		if c.OK != (c.Remedy == "") {
			t.Errorf("%s: ok %v with remedy %q", c.Feature, c.OK, c.Remedy)
		}
		if !c.OK && !c.Optional && c.Feature.Since() != "" {
			t.Errorf("%s does not work here: %s", c.Feature, c.Detail)
		}
	}
}

func TestFeatureError(t *testing.T) {
	err := error(&FeatureError{SyncWakeUp, unix.ENOTTY})
	if !errors.Is(err, ErrNotSupported) || !errors.Is(err, unix.ENOTTY) || !strings.Contains(err.Error(), "Linux 6.6") {
		t.Errorf("%v", err)
	}
	// A kernel that has it and says no is not too old.
	err = &FeatureError{MountNamespace, unix.EPERM}
	if !errors.Is(err, unix.EPERM) || strings.Contains(err.Error(), "needs Linux") || !strings.Contains(err.Error(), "sudo") {
		t.Errorf("%v", err)
	}
}

func TestCaller(t *testing.T) {
	simtest.Root(t)
	c, err := OpenCaller(unix.Gettid())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := []byte("hello, memory")
	addr := uint64(uintptr(unsafe.Pointer(&b[0])))
	got := make([]byte, 5)
	if err := c.Read(addr, got); err != nil || string(got) != "hello" {
		t.Errorf("read %q %v", got, err)
	}
	if err := c.Write(addr+7, []byte("M")); err != nil || string(b) != "hello, Memory" {
		t.Errorf("write: %q %v", b, err)
	}
	if err := c.Read(4, got); err != unix.EFAULT {
		t.Errorf("read of page 0: %v", err)
	}
	if err := c.Read(1<<63, got); err != unix.EFAULT {
		t.Errorf("read of a kernel address: %v", err)
	}
	if n, err := c.TGID(); err != nil || n != os.Getpid() {
		t.Errorf("process %d %v, want %d", n, err, os.Getpid())
	}
	f, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if p, err := c.FDPath(int(f.Fd())); err != nil || p != "/dev/null" {
		t.Errorf("path %q %v", p, err)
	}
	if n, err := c.FDFlags(int(f.Fd())); err != nil || n&unix.O_CLOEXEC == 0 || n&unix.O_ACCMODE != unix.O_RDONLY {
		t.Errorf("flags %#o %v", n, err)
	}
	if _, err := c.FDFlags(9999); err != unix.EBADF {
		t.Errorf("flags of no descriptor: %v", err)
	}
	if err := c.Mapped(addr, 5, true); err != nil {
		t.Errorf("own memory: %v", err)
	}
}

// TestGone: memory that was opened does not turn into that of a successor.
func TestGone(t *testing.T) {
	simtest.Root(t)
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c, err := OpenCaller(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cmd.Process.Kill()
	cmd.Wait()
	if err := c.Read(0x400000, make([]byte, 8)); err != ErrGone {
		t.Errorf("read after the end: %v", err)
	}
	if err := c.Write(0x400000, make([]byte, 8)); err != ErrGone {
		t.Errorf("write after the end: %v", err)
	}
	if _, err := c.TGID(); err != ErrGone {
		t.Errorf("process after the end: %v", err)
	}
	if _, err := OpenCaller(cmd.Process.Pid); err != ErrGone {
		t.Errorf("open after the end: %v", err)
	}
}

func TestCovered(t *testing.T) {
	const maps = "1000-3000 rw-p 00000000 00:00 0\n3000-4000 r--p 00000000 00:00 0 \n6000-7000 rw-p 00000000 00:00 0 [heap]\n7000-8000 ---p 0 0:0 0\n"
	for _, c := range []struct {
		start, length uint64
		write         bool
		want          error
	}{
		{0x1000, 0x2000, true, nil},
		{0x1fff, 1, true, nil},
		{0x1000, 0x3000, false, nil},
		{0x1000, 0x2001, true, unix.EFAULT}, // into read-only
		{0x0fff, 2, false, unix.EFAULT},     // before
		{0x3fff, 2, false, unix.EFAULT},     // into a hole
		{0x4000, 0x2000, false, unix.EFAULT},
		{0x6000, 0x1000, true, nil},
		{0x6800, 0x1000, false, unix.EFAULT}, // no access at all
		{0x9000, 1, false, unix.EFAULT},
		{^uint64(0), 2, false, unix.EFAULT}, // wraps
	} {
		if got := covered(maps, c.start, c.length, c.write); got != c.want {
			t.Errorf("%#x+%#x write %v: %v, want %v", c.start, c.length, c.write, got, c.want)
		}
	}
	if covered("nonsense\n", 0, 1, false) == nil {
		t.Error("nonsense was accepted")
	}
}

func FuzzCovered(f *testing.F) {
	f.Add("1000-3000 rw-p 0 0 0\n", uint64(0x1000), uint64(1), true)
	f.Fuzz(func(t *testing.T, maps string, start, length uint64, write bool) {
		_ = covered(maps, start, length, write)
	})
}
