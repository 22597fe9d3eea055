package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Fabric is a fabric that has a directory.
type Fabric struct {
	Name  string
	Dir   string
	State State
	Alive bool // its daemon runs
}

// Fabrics lists the fabrics of this machine by name, the dead ones included.
func Fabrics() ([]Fabric, error) {
	es, err := os.ReadDir(RunDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("fabrics: %w", err)
	}
	var fs []Fabric
	for _, e := range es {
		if !e.IsDir() || ValidName(e.Name()) != nil {
			continue
		}
		f := Fabric{Name: e.Name(), Dir: FabricDir(e.Name())}
		if f.State, err = readState(f.Dir); err != nil {
			return nil, err
		}
		f.Alive = f.State.Daemon.Alive()
		fs = append(fs, f)
	}
	sort.Slice(fs, func(i, j int) bool { return fs[i].Name < fs[j].Name })
	return fs, nil
}

// readState reads a journal. A directory without one gives a zero State: the
// daemon was killed before it planned anything.
func readState(dir string) (s State, err error) {
	b, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err == nil && s.Version != stateVersion {
		err = fmt.Errorf("version %d is unknown; use the cnuas that brought the fabric up", s.Version)
	}
	if err != nil {
		return s, fmt.Errorf("journal %s: %w", filepath.Join(dir, stateFile), err)
	}
	return s, nil
}

// PlannedRDMA are the kernel RDMA devices that the fabric's journal names.
func PlannedRDMA(fabric string) ([]string, error) {
	if err := ValidName(fabric); err != nil {
		return nil, fmt.Errorf("fabric: %w", err)
	}
	s, err := readState(FabricDir(fabric))
	return s.RDMA, err
}

// ErrAlive: the fabric's daemon runs, so it has to be asked to end.
var ErrAlive = errors.New("its daemon is running")

// Cleanup removes what a dead fabric left: its namespaces, mounts in its
// directory and the directory. It returns the names of the namespaces that it
// removed. What carries the name but not the marker is somebody else's and is
// left. Interfaces, sockets and shared memory died with the daemon. A fabric
// without a directory is no error. Hold Lock meanwhile.
func Cleanup(fabric string) (removed []string, err error) {
	if err := ValidName(fabric); err != nil {
		return nil, fmt.Errorf("fabric: %w", err)
	}
	dir := FabricDir(fabric)
	if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	st, err := readState(dir)
	if err != nil {
		return nil, err
	}
	if st.Daemon.Alive() {
		return nil, fmt.Errorf("fabric %s: %w (process %d)", fabric, ErrAlive, st.Daemon.PID)
	}
	var errs []error
	for _, p := range st.Planned {
		if ValidName(p.Name) != nil || st.Marker.Token == "" {
			continue
		}
		ok, err := remove(p.Name, st.Marker.Token)
		if err != nil && !errors.Is(err, ErrNotOurs) {
			errs = append(errs, err)
		}
		if ok {
			removed = append(removed, p.Name)
		}
	}
	if len(errs) == 0 {
		if err := removeDir(dir); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return removed, fmt.Errorf("fabric %s: clean up: %w", fabric, err)
	}
	return removed, nil
}

// removeDir removes a fabric's directory and what is mounted in it. The state
// file goes last: until then another Cleanup finds its way.
func removeDir(dir string) error {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	lines := strings.Split(string(b), "\n")
	for i := len(lines) - 1; i >= 0; i-- { // the innermost come last
		f := strings.Fields(lines[i])
		if len(f) > 4 && strings.HasPrefix(f[4], dir+"/") {
			if err := unix.Unmount(f[4], unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
				return fmt.Errorf("unmount %s: %w", f[4], err)
			}
		}
	}
	es, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range es {
		if e.Name() != stateFile {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(dir)
}

// Lock holds the machine-wide lock under which fabrics come up and go down,
// until unlock is called or the process ends.
func Lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(RunDir, 0o755); err != nil {
		return nil, fmt.Errorf("lock: %w%s", err, remedy(err))
	}
	path := filepath.Join(RunDir, "lock")
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w%s", path, err, remedy(err))
	}
	for {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { unix.Close(fd) }, nil
		}
		if err != unix.EWOULDBLOCK && err != unix.EINTR {
			unix.Close(fd)
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			unix.Close(fd)
			return nil, fmt.Errorf("lock %s: another cnuas brings a fabric up or down: %w", path, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}
