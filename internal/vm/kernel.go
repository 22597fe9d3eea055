package vm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// rxe is the module for which the lab VM exists.
const rxe = "rdma_rxe"

// ErrNoKernel is wrapped by FindKernel when there is none: Fetch gets one.
var ErrNoKernel = errors.New("no kernel for the lab VM is here")

// Kernel is an unpacked kernel.
type Kernel struct {
	Dir     string // the tree: Dir/lib/modules/Release is there
	Release string // as uname -r
	Image   string // path of its vmlinuz
	// VMLinux is the path of the unpacked image beside it, or "". QEMU starts
	// that without the seconds that unpacking takes in an emulated processor.
	VMLinux string

	deps *Modules
}

// FindKernel finds an unpacked kernel. With dir it is that tree, "/" being this
// machine's own kernel. With "" it is the newest one in the cache, else this
// machine's own if that has rdma_rxe and can be read, else ErrNoKernel.
func FindKernel(dir string) (*Kernel, error) {
	if dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		return openTree(abs)
	}
	if k := cached(); k != nil {
		return k, nil
	}
	if k, err := openTree("/"); err == nil && k.HasModule(rxe) {
		return k, nil
	}
	return nil, fmt.Errorf("%w; run: cnuas vm fetch", ErrNoKernel)
}

// cached returns the newest kernel in the cache, or nil.
func cached() *Kernel {
	l, err := os.ReadDir(kernelsDir())
	if err != nil {
		return nil
	}
	sort.Slice(l, func(i, j int) bool { return newer(l[i].Name(), l[j].Name()) })
	for _, e := range l {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if k, err := openTree(filepath.Join(kernelsDir(), e.Name())); err == nil {
			return k
		}
	}
	return nil
}

// openTree reads a tree. Of several kernels in it, that which runs on this
// machine is taken if the tree is "/", else the newest that has an image.
func openTree(dir string) (*Kernel, error) {
	base := filepath.Join(dir, "lib", "modules")
	l, err := os.ReadDir(base)
	if err != nil {
		return nil, fmt.Errorf("kernel tree %s: %w; it is what packages of a kernel unpack to, with lib/modules/RELEASE", dir, err)
	}
	var names []string
	for _, e := range l {
		names = append(names, e.Name())
	}
	sort.Slice(names, func(i, j int) bool { return newer(names[i], names[j]) })
	if dir == "/" {
		names = []string{running()}
	}
	err = fmt.Errorf("kernel tree %s: there is no lib/modules/RELEASE with modules.dep; run: depmod -b %s RELEASE", dir, dir)
	for _, r := range names {
		var k *Kernel
		if k, err = openRelease(dir, r); err == nil {
			return k, nil
		}
	}
	return nil, err
}

func openRelease(dir, release string) (*Kernel, error) {
	k := &Kernel{Dir: dir, Release: release}
	m := filepath.Join(dir, "lib", "modules", release)
	for _, p := range []string{filepath.Join(m, "vmlinuz"), filepath.Join(dir, "boot", "vmlinuz-"+release)} {
		f, err := os.Open(p)
		if err == nil {
			f.Close()
			k.Image = p
			break
		}
		if errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("kernel %s: %w; run as root", release, err)
		}
	}
	if k.Image == "" {
		return nil, fmt.Errorf("kernel %s: neither lib/modules/%s/vmlinuz nor boot/vmlinuz-%s in %s", release, release, release, dir)
	}
	if _, err := os.Stat(filepath.Join(m, "vmlinux")); err == nil {
		k.VMLinux = filepath.Join(m, "vmlinux")
	}
	d, err := ReadModules(m)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w; run: depmod -b %s %s", release, err, dir, release)
	}
	k.deps = d
	return k, nil
}

// kernelRemedy is what to do when QEMU said that it cannot start the kernel's
// image, which is how a damaged cache shows; "" when it said something else.
func kernelRemedy(k *Kernel, said string) string {
	refused := false
	for _, s := range []string{"could not load kernel", "loading elf kernel", "kernel too old", "invalid kernel header"} {
		refused = refused || strings.Contains(said, s)
	}
	switch {
	case !refused:
		return ""
	case filepath.Dir(k.Dir) == kernelsDir():
		return fmt.Sprintf("\nthe kernel in the cache is damaged; remove %s, and the next boot fetches it again", k.Dir)
	}
	return fmt.Sprintf("\nthe image of Linux %s in %s is damaged, or not for this processor", k.Release, k.Dir)
}

// HasModule tells whether the kernel has the module, as a file or built in.
func (k *Kernel) HasModule(name string) bool {
	return k.deps.has(name)
}

func (k *Kernel) moduleDir() string { return filepath.Join(k.Dir, "lib", "modules", k.Release) }

func running() string {
	var u unix.Utsname
	unix.Uname(&u)
	return unix.ByteSliceToString(u.Release[:])
}

// newer orders versions: runs of digits as numbers, the rest as text.
func newer(a, b string) bool {
	for a != "" && b != "" {
		x, y := run(a), run(b)
		if x != y {
			m, errX := strconv.Atoi(x)
			n, errY := strconv.Atoi(y)
			if errX == nil && errY == nil && m != n {
				return m > n
			}
			return x > y
		}
		a, b = a[len(x):], b[len(y):]
	}
	return len(a) > len(b)
}

// run is the longest prefix of s of only digits or only others.
func run(s string) string {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	n := 1
	for n < len(s) && digit(s[n]) == digit(s[0]) {
		n++
	}
	return s[:n]
}
