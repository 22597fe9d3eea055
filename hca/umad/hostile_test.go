package umad_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"cnuas/internal/fabric"
)

var fabricSM fabric.SMOptions

func programMain(name string) int {
	switch name {
	case "garbage":
		return garbage()
	case "sm":
		return subnetManager()
	case "flood":
		return flood()
	case "agents":
		return agents()
	case "abi":
		return abi()
	case "child":
		return child()
	}
	return 99
}

const umad0 = "/dev/infiniband/umad0"

func open() int {
	fd, err := unix.Open(umad0, unix.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		fmt.Println("open:", err)
		os.Exit(98)
	}
	return fd
}

func ioctl(fd int, req uintptr, b []byte) unix.Errno {
	var p unsafe.Pointer
	if len(b) > 0 {
		p = unsafe.Pointer(&b[0])
	}
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), req, uintptr(p))
	return e
}

// register makes an agent for a class with methods (bits).
func register(fd int, qp, class, version, rmpp byte, methods uint64) (uint32, unix.Errno) {
	b := make([]byte, 28)
	binary.LittleEndian.PutUint64(b[4:], methods)
	b[20], b[21], b[22], b[26] = qp, class, version, rmpp
	b[24], b[25] = 0x14, 0x05
	e := ioctl(fd, 0xc01c1b01, b)
	return binary.LittleEndian.Uint32(b), e
}

// smp is a user MAD: a Get of NodeInfo along a directed route.
func smp(id uint32, timeout uint32, hops ...byte) []byte {
	b := make([]byte, 320)
	binary.LittleEndian.PutUint32(b, id)
	binary.LittleEndian.PutUint32(b[8:], timeout)
	b[28], b[29] = 0xff, 0xff
	m := b[64:]
	m[0], m[1], m[2], m[3] = 1, 0x81, 1, 1
	m[7] = byte(len(hops))
	binary.BigEndian.PutUint64(m[8:], 0xffff_0000_0042)
	m[17] = 0x11
	m[32], m[33], m[34], m[35] = 0xff, 0xff, 0xff, 0xff
	copy(m[129:], hops)
	return b
}

func await(fd int, ms int) []byte {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	if n, err := unix.Poll(p, ms); n != 1 || err != nil {
		return nil
	}
	b := make([]byte, 4096)
	n, err := unix.Read(fd, b)
	if err != nil {
		return nil
	}
	return b[:n]
}

