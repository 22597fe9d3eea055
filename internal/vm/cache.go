package vm

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// EnvCacheDir is the variable that moves the cache.
const EnvCacheDir = "CNUAS_CACHE_DIR"

// CacheDir is where fetched kernels are kept: $CNUAS_CACHE_DIR, else the
// user's cache directory, else /var/cache/cnuas.
func CacheDir() string {
	if d := os.Getenv(EnvCacheDir); filepath.IsAbs(d) {
		return d
	}
	if d, err := os.UserCacheDir(); err == nil && filepath.IsAbs(d) {
		return filepath.Join(d, "cnuas")
	}
	return "/var/cache/cnuas"
}

func kernelsDir() string { return filepath.Join(CacheDir(), "kernels") }

// tmpPrefix begins the names of directories that are being filled. What a
// killed process left of them is removed under the lock by the next.
const tmpPrefix = ".tmp-"

// lockCache keeps a second fetch or build waiting until the first is done.
func lockCache() (unlock func(), err error) {
	dir := CacheDir()
	if err := os.MkdirAll(kernelsDir(), 0o755); err != nil {
		return nil, fmt.Errorf("cache: %w; set %s to a directory that can be written", err, EnvCacheDir)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cache: %w; set %s to a directory that can be written", err, EnvCacheDir)
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("cache: lock %s: %w", f.Name(), err)
	}
	removeStale(dir)
	return func() {
		// Programs that a killed fetch had started may have gone on for a while
		// after it, and filled again what was removed.
		removeStale(dir)
		f.Close()
	}, nil
}

// removeStale removes directories that nobody fills: the caller has the lock
// and is not, or no longer, at work.
func removeStale(dir string) {
	l, _ := filepath.Glob(filepath.Join(dir, tmpPrefix+"*"))
	for _, d := range l {
		os.RemoveAll(d)
	}
}
