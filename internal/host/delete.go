package host

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Delete removes the namespace's name and lets go of it. The kernel takes the
// namespace apart, without anybody waiting, when the last process in it ends
// and the last descriptor is closed: TAPs in it are closed by their owners.
//
// Only what carries the marker that n was created with is removed; if the name
// belongs to something else by now, ErrNotOurs is returned and n is closed.
func (n *NS) Delete() error {
	defer n.Close()
	_, err := remove(n.name, n.mark.Token)
	return err
}

// remove removes the namespace or the bare mount point of that name if it
// carries the token. It reports whether there was anything; nothing there is no
// error.
func remove(name, token string) (bool, error) {
	path := Path(name)
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("namespace %s: open %s: %w", name, path, err)
	}
	_, mounted := nsInode(fd)
	unix.Close(fd)
	if mounted {
		if err := unmount(name, token); err != nil {
			return false, err
		}
	}
	b, err := readMarker(path)
	if err != nil || b.Token != token {
		if mounted { // somebody took the name in this moment
			return true, nil
		}
		return false, fmt.Errorf("namespace %s: %s: %w", name, path, ErrNotOurs)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("namespace %s: %w", name, err)
	}
	return true, nil
}

// unmount takes the namespace off its name if it is marked with the token.
func unmount(name, token string) error {
	n, err := Open(name)
	if err != nil {
		return err
	}
	defer n.Close()
	if m, ok := n.Marker(); !ok || m.Token != token {
		return fmt.Errorf("namespace %s: %w", name, ErrNotOurs)
	}
	if err := unix.Unmount(Path(name), unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
		return fmt.Errorf("namespace %s: unmount: %w%s", name, err, remedy(err))
	}
	return nil
}

// readMarker reads the marker in a mount point.
func readMarker(path string) (Marker, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return Marker{}, err
	}
	defer unix.Close(fd)
	b := make([]byte, 256)
	k, err := unix.Read(fd, b)
	if err != nil {
		return Marker{}, err
	}
	m, ok := ParseMarker(string(b[:max(k, 0)]))
	if !ok {
		return Marker{}, ErrNotOurs
	}
	return m, nil
}
