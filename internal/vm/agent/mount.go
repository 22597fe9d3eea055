package agent

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// selfFD is the file that this program was started from, open since before the
// root moved.
var selfFD = -1

func mount(source, target, typ string, flags uintptr, options string) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return fmt.Errorf("mount %s: %w", target, err)
	}
	if err := unix.Mount(source, target, typ, flags, options); err != nil {
		return fmt.Errorf("mount %s on %s: %w", source, target, err)
	}
	return nil
}

// mountKernel mounts what shows the kernel; /proc is there.
func mountKernel() error {
	if err := mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return err
	}
	return mount("devtmpfs", "/dev", "devtmpfs", 0, "mode=755")
}

// hostRoot makes the host's root ours: read-only, below a layer in memory.
func hostRoot() (err error) {
	if selfFD, err = unix.Open("/init", unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("open /init: %w", err)
	}
	// cache=loose keeps what was read: nothing in the guest writes to the
	// host, and without it each page of a program costs a turn to the host.
	if err := mount(HostTag, "/lower", "9p", unix.MS_RDONLY, "trans=virtio,version=9p2000.L,msize=262144,cache=loose,access=any"); err != nil {
		return err
	}
	if err := mount("tmpfs", "/layer", "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, d := range []string{"/layer/upper", "/layer/work"} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
	}
	const root = "/layer/root"
	if err := mount("overlay", root, "overlay", 0, "lowerdir=/lower,upperdir=/layer/upper,workdir=/layer/work"); err != nil {
		return err
	}
	for _, d := range []string{"/proc", "/sys", "/dev"} {
		if err := mount(d, root+d, "", unix.MS_MOVE, ""); err != nil {
			return err
		}
	}
	// The initramfs cannot be pivoted away from; mounting over it is how it is
	// left behind.
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("move the root: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return fmt.Errorf("chroot: %w", err)
	}
	return os.Chdir("/")
}

// bindModules shows the modules of the booted kernel where modprobe looks.
func bindModules(tree string) error {
	if err := os.MkdirAll("/lib/modules", 0o755); err != nil {
		return err
	}
	return unix.Mount(tree+"/lib/modules", "/lib/modules", "", unix.MS_BIND, "")
}