// abi checks what the calls return.
func abi() (bad int) {
	check := func(what string, got, want any) {
		if fmt.Sprint(got) != fmt.Sprint(want) {
			fmt.Printf("%s: %v, want %v\n", what, got, want)
			bad++
		}
	}
	fd := open()
	check("unknown ioctl", ioctl(fd, 0x1b7f, nil), unix.ENOTTY)
	check("bad pointer", ioctl(fd, 0xc01c1b01, nil), unix.EFAULT)
	check("enable P_Keys", ioctl(fd, 0x1b03, nil), unix.Errno(0))
	_, err := unix.Read(fd, make([]byte, 320))
	check("read, nothing there", err, unix.EAGAIN)
	id, e := register(fd, 0, 0x81, 1, 0, 0)
	check("register", fmt.Sprint(id, e), fmt.Sprint(0, unix.Errno(0)))
	check("enable P_Keys, too late", ioctl(fd, 0x1b03, nil), unix.EINVAL)
	_, e = register(fd, 1, 0x81, 1, 0, 0)
	check("SMPs on QP1", e, unix.EINVAL)
	_, e = register(fd, 1, 0x04, 1, 1, 0)
	check("RMPP of a class without", e, unix.EINVAL)
	first, e := register(fd, 1, 0x33, 1, 1, 1<<1)
	check("vendor class", e, unix.Errno(0))
	_, e = register(fd, 1, 0x33, 1, 1, 1<<1)
	check("vendor class again", e, unix.EINVAL)
	b := make([]byte, 4)
	binary.LittleEndian.PutUint32(b, first)
	check("unregister", ioctl(fd, 0x40041b02, b), unix.Errno(0))
	check("unregister again", ioctl(fd, 0x40041b02, b), unix.EINVAL)
	_, e = register(fd, 1, 0x33, 1, 1, 1<<1)
	check("vendor class once more", e, unix.Errno(0))
	two := make([]byte, 40)
	two[8], two[9], two[4] = 0x04, 1, 1
	two[12] = 6
	check("unknown flags", ioctl(fd, 0xc0281b04, two), unix.EINVAL)
	check("known flags", two[12], 1)
	two[12] = 0
	check("register2", ioctl(fd, 0xc0281b04, two), unix.Errno(0))

	m := smp(id, 1000)
	n, err := unix.Write(fd, m)
	check("write", fmt.Sprint(n, err), fmt.Sprint(320, error(nil)))
	r := await(fd, 5000)
	if len(r) != 320 || r[64+3] != 0x81 || binary.LittleEndian.Uint32(r[4:]) != 0 || binary.LittleEndian.Uint32(r[16:]) != 320 {
		fmt.Printf("response % x\n", r)
		bad++
	} else {
		check("low half of the TID", binary.BigEndian.Uint32(r[64+12:]), 0x42)
		check("node type", r[64+64+2], 1)
	}
	// Nobody is behind port 7.
	start := time.Now()
	_, _ = unix.Write(fd, smp(id, 100, 1, 7))
	r = await(fd, 5000)
	if len(r) != 64+24 || binary.LittleEndian.Uint32(r[4:]) != uint32(unix.ETIMEDOUT) {
		fmt.Printf("timeout % x\n", r)
		bad++
	}
	if d := time.Since(start); d < 90*time.Millisecond {
		fmt.Println("timeout after", d)
		bad++
	}
	// An agent that does not exist: what a write would have failed with.
	_, _ = unix.Write(fd, smp(9, 100))
	if r = await(fd, 5000); len(r) < 8 || binary.LittleEndian.Uint32(r[4:]) != uint32(unix.EINVAL) {
		fmt.Printf("no agent: % x\n", r)
		bad++
	}
	unix.Close(fd)
	old := open()
	id, e = register(old, 0, 0x81, 1, 0, 0)
	check("register without P_Keys", e, unix.Errno(0))
	m = smp(id, 1000)
	_, _ = unix.Write(old, append(m[:56:56], m[64:]...))
	if r = await(old, 5000); len(r) != 312 || r[56+3] != 0x81 {
		fmt.Printf("short header: % x\n", r)
		bad++
	}
	if bad == 0 {
		fmt.Println("abi: all right")
	}
	return bad
}

func TestABI(t *testing.T) {
	w := newWorld(t, "two.toml", twoHosts, false)
	if out := w.own("h1", "abi").wait(t, 20*time.Second, 0); !strings.Contains(out, "all right") {
		t.Error(out)
	}
}

// garbage does everything wrong that can be done, and then something right.
func garbage() int {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		fd := open()
		_ = ioctl(fd, 0x1b03, nil)
		id, _ := register(fd, 0, 0x81, 1, 0, ^uint64(0))
		vendor, _ := register(fd, 1, 0x40, 1, 1, ^uint64(0))
		sa, _ := register(fd, 1, 0x03, 2, 1, 0)
		for i := range 300 {
			b := make([]byte, rng.IntN(700))
			for j := range b {
				b[j] = byte(rng.Uint32())
			}
			if len(b) > 320 {
				m := smp([]uint32{id, vendor, sa}[i%3], rng.Uint32()%200, 1, byte(i), byte(i>>4))
				copy(b, m[:64+rng.IntN(64)])
				b[64+1] = []byte{0x81, 0x40, 0x03}[i%3]
				b[64+26] |= 1 // RMPP
			}
			_, _ = unix.Write(fd, b)
			_ = ioctl(fd, 0x1b00|uintptr(rng.IntN(256)), b[:min(len(b), 1)])
			_ = ioctl(fd, uintptr(rng.Uint32())&^0xff00|0x1b00, nil)
			_, _ = unix.Read(fd, b)
			_, _ = unix.Read(fd, make([]byte, 320))
		}
		big := make([]byte, 3<<20)
		copy(big, smp(sa, 100))
		big[65], big[64+25], big[64+26], big[64+24] = 3, 1, 1, 1
		_, _ = unix.Write(fd, big)
		unix.Close(fd) // with much under way
	}
	return abi()
}

