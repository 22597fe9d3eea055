package host

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

var rootOnce struct {
	sync.Mutex
	done bool
}

// mountRoot makes Dir a mount whose changes spread to other mount namespaces,
// as `ip netns add` does: otherwise a namespace that is removed here stays
// mounted, and its devices alive, in each service that has a private view.
func mountRoot() error {
	rootOnce.Lock()
	defer rootOnce.Unlock()
	if rootOnce.done {
		return nil
	}
	if err := os.MkdirAll(Dir, 0o755); err != nil {
		return fmt.Errorf("namespaces: %w%s", err, remedy(err))
	}
	// iproute2 takes the same lock, so that two do not mount Dir on itself.
	if d, err := os.Open(Dir); err == nil {
		defer d.Close()
		unix.Flock(int(d.Fd()), unix.LOCK_EX)
	}
	err := unix.Mount("", Dir, "none", unix.MS_SHARED|unix.MS_REC, "")
	if err == unix.EINVAL { // Dir is not a mount yet
		if err = unix.Mount(Dir, Dir, "none", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("namespaces: bind %s: %w%s", Dir, err, remedy(err))
		}
		err = unix.Mount("", Dir, "none", unix.MS_SHARED|unix.MS_REC, "")
	}
	if err != nil {
		return fmt.Errorf("namespaces: make %s shared: %w%s", Dir, err, remedy(err))
	}
	rootOnce.done = true
	return nil
}
