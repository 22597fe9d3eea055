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

// hostileEnv makes the test binary the hostile program; its value is the number
// of calls.
const hostileEnv = "CNUAS_E2E_HOSTILE"

// verbsIoctl is RDMA_VERBS_IOCTL.
const verbsIoctl = 0xc0181b01

// TestHostileProgram is both sides: without the variable it starts itself in a
// node, where it throws random ioctls and doorbells at its device
// while stock programs of other nodes, and one on the same device, go on.
func TestHostileProgram(t *testing.T) {
	if n, _ := strconv.Atoi(os.Getenv(hostileEnv)); n > 0 {
		hostile(t, n)
		return
	}
	calls := 200000 // the suite of stock programs makes 800,000 more
	if testing.Short() {
		calls = 50000
	}
	abuse(t, calls)
}

// abuse runs the hostile program beside well-behaved ones.
func abuse(t *testing.T, calls int) {
	l := up(t, "e2e-hostile", star("cl", 3, "10Gbps", ""))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(cnuasBin, "exec", "cl3", "--", self, "-test.run=^TestHostileProgram$", "-test.timeout=5m")
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", hostileEnv, calls))
	bad := l.startCmd(c)
	argv := []string{"ib_write_bw", "-d", "rxe0", "-x", "1", "-F", "-D", "3"}
	l.pair("cl1", "cl2", "10.0.0.1", time.Minute, argv...)
	// The same device serves others while it is abused.
	l.pair("cl1", "cl3", "10.0.0.1", time.Minute, argv...)
	if err := bad.wait(t, 5*time.Minute); err != nil {
		t.Fatalf("the hostile program: %v\n%s", err, bad.out.String())
	}
	t.Logf("%s", strings.TrimSpace(bad.out.String()))
	l.pair("cl1", "cl3", "10.0.0.1", time.Minute, argv...)
	s := l.status()
	for _, n := range s.Nodes {
		if r := n.Interfaces[0].RDMA; r.QPs != 0 || n.Programs != 0 {
			t.Errorf("%s: %d queue pairs and %d programs are left", n.Name, r.QPs, n.Programs)
		}
	}
	for _, r := range s.Verdict.Reasons {
		if !strings.Contains(r, "slipped") && !strings.Contains(r, "late") {
			t.Errorf("verdict: %s", r)
		}
	}
}

// putAttr encodes a struct ib_uverbs_attr.
func putAttr(b []byte, id, n, flags uint16, data uint64) {
	binary.LittleEndian.PutUint16(b, id)
	binary.LittleEndian.PutUint16(b[2:], n)
	binary.LittleEndian.PutUint16(b[4:], flags)
	binary.LittleEndian.PutUint64(b[8:], data)
}

// hostile is the program. It knows enough of the ABI to get past the first
// checks now and then.
func hostile(t *testing.T, calls int) {
	fd, err := unix.Open("/dev/infiniband/uverbs0", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, uint64(calls)))
	mem, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	base := uint64(uintptr(unsafe.Pointer(&mem[0])))
	buf := make([]byte, 24+16*24)
	objects := []uint16{0, 1, 3, 4, 5, 6, 7, 8, 16, 0x1000, 0xffff}
	commands := []uint64{0, 1, 2, 3, 4, 5, 9, 0x11, 0x12, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1e, 0x22, 0x80000001, 0x80000012, 99}
	errs := map[unix.Errno]int{}
	var rings [][]byte
	for i := range calls {
		switch rng.IntN(20) {
		case 0: // a doorbell: any length, any content
			unix.Write(fd, mem[:rng.IntN(64)])
			continue
		case 1: // scribble over whatever lies in the memory file
			if len(rings) < 16 {
				if m, err := unix.Mmap(fd, int64(rng.IntN(64))*4096, 4096*(1+rng.IntN(4)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
					rings = append(rings, m)
				}
			}
			if len(rings) > 0 && i > 1000 {
				scribble(rings[rng.IntN(len(rings))], rng)
			}
			continue
		}
		for k := range 64 { // what attributes point to
			binary.LittleEndian.PutUint32(mem[4*k:], uint32(small(rng)))
		}
		n := rng.IntN(8)
		obj, method := objects[rng.IntN(len(objects))], uint16(rng.IntN(8))
		if rng.IntN(2) == 0 {
			obj, method = 0, 0 // INVOKE_WRITE
		}
		h := buf[:24+16*n]
		clear(h)
		binary.LittleEndian.PutUint16(h, uint16(len(h)))
		binary.LittleEndian.PutUint16(h[2:], obj)
		binary.LittleEndian.PutUint16(h[4:], method)
		binary.LittleEndian.PutUint16(h[6:], uint16(n))
		for k := range n {
			id := uint16(rng.IntN(16))
			if rng.IntN(6) == 0 {
				id = 0x1000 + uint16(rng.IntN(2))
			}
			ptr := base + uint64(rng.IntN(1<<19))
			if rng.IntN(10) == 0 {
				ptr = rng.Uint64()
			}
			size := []uint16{0, 4, 8, 16, 24, 32, 40, 56, 112, 128, 176, 304, 4096, 65535}[rng.IntN(14)]
			data := ptr
			if size <= 8 {
				data = small(rng)
			}
			if obj == 0 && method == 0 {
				switch k { // CORE_IN, CORE_OUT, the command
				case 0:
					id, data = 0, base
				case 1:
					id, data = 1, base+1<<19
				case 2:
					id, size, data = 2, 8, commands[rng.IntN(len(commands))]
				}
			}
			putAttr(h[24+16*k:], id, size, uint16(rng.IntN(3)), data)
		}
		if rng.IntN(50) == 0 { // not even a header
			for k := range h {
				h[k] = byte(rng.Uint32())
			}
		}
		_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), verbsIoctl, uintptr(unsafe.Pointer(&h[0])))
		errs[e]++
		if i%1000 == 999 {
			closeExtra(fd)
		}
		if i%100000 == 99999 { // a new context, the old one full of rubbish
			unix.Close(fd)
			if fd, err = unix.Open("/dev/infiniband/uverbs0", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
				t.Fatal(err)
			}
			for _, m := range rings {
				unix.Munmap(m)
			}
			rings = nil
		}
	}
	if errs[0] == 0 || errs[unix.EINVAL] == 0 {
		t.Errorf("results %v: some calls should succeed and many be invalid", errs)
	}
	fmt.Printf("%d calls: %d succeeded, %d kinds of error\n", calls, errs[0], len(errs)-1)
}

// closeExtra closes the descriptors that successful calls were given.
func closeExtra(keep int) {
	es, _ := os.ReadDir("/proc/self/fd")
	for _, e := range es {
		if n, _ := strconv.Atoi(e.Name()); n > 10 && n != keep {
			if l, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.HasPrefix(l, "pipe:") {
				unix.Close(n)
			}
		}
	}
}

// small is a number as handles, sizes and indexes are, or a wild one.
func small(rng *rand.Rand) uint64 {
	switch rng.IntN(4) {
	case 0:
		return uint64(rng.IntN(4))
	case 1:
		return uint64(rng.IntN(64))
	case 2:
		return uint64(1) << rng.IntN(64)
	}
	return rng.Uint64()
}

func scribble(b []byte, rng *rand.Rand) {
	for range 8 {
		binary.LittleEndian.PutUint32(b[rng.IntN(len(b)/4)*4:], uint32(small(rng)))
	}
	binary.LittleEndian.PutUint32(b[128:], uint32(rng.IntN(256))) // producer index
}