func TestGarbage(t *testing.T) {
	w := newWorld(t, "two.toml", twoHosts, true)
	if out := w.own("h1", "garbage").wait(t, 60*time.Second, 0); !strings.Contains(out, "all right") {
		t.Error(out)
	}
	w.await("everything is gone", func() bool {
		m := w.fab.MADs(w.fab.Node("h1").IBPorts()[0].Device())
		return w.node["h1"].kind.Files() == 0 && m.InFlight() < 10
	})
	if out := w.run("h2", "ibstat"); !strings.Contains(out, "Active") {
		t.Error(out)
	}
}

// flood asks without ever reading, until it is killed.
func flood() int {
	fd := open()
	_ = ioctl(fd, 0x1b03, nil)
	id, e := register(fd, 0, 0x81, 1, 0, 0)
	if e != 0 {
		return 1
	}
	fmt.Println("flooding")
	for i := uint64(0); ; i++ {
		m := smp(id, 100)
		binary.BigEndian.PutUint64(m[64+8:], i)
		_, _ = unix.Write(fd, m)
	}
}

// TestFlood: others get through, and nothing of the flood stays.
func TestFlood(t *testing.T) {
	w := newWorld(t, "two.toml", twoHosts, true)
	p := w.own("h1", "flood")
	p.expect(t, "flooding")
	if out := w.run("h2", "saquery"); !strings.Contains(out, "h2") {
		t.Error(out)
	}
	p.kill()
	w.await("the flood is over", func() bool { return w.node["h1"].kind.Files() == 0 })
}

// subnetManager has issm open until it is killed.
func subnetManager() int {
	fd, err := unix.Open("/dev/infiniband/issm0", unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		fmt.Println("refused:", err)
		return 0
	}
	second, err := unix.Open("/dev/infiniband/issm0", unix.O_RDONLY|unix.O_NONBLOCK, 0)
	fmt.Println("open", fd > 2, second, err)
	for {
		time.Sleep(time.Hour)
	}
}

func TestIsSM(t *testing.T) {
	w := newWorld(t, "two.toml", twoHosts, false)
	for range 2 {
		p := w.own("h1", "sm")
		p.expect(t, "open true -1 "+unix.EAGAIN.Error())
		w.await("IsSM is set", func() bool { return w.isSM("h1") })
		if out := w.own("h1", "sm").wait(t, 10*time.Second, 0); !strings.Contains(out, "refused: "+unix.EAGAIN.Error()) {
			t.Error(out)
		}
		if out := w.run("h1", "cat /sys/class/infiniband/rxe0/ports/1/cap_mask"); out != "0x0251486a\n" {
			t.Errorf("capability mask %s", out)
		}
		p.kill()
		w.await("IsSM is cleared", func() bool { return !w.isSM("h1") })
	}
}

// agents opens a file, registers, and leaves it to a child that goes on.
func agents() int {
	fd := open()
	_ = ioctl(fd, 0x1b03, nil)
	if _, e := register(fd, 0, 0x81, 1, 0, 0); e != 0 {
		return 1
	}
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), programEnv+"=child")
	c.ExtraFiles = []*os.File{os.NewFile(uintptr(fd), "umad")}
	c.Stdout = os.Stdout
	if err := c.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("parent ends")
	return 0
}

func child() int {
	for os.Getppid() != 1 && os.Getppid() == parent {
		time.Sleep(time.Millisecond)
	}
	for range 3 {
		if _, err := unix.Write(3, smp(0, 1000)); err != nil {
			fmt.Println(err)
			return 1
		}
		p := []unix.PollFd{{Fd: 3, Events: unix.POLLIN}}
		b := make([]byte, 320)
		_, _ = unix.Poll(p, 5000)
		if n, err := unix.Read(3, b); n != 320 || err != nil || b[64+3] != 0x81 {
			fmt.Println("child: read", n, err)
			return 1
		}
	}
	if _, e := register(3, 1, 0x04, 1, 0, 0); e != 0 {
		fmt.Println("child: register", e)
		return 1
	}
	fmt.Println("child: all right")
	return 0
}

var parent = os.Getppid()

// TestFork: the file lives until the last process has closed it.
func TestFork(t *testing.T) {
	w := newWorld(t, "two.toml", twoHosts, false)
	p := w.own("h1", "agents")
	p.expect(t, "child: all right")
	w.await("the last process has closed it", func() bool { return w.agents("h1") == 0 && w.node["h1"].kind.Files() == 0 })
}
