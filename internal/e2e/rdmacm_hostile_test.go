//go:build conformance

package e2e

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hostileCMEnv makes the test binary the hostile program; its value is the
// number of calls.
const hostileCMEnv = "CNUAS_E2E_CM_HOSTILE"

// TestHostileConnectionManager is both sides: without the variable it starts
// itself in a node, where it writes random commands to rdma_cm while stock
// programs of other nodes, and one on the same device, go on.
func TestHostileConnectionManager(t *testing.T) {
	if n, _ := strconv.Atoi(os.Getenv(hostileCMEnv)); n > 0 {
		hostileCM(t, n)
		return
	}
	calls := 200000
	if testing.Short() {
		calls = 20000
	}
	l := up(t, "e2e-cmhostile", star("ck", 3, "10Gbps", ""))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(cnuasBin, "exec", "ck3", "--", self, "-test.run=^TestHostileConnectionManager$", "-test.timeout=5m")
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", hostileCMEnv, calls))
	bad := l.startCmd(c)
	l.dial([2]string{"ck1", "ck2"}, time.Minute, false, "rping -s -C 200", "rping -c -C 200 -a 10.0.0.1")
	l.dial([2]string{"ck1", "ck3"}, time.Minute, false, "ucmatose -c 10", "ucmatose -c 10 -s 10.0.0.1")
	if err := bad.wait(t, 5*time.Minute); err != nil {
		t.Fatalf("the hostile program: %v\n%s", err, bad.out.String())
	}
	t.Log(strings.TrimSpace(bad.out.String()))
	l.dial([2]string{"ck1", "ck3"}, time.Minute, false, "rping -s -C 20", "rping -c -C 20 -a 10.0.0.1")
	eventually(t, 10*time.Second, "nothing of it listens any more", func() bool { return l.listeners("ck3") == 0 })
}

// hostileCM writes commands that are nearly right.
func hostileCM(t *testing.T, calls int) {
	rng := rand.New(rand.NewPCG(7, 9))
	mem, err := unix.Mmap(-1, 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	base := uint64(uintptr(unsafe.Pointer(&mem[0])))
	open := func() int {
		fd, err := unix.Open("/dev/infiniband/rdma_cm", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.SetNonblock(fd, true); err != nil {
			t.Fatal(err)
		}
		return fd
	}
	fds := []int{open(), open()}
	errs := map[unix.Errno]int{}
	sizes := []int{24, 16, 40, 64, 8, 16, 288, 8, 296, 264, 4, 16, 8, 0, 24, 8, 48, 16, 16, 16, 136, 272, 152}
	for i := range calls {
		n := rng.IntN(len(sizes) + 1)
		b := make([]byte, 8+304)
		size := rng.IntN(304)
		if n < len(sizes) && rng.IntN(8) > 0 {
			size = sizes[n]
		}
		for k := 8; k < len(b); k += 4 {
			binary.LittleEndian.PutUint32(b[k:], uint32(small(rng)))
		}
		where := base + uint64(rng.IntN(1<<15))
		if rng.IntN(8) == 0 {
			where = small(rng)
		}
		at := 8 // of the answer's address, and of handles
		switch n {
		case 0:
			at = 16
			binary.LittleEndian.PutUint16(b[24:], []uint16{0x106, 0x111, 2, 0x13f, 7}[rng.IntN(5)])
		case 1, 5, 11, 17, 18, 19:
			binary.LittleEndian.PutUint32(b[16:], uint32(rng.IntN(40)))
		case 2:
			address(b[16:], rng)
			binary.LittleEndian.PutUint32(b[44:], uint32(rng.IntN(40)))
		case 3:
			address(b[8:], rng)
			address(b[36:], rng)
			binary.LittleEndian.PutUint32(b[64:], uint32(rng.IntN(40)))
			at = 200
		case 4, 7, 10, 15, 9, 14, 20, 21:
			binary.LittleEndian.PutUint32(b[8:], uint32(rng.IntN(40)))
			at = 200
		case 6:
			binary.LittleEndian.PutUint32(b[8+272:], uint32(rng.IntN(40)))
			b[8+271], at = 1, 200
		case 8:
			binary.LittleEndian.PutUint32(b[8+280:], uint32(rng.IntN(40)))
			at = 200
		}
		binary.LittleEndian.PutUint64(b[at:], where)
		if n == 18 {
			binary.LittleEndian.PutUint32(b[20:], uint32(fds[rng.IntN(2)]))
		}
		binary.LittleEndian.PutUint32(b, uint32(n))
		binary.LittleEndian.PutUint16(b[4:], uint16(size))
		binary.LittleEndian.PutUint16(b[6:], uint16([]int{0, 4, 144, 208, 280, 336, 65535}[rng.IntN(7)]))
		ptr, count := uintptr(unsafe.Pointer(&b[0])), 8+size
		switch rng.IntN(40) {
		case 0:
			ptr = uintptr(small(rng))
		case 1:
			count = int(small(rng))
		}
		which := rng.IntN(2)
		_, _, e := unix.Syscall(unix.SYS_WRITE, uintptr(fds[which]), ptr, uintptr(count))
		errs[e]++
		if i%5000 == 4999 {
			unix.Close(fds[which])
			fds[which] = open()
		}
	}
	if errs[0] == 0 || errs[unix.EINVAL] == 0 || errs[unix.EFAULT] == 0 {
		t.Errorf("results %v: some calls should succeed and many be invalid", errs)
	}
	fmt.Printf("%d calls: %d succeeded, %d kinds of error\n", calls, errs[0], len(errs)-1)
}

// address writes a struct sockaddr of some host.
func address(b []byte, rng *rand.Rand) {
	clear(b[:28])
	b[0] = unix.AF_INET
	b[3] = byte(rng.IntN(30))
	copy(b[4:], []byte{10, 0, 0, byte(rng.IntN(5))})
}
