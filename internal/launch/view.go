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

// marker is the file by which a program started here can tell which node it
// runs in. Only the view of its own mount namespace has it.
const marker = "/dev/infiniband/.cnuas-node"

// enterNetNS moves the calling thread, which must be locked, to the network
// namespace and gives it a mount namespace of its own, as `ip netns exec` does:
// what the host mounts later appears here, what is mounted here does not leak.
func enterNetNS(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("network namespace %s: %w", path, err)
	}
	defer unix.Close(fd)
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("network namespace %s: enter: %w", path, err)
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount namespace: keep mounts here: %w", err)
	}
	return nil
}

// mountSysfs shows the network namespace's own devices in /sys.
func mountSysfs() error {
	flags := uintptr(0)
	var st unix.Statfs_t
	if err := unix.Statfs("/sys", &st); err == nil && st.Flags&unix.ST_RDONLY != 0 {
		flags = unix.MS_RDONLY
	}
	if err := unix.Unmount("/sys", unix.MNT_DETACH); err != nil && err != unix.EINVAL {
		return fmt.Errorf("/sys: %w", err)
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", flags, ""); err != nil {
		return fmt.Errorf("/sys: mount for the namespace: %w", err)
	}
	return nil
}

// bindEtc puts the files of /etc/netns/NAME over those of /etc.
func bindEtc(netns string) error {
	dir := filepath.Join("/etc/netns", filepath.Base(netns))
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("files of the namespace: %w", err)
	}
	for _, e := range list {
		from, to := filepath.Join(dir, e.Name()), filepath.Join("/etc", e.Name())
		if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil && err != unix.ENOENT {
			return fmt.Errorf("bind %s to %s: %w", from, to, err)
		}
	}
	return nil
}

// mountView shows the node's devices and no others.
func (o *order) mountView() error {
	if o.Kernel != nil {
		if err := o.Kernel.mountClasses(); err != nil {
			return err
		}
		return o.Kernel.mountDevices(o.Mark)
	}
	if err := mountClasses(o.SysfsDir); err != nil {
		return err
	}
	return mountDevices(o.SysfsDir, o.Mark)
}

// mountClasses shows the directories of sysfsDir as /sys/class/NAME, read-only.
func mountClasses(sysfsDir string) error {
	list, err := os.ReadDir(sysfsDir)
	if err != nil {
		return fmt.Errorf("verbs devices: %w", err)
	}
	var missing []string
	for _, e := range list {
		if _, err := os.Stat("/sys/class/" + e.Name()); err != nil {
			missing = append(missing, e.Name())
		}
	}
	if len(missing) > 0 { // sysfs has no place for directories of ours
		if err := overlay("/sys/class", missing); err != nil {
			return err
		}
	}
	for _, e := range list {
		from, to := filepath.Join(sysfsDir, e.Name()), "/sys/class/"+e.Name()
		if e.Name() == sharedClass && !slices.Contains(missing, sharedClass) {
			err = mountMembers(from, to)
		} else {
			err = bindReadOnly(from, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sharedClass has devices of other kinds, which stay visible.
const sharedClass = "misc"

// mountMembers shows the directories of from in to, beside what is there.
func mountMembers(from, to string) error {
	list, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("devices: %w", err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	if err := overlay(to, names); err != nil {
		return err
	}
	for _, n := range names {
		if err := bindReadOnly(filepath.Join(from, n), filepath.Join(to, n)); err != nil {
			return err
		}
	}
	return nil
}

func bindReadOnly(from, to string) error {
	if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("%s: %w", to, err)
	}
	if err := unix.Mount("", to, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("%s: read-only: %w", to, err)
	}
	return nil
}

// mountDevices makes the files of the devices in /dev/infiniband: one for each
// entry of a class in sysfsDir that states a device number. 1:3 stands for one
// that is used through its first trapped call: it is /dev/null, since rdma-core
// wants a character device with the number that sysfs states. Any other is a
// socket, which nobody can open but by a trapped call.
func mountDevices(sysfsDir, mark string) error {
	list, err := filepath.Glob(filepath.Join(sysfsDir, "*", "*", "dev"))
	if err != nil {
		return fmt.Errorf("devices: %w", err)
	}
	if err := emptyDevices(); err != nil {
		return err
	}
	for _, dev := range list {
		number, err := os.ReadFile(dev)
		if err == nil {
			err = mountDevice(filepath.Join(devDir, filepath.Base(filepath.Dir(dev))), strings.TrimSpace(string(number)) == "1:3")
		}
		if err != nil {
			return fmt.Errorf("devices: %w", err)
		}
	}
	return mountMarker(mark)
}

func mountDevice(to string, null bool) error {
	if !null {
		return unix.Mknod(to, unix.S_IFSOCK|0o666, 0)
	}
	if err := os.WriteFile(to, nil, 0o666); err != nil {
		return err
	}
	if err := unix.Mount("/dev/null", to, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("%s: %w", to, err)
	}
	return nil
}

// devDir is where programs look for the devices.
const devDir = "/dev/infiniband"

// emptyDevices puts an empty directory over devDir.
func emptyDevices() error {
	if st, err := os.Stat(devDir); err != nil || !st.IsDir() {
		if err := overlay("/dev", []string{"infiniband"}); err != nil {
			return err
		}
	}
	if err := unix.Mount("cnuas", devDir, "tmpfs", unix.MS_NOEXEC|unix.MS_NOSUID, "mode=755,size=64k"); err != nil {
		return fmt.Errorf("%s: %w", devDir, err)
	}
	return nil
}

func mountMarker(mark string) error {
	if err := os.WriteFile(marker, []byte(mark), 0o444); err != nil {
		return fmt.Errorf("verbs devices: %w", err)
	}
	return nil
}

// overlay puts a tmpfs over dir in which everything that was there appears as
// it was, and the empty directories of add besides, or in its place. The directory itself is not
// touched, so nothing of it is left when the namespace is gone.
func overlay(dir string, add []string) error {
	old, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.AT_RECURSIVE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("%s: clone: %w", dir, err)
	}
	defer unix.Close(old)
	if err := unix.Mount("cnuas", dir, "tmpfs", unix.MS_NOEXEC|unix.MS_NOSUID, "mode=755"); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	// The clone gets a place below the new directory while it is copied.
	at := filepath.Join(dir, ".old")
	if err := os.Mkdir(at, 0o700); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if err := unix.MoveMount(old, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	list, err := os.ReadDir(at)
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	for _, e := range list {
		if slices.Contains(add, e.Name()) {
			continue
		}
		if err := reappear(filepath.Join(at, e.Name()), filepath.Join(dir, e.Name()), e); err != nil {
			return err
		}
	}
	for _, name := range add {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	if err := os.Remove(at); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}

// reappear makes to what from is: the same link, or a bind mount of it.
func reappear(from, to string, e fs.DirEntry) error {
	if e.Type()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err == nil {
			err = os.Symlink(target, to)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", to, err)
		}
		return nil
	}
	var err error
	if e.IsDir() {
		err = os.Mkdir(to, 0o755)
	} else {
		err = os.WriteFile(to, nil, 0o644)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", to, err)
	}
	switch err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err {
	case nil, unix.ENOENT: // ENOENT: removed meanwhile
		return nil
	default:
		return fmt.Errorf("%s: keep visible: %w", to, err)
	}
}
