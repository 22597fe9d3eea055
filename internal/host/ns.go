package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Dir is where named namespaces are, as `ip netns` has them.
const Dir = "/run/netns"

// NS is a named network namespace, held open.
type NS struct {
	name string
	mark Marker
	h    netns.NsHandle
	ino  uint64
	nl   *netlink.Handle
}

// Path is where a namespace of that name is mounted.
func Path(name string) string { return filepath.Join(Dir, name) }

// Name is the name of the namespace.
func (n *NS) Name() string { return n.name }

// Path is where the namespace is mounted.
func (n *NS) Path() string { return Path(n.name) }

// FD is a descriptor of the namespace, for setns; it stays owned by n.
func (n *NS) FD() int { return int(n.h) }

// Inode is the number by which the kernel tells namespaces apart.
func (n *NS) Inode() uint64 { return n.ino }

// Open opens the existing namespace of that name.
func Open(name string) (*NS, error) {
	if err := ValidName(name); err != nil {
		return nil, err
	}
	h, err := netns.GetFromName(name)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("namespace %s: no such namespace: %w", name, err)
		}
		return nil, fmt.Errorf("namespace %s: open: %w", name, err)
	}
	n := &NS{name: name, h: h}
	if err := n.complete(); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// complete fills what follows from the handle.
func (n *NS) complete() error {
	ino, ok := nsInode(int(n.h))
	if !ok {
		return fmt.Errorf("namespace %s: %s is not a network namespace", n.name, n.Path())
	}
	n.ino = ino
	if n.nl != nil {
		return nil
	}
	// Not netlink.NewHandleAt: it moves a pooled thread there and back, and
	// ignores the error if the way back fails.
	return n.In(func() (err error) {
		if n.nl, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
			return fmt.Errorf("namespace %s: netlink: %w", n.name, err)
		}
		return nil
	})
}

// nsInode returns the inode of an open namespace; false if fd is another file.
func nsInode(fd int) (uint64, bool) {
	var fs unix.Statfs_t
	var st unix.Stat_t
	if unix.Fstatfs(fd, &fs) != nil || fs.Type != unix.NSFS_MAGIC || unix.Fstat(fd, &st) != nil {
		return 0, false
	}
	return st.Ino, true
}

// Close lets go of the namespace, which stays.
func (n *NS) Close() error {
	if n.nl != nil {
		n.nl.Close()
		n.nl = nil
	}
	if !n.h.IsOpen() {
		return nil
	}
	return n.h.Close()
}
