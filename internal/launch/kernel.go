package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// KernelDevices is what a program may see of the kernel's RDMA devices. In the
// kernel's shared namespace mode all devices are visible everywhere; a program
// that takes the first one, as perftest does, must find its node's.
type KernelDevices struct {
	Names []string `json:"names"` // RDMA devices, "rxe0_h1"
	Files []string `json:"files"` // below /dev/infiniband: "uverbs0", "rdma_cm"; those that do not exist are left out
}

// classes are the directories of /sys/class with an entry per device.
var classes = []string{"infiniband", "infiniband_verbs", "infiniband_mad"}

// mountClasses leaves only the node's own entries in the classes.
func (k *KernelDevices) mountClasses() error {
	for _, c := range classes {
		if err := k.mountClass("/sys/class/" + c); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (k *KernelDevices) mountClass(dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	links, files := map[string]string{}, map[string][]byte{}
	for _, e := range list {
		path := filepath.Join(dir, e.Name())
		if e.Type()&fs.ModeSymlink == 0 { // abi_version
			if files[e.Name()], err = os.ReadFile(path); err != nil {
				return fmt.Errorf("kernel's RDMA devices: %w", err)
			}
			continue
		}
		if !k.owns(path) {
			continue
		}
		if links[e.Name()], err = os.Readlink(path); err != nil {
			return fmt.Errorf("kernel's RDMA devices: %w", err)
		}
	}
	if err := unix.Mount("cnuas", dir, "tmpfs", unix.MS_NOEXEC|unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=64k"); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	for name, target := range links {
		err = errors.Join(err, os.Symlink(target, filepath.Join(dir, name)))
	}
	for name, b := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), b, 0o444))
	}
	if err != nil {
		return fmt.Errorf("kernel's RDMA devices: %w", err)
	}
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("%s: read-only: %w", dir, err)
	}
	return nil
}

// owns tells whether an entry of a class is one of the node's devices or
// belongs to one.
func (k *KernelDevices) owns(path string) bool {
	if slices.Contains(k.Names, filepath.Base(path)) {
		return true
	}
	b, err := os.ReadFile(filepath.Join(path, "ibdev"))
	return err == nil && slices.Contains(k.Names, strings.TrimSpace(string(b)))
}

// mountDevices leaves only the node's own files in /dev/infiniband.
func (k *KernelDevices) mountDevices(mark string) error {
	// The files are opened before the directory is covered; the descriptor then
	// names what to bind.
	open := map[string]int{}
	defer func() {
		for _, fd := range open {
			unix.Close(fd)
		}
	}()
	for _, f := range k.Files {
		fd, err := unix.Open(filepath.Join(devDir, f), unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if err == unix.ENOENT {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s/%s: %w", devDir, f, err)
		}
		open[f] = fd
	}
	if len(open) == 0 {
		return fmt.Errorf("%s has none of %s: udev or devtmpfs should have made them (is /dev a devtmpfs?)", devDir, strings.Join(k.Files, ", "))
	}
	if err := emptyDevices(); err != nil {
		return err
	}
	for f, fd := range open {
		to := filepath.Join(devDir, f)
		if err := os.WriteFile(to, nil, 0o666); err != nil {
			return fmt.Errorf("kernel's RDMA devices: %w", err)
		}
		if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", fd), to, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", to, err)
		}
	}
	return mountMarker(mark)
}
