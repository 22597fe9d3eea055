package rdmacm

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"cnuas/hca/uverbs"
	"cnuas/internal/seccomp"
)

const deviceName = "rdma_cm"

// abiVersion is RDMA_USER_CM_ABI_VERSION.
const abiVersion = "4"

// Serves implements uverbs.Kind.
func (s *Service) Serves(name string) bool { return name == deviceName }

// Sysfs implements uverbs.SysfsKind. The device number is none that is in use:
// the file can be opened by trapped calls only.
func (s *Service) Sysfs(add func(path, text string)) {
	add("misc/rdma_cm/abi_version", abiVersion)
	add("misc/rdma_cm/dev", "10:0")
}

// Open implements uverbs.Kind. Writes are trapped on descriptors with large
// numbers only, so the program gets one of those.
func (s *Service) Open(t *uverbs.Syscall, _ string) {
	if t.Op != uverbs.OpOpen {
		t.Reply(0, unix.ENOTTY)
		return
	}
	at, e := freeDescriptor(t)
	if e != 0 {
		t.Reply(0, e)
		return
	}
	tty, slave, key, err := newTTY()
	if err != nil {
		s.cfg.Log("node %s: rdma_cm: %v", s.cfg.Node, err)
		t.Reply(0, unix.ENFILE)
		return
	}
	defer unix.Close(slave)
	f := &file{svc: s, key: key, tty: tty, done: make(chan struct{}), quit: make(chan struct{}), kick: make(chan struct{}, 1)}
	full := false
	s.cfg.Do(func() {
		if full = s.closed || len(s.files) >= s.cfg.Limits.Files; !full {
			s.files[key] = f
		}
	})
	if full {
		tty.close()
		t.Reply(0, unix.ENFILE)
		return
	}
	release, err := t.Become(slave, at, f)
	if err != nil {
		s.cfg.Do(func() { delete(s.files, key) })
		tty.close()
		t.Reply(0, unix.EMFILE)
		return
	}
	f.release = release
	s.wait.Go(f.signal)
	s.wait.Go(func() {
		tty.await()
		f.end()
	})
}

// freeDescriptor finds a number for a new descriptor of the caller.
func freeDescriptor(t *uverbs.Syscall) (int, unix.Errno) {
	dir := "/proc/" + strconv.Itoa(t.TID()) + "/fd"
	list, err := os.ReadDir(dir)
	if err != nil {
		return 0, unix.ESRCH
	}
	used := map[string]bool{}
	for _, e := range list {
		used[e.Name()] = true
	}
	for n := seccomp.FirstWritten; n <= seccomp.LastWritten; n++ {
		if !used[strconv.Itoa(n)] {
			return n, 0
		}
	}
	return 0, unix.EMFILE
}
