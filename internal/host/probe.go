package host

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"unsafe"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Check is one line of `cnuas doctor`.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`           // what was found
	Remedy string `json:"remedy,omitempty"` // what to do if not OK
	Need   bool   `json:"need"`             // without it no fabric comes up
}

// Probe finds out, by doing, what this machine can do for a fabric. It leaves
// nothing behind.
func Probe() []Check {
	return []Check{
		probeRoot(),
		need(try("network namespaces", "unshare(CLONE_NEWNET)", "run as root; in a container, with CAP_SYS_ADMIN", func() error {
			return onThread(func() error { return unix.Unshare(unix.CLONE_NEWNET) })
		})),
		need(try("mount namespaces", "unshare(CLONE_NEWNS)", "run as root; in a container, with CAP_SYS_ADMIN and an AppArmor profile that permits mount", func() error {
			return onThread(func() error {
				if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
					return err
				}
				return unix.Mount("", "/", "none", unix.MS_REC|unix.MS_PRIVATE, "")
			})
		})),
		need(try("named namespaces", Dir+" is a shared mount", "mount a tmpfs on /run", mountRoot)),
		need(probeTAP()),
		need(try("process memory", "process_vm_readv", "permit process_vm_readv in the container's seccomp profile, or add CAP_SYS_PTRACE", probeProcessVM)),
		try("scheduler slice", "sched_setattr", "permit sched_setattr; without it latencies have tails of milliseconds", func() error {
			return onThread(func() error {
				a, err := unix.SchedGetAttr(0, 0)
				if err != nil {
					return err
				}
				a.Runtime = 100_000
				return unix.SchedSetAttr(0, a, 0)
			})
		}),
		try("precise waiting", "epoll_pwait2", "Linux 5.11 or later; ppoll is used instead", func() error {
			_, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, ^uintptr(0), 0, 0, 0, 0, 0)
			if errno == unix.ENOSYS || errno == unix.EPERM {
				return errno
			}
			return nil
		}),
		probeDiag(),
		probeMemlock(),
		probeProgram("ib_write_bw", "perftest"),
		probeProgram("ibv_devinfo", "ibverbs-utils"),
		probeProgram("tcpdump", "tcpdump"),
		probeProgram("tshark", "tshark"),
		probeProgram("ip", "iproute2"),
	}
}

func need(c Check) Check { c.Need = true; return c }

// try makes a Check of something that either works or gives an error.
func try(name, detail, remedy string, f func() error) Check {
	if err := f(); err != nil {
		return Check{Name: name, Detail: fmt.Sprintf("%s: %v", detail, err), Remedy: remedy}
	}
	return Check{Name: name, OK: true, Detail: detail}
}

func probeRoot() Check {
	c := Check{Name: "privileges", Need: true, OK: os.Geteuid() == 0, Detail: fmt.Sprintf("effective user %d", os.Geteuid())}
	if !c.OK {
		c.Remedy = "run as root (sudo cnuas ...)"
	}
	return c
}

// probeTAP makes a TAP in a namespace of its own and asks for the ring length.
func probeTAP() Check {
	c := try("tap", "/dev/net/tun", "modprobe tun; in a container, pass --device /dev/net/tun", func() error { return nil })
	var n *NS
	err := onThread(func() (err error) {
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		h, err := netns.Get()
		if err != nil {
			return err
		}
		n = &NS{name: "probe", h: h}
		return n.complete()
	})
	if n != nil {
		defer n.Close()
	}
	if err == nil {
		var t *TAP
		if t, err = n.AddTAP(TAPConfig{Name: "eth0", MAC: [6]byte{2, 0, 0, 0, 0, 1}}); err == nil {
			c.Detail = fmt.Sprintf("txqueuelen up to %d, %s", t.TxQueueLen(), backpressureLine(t))
			t.Close()
			return c
		}
	}
	c.OK, c.Detail = false, err.Error()
	return c
}

// probeProcessVM reads a word of this process by the call that reads programs.
func probeProcessVM() error {
	src, dst := uint64(0x1234), uint64(0)
	l := []unix.Iovec{{Base: (*byte)(unsafe.Pointer(&dst)), Len: 8}}
	r := []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&src)), Len: 8}}
	_, err := unix.ProcessVMReadv(os.Getpid(), l, r, 0)
	runtime.KeepAlive(&src)
	if err == nil && dst != src {
		err = fmt.Errorf("read %#x instead of %#x", dst, src)
	}
	return err
}

func probeDiag() Check {
	c := Check{Name: "capture detection", OK: true, Detail: "/proc/net/packet"}
	err := onThread(func() error {
		n := &NS{name: "self", h: netns.None()}
		var err error
		if n.h, err = netns.Get(); err != nil {
			return err
		}
		defer n.h.Close()
		w, err := n.Watch()
		if err != nil {
			return err
		}
		defer w.Close()
		if _, ok := w.read(0); !ok {
			c.Detail = "packet_diag (no /proc/net/packet)"
		}
		return nil
	})
	if err != nil {
		c.OK, c.Detail, c.Remedy = false, err.Error(), "modprobe af_packet packet_diag"
	}
	return c
}

func probeMemlock() Check {
	var r unix.Rlimit
	c := Check{Name: "locked memory", OK: true}
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &r); err != nil {
		c.OK, c.Detail = false, err.Error()
		return c
	}
	c.Detail = "limit " + size(r.Max)
	// exec raises the limit, which root may do unless a container forbids it.
	if r.Max != unix.RLIM_INFINITY && r.Max < 1<<30 {
		if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: r.Cur, Max: r.Max + 4096}); err != nil {
			c.OK, c.Remedy = false, "ulimit -l unlimited; in a container, --ulimit memlock=-1 or CAP_SYS_RESOURCE"
			return c
		}
		unix.Setrlimit(unix.RLIMIT_MEMLOCK, &r)
		c.Detail += ", exec raises it"
	}
	return c
}

func size(n uint64) string {
	if n == unix.RLIM_INFINITY {
		return "unlimited"
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

func probeProgram(name, pkg string) Check {
	path, err := exec.LookPath(name)
	if err != nil {
		return Check{Name: name, Detail: "not found in PATH", Remedy: "apt-get install " + pkg}
	}
	return Check{Name: name, OK: true, Detail: path}
}
