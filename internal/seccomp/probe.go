package seccomp

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"cnuas/internal/poll"
)

// Check is the result of trying a feature.
type Check struct {
	Feature  Feature
	OK       bool
	Optional bool   // without it programs run, slower
	Detail   string // what was tried, or what the kernel said
	Remedy   string // what a user can do; empty if OK
}

// Probe tries every feature that running verbs programs needs, by using it,
// and returns the results in a fixed order. It is done once per process.
func Probe() []Check { return probed() }

var probed = sync.OnceValue(func() []Check {
	var list []Check
	add := func(f Feature, optional bool, did string, err error) {
		c := Check{Feature: f, OK: err == nil, Optional: optional, Detail: did}
		if err != nil {
			c.Detail, c.Remedy = err.Error(), remedy(f, err)
		}
		list = append(list, c)
	}
	n := probeNotification()
	add(UserNotification, false, "a trapped call was answered", n.err)
	add(AddFD, false, "a descriptor was replaced in a trapped call", errors.Join(n.err, n.addFD))
	add(WaitKillable, false, "the filter waits killably", n.err)
	add(SyncWakeUp, true, "the listener wakes on the program's core", errors.Join(n.err, n.sync))
	add(VMAccess, false, "memory was copied both ways", probeMemory())
	add(Pidfd, false, "a process descriptor was polled", probePidfd())
	add(SealedMemfd, false, "a memory file was sealed", probeMemfd(false))
	add(MemfdNotify, false, "a write to a memory file was noticed", probeMemfd(true))
	add(OverSysfs, false, "a file system was mounted over /sys/class in a private mount namespace", probeMounts())
	return list
})

func remedy(f Feature, err error) string {
	switch {
	case errors.Is(err, unix.EBUSY):
		return "another supervisor handles this process's system calls: try from outside of `cnuas exec`, or of the container's supervisor"
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return "run as root; in a container allow CAP_SYS_ADMIN and CAP_SYS_PTRACE, and switch its seccomp profile off"
	}
	return "use Linux " + f.Since() + " or later"
}

type notification struct{ err, addFD, sync error }

// probeNotification plays both sides of a trapped call. The filter sits on a
// thread that ends with its goroutine.
func probeNotification() (r notification) {
	listener, done := make(chan int, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread goes with the filter
		fd, err := Install(Verbs())
		if err != nil {
			close(listener)
			done <- err
			return
		}
		null, err := unix.Open("/dev/null", unix.O_RDWR, 0) // with O_CLOEXEC it would be trapped
		if err != nil {
			null = -1
		}
		listener <- fd
		if e := ioctl(null, rdmaMagic<<8|1, 0); e != 0 {
			err = fmt.Errorf("trapped call: %w", e)
		} else if n, e := unix.Read(null, make([]byte, 8)); err == nil && (n != 8 || e != nil) {
			err = errors.New("the descriptor was not replaced") // an eventfd has 8 bytes, /dev/null none
		}
		if null >= 0 {
			unix.Close(null)
		}
		done <- err
	}()
	fd, ok := <-listener
	if !ok {
		return notification{err: <-done}
	}
	l, err := NewListener(fd)
	if err != nil {
		unix.Close(fd)
		return notification{err: errors.Join(err, <-done)}
	}
	r = answerProbe(l)
	l.Close()
	if err := <-done; r.err == nil && r.addFD == nil {
		r.err = err
	}
	return r
}

func answerProbe(l *Listener) (r notification) {
	r.sync = l.SetSyncWakeUp()
	stop := time.AfterFunc(5*time.Second, l.Stop)
	defer stop.Stop()
	var n Notification
	if r.err = l.Receive(&n); r.err != nil {
		return r
	}
	src, err := unix.Eventfd(1, unix.EFD_CLOEXEC)
	if err == nil {
		err = l.ReplaceFD(n.ID, src, int(n.Args[0]), unix.O_CLOEXEC)
		unix.Close(src)
	}
	if err != nil {
		r.addFD = &FeatureError{AddFD, err}
	}
	if !l.Valid(n.ID) {
		r.err = errors.New("the trapped call vanished")
	}
	r.err = errors.Join(r.err, l.Respond(n.ID, 0, 0))
	return r
}

func probeMemory() error {
	a, b := make([]byte, 64), make([]byte, 64)
	b[5] = 7
	l := []unix.Iovec{{Base: &a[0], Len: 64}}
	r := []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&b[0])), Len: 64}}
	if _, err := unix.ProcessVMReadv(os.Getpid(), l, r, 0); err != nil {
		return &FeatureError{VMAccess, err}
	}
	a[6] = 8
	if _, err := unix.ProcessVMWritev(os.Getpid(), l, r, 0); err != nil {
		return &FeatureError{VMAccess, err}
	}
	if a[5] != 7 || b[6] != 8 {
		return &FeatureError{VMAccess, errors.New("the bytes did not arrive")}
	}
	c, err := OpenCaller(os.Getpid())
	if err != nil {
		return &FeatureError{VMAccess, err}
	}
	defer c.Close()
	if err := c.Read(uint64(uintptr(unsafe.Pointer(&b[0]))), a); err != nil {
		return &FeatureError{VMAccess, err}
	}
	runtime.KeepAlive(b)
	return nil
}

func probePidfd() error {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return &FeatureError{Pidfd, err}
	}
	defer unix.Close(fd)
	if got, err := poll.Now(fd, unix.POLLIN); err != nil || got != 0 {
		return &FeatureError{Pidfd, fmt.Errorf("poll: events %#x, %v", got, err)}
	}
	return nil
}

// probeMemfd seals a memory file; with notify it also waits for inotify to
// notice a write through a second descriptor of it.
func probeMemfd(notify bool) error {
	fail := func(err error) error {
		if notify {
			return &FeatureError{MemfdNotify, err}
		}
		return &FeatureError{SealedMemfd, err}
	}
	fd, err := unix.MemfdCreate("probe", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return fail(err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, 4096); err != nil {
		return fail(err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return fail(err)
	}
	if !notify {
		if unix.Ftruncate(fd, 0) == nil {
			return fail(errors.New("a sealed file could be shortened"))
		}
		return nil
	}
	in, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return fail(err)
	}
	defer unix.Close(in)
	path := "/proc/self/fd/" + strconv.Itoa(fd)
	second, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	defer unix.Close(second)
	if _, err := unix.InotifyAddWatch(in, path, unix.IN_MODIFY); err != nil {
		return fail(err)
	}
	if _, err := unix.Write(second, []byte{1}); err != nil {
		return fail(err)
	}
	if got, err := poll.Wait(in, unix.POLLIN, time.Second); got != unix.POLLIN || err != nil {
		return fail(errors.New("the write raised no event"))
	}
	return nil
}

// probeMounts builds a small view as the launcher does, on a thread that ends
// with its mount namespace.
func probeMounts() error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		done <- func() error {
			if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
				return &FeatureError{MountNamespace, err}
			}
			if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
				return &FeatureError{MountNamespace, err}
			}
			if err := unix.Mount("probe", "/sys/class", "tmpfs", 0, "size=64k"); err != nil {
				return &FeatureError{OverSysfs, err}
			}
			if err := os.WriteFile("/sys/class/null", nil, 0o600); err != nil {
				return &FeatureError{OverSysfs, err}
			}
			if err := unix.Mount("/dev/null", "/sys/class/null", "", unix.MS_BIND, ""); err != nil {
				return &FeatureError{OverSysfs, err}
			}
			return nil
		}()
	}()
	return <-done
}
