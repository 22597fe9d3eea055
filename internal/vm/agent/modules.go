package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// moduleFiles are modules of the initramfs, open: after the root moved their
// names lead nowhere.
type moduleFiles []moduleFile

type moduleFile struct {
	BootModule
	f   *os.File
	err error
}

func openModules(l []BootModule) (early, rest moduleFiles) {
	for _, m := range l {
		path := filepath.Join("/", ModuleDir, m.Name+".ko")
		f, err := os.Open(path)
		os.Remove(path) // frees its memory once it is loaded and closed
		if m.Early {
			early = append(early, moduleFile{m, f, err})
		} else {
			rest = append(rest, moduleFile{m, f, err})
		}
	}
	return early, rest
}

// load loads them in order and adds the names to done. One that fails does not
// keep the rest from being tried.
func (l moduleFiles) load(done *[]string) error {
	var errs []error
	for _, m := range l {
		err := m.err
		if err == nil {
			err = unix.FinitModule(int(m.f.Fd()), "", 0)
			m.f.Close()
		}
		if err != nil && !errors.Is(err, unix.EEXIST) {
			errs = append(errs, fmt.Errorf("kernel module %s: %w", m.Name, err))
			continue
		}
		*done = append(*done, m.Name)
	}
	return errors.Join(errs...)
}
