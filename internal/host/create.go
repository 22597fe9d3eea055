package host

import (
	"errors"
	"fmt"
	"os"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Create makes a namespace, marks it and gives it its name, as `ip netns add`
// does. A namespace or file of that name that is there already is refused with
// ErrExists and not touched.
//
// The order makes a kill at any moment recoverable: nothing with the name
// exists before it carries the marker. named, if not nil, is called with the
// inode just before the name appears; an error of it undoes everything.
func Create(name string, m Marker, named func(ino uint64) error) (*NS, error) {
	if err := ValidName(name); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(Path(name)); err == nil {
		return nil, existsError(name)
	}
	if err := mountRoot(); err != nil {
		return nil, err
	}
	n := &NS{name: name, mark: m, h: netns.None()}
	err := onThread(func() (err error) {
		if n.h, err = netns.New(); err != nil {
			return fmt.Errorf("namespace %s: create: %w%s", name, err, remedy(err))
		}
		if n.nl, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
			return fmt.Errorf("namespace %s: netlink: %w", name, err)
		}
		if err = n.complete(); err != nil {
			return err
		}
		if err = n.prepare(); err != nil {
			return err
		}
		if named != nil {
			if err = named(n.ino); err != nil {
				return err
			}
		}
		return n.publish()
	})
	if err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

func existsError(name string) error {
	return fmt.Errorf("namespace %s: %w and is not part of this fabric; choose another node name, or remove it with: ip netns del %s",
		name, ErrExists, name)
}

// remedy says what to do about a refusal.
func remedy(err error) string {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return " (run as root; in a container, with CAP_SYS_ADMIN and CAP_NET_ADMIN)"
	}
	return ""
}

// publish gives the namespace of the present thread its name.
func (n *NS) publish() error {
	path := n.Path()
	if err := mountPoint(path, n.mark.String()); err != nil {
		if errors.Is(err, os.ErrExist) {
			return existsError(n.name)
		}
		return fmt.Errorf("namespace %s: %w", n.name, err)
	}
	self := fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid())
	if err := unix.Mount(self, path, "none", unix.MS_BIND, ""); err != nil {
		os.Remove(path)
		return fmt.Errorf("namespace %s: mount on %s: %w%s", n.name, path, err, remedy(err))
	}
	return nil
}

// mountPoint makes the file to mount on, with its content, in one step that
// fails if something is there: between the two steps of another way a kill
// would leave an empty file that nobody could attribute.
func mountPoint(path, content string) error {
	fd, err := unix.Open(Dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o444)
	if err != nil {
		return mountPoint2(path, content)
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte(content)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return nil
}

// mountPoint2 is for file systems without O_TMPFILE.
func mountPoint2(path, content string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(content)
	return err
}
