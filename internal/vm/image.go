package vm

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cavaliergopher/cpio"
)

// Image is an initramfs that is being written (Linux
// Documentation/driver-api/early-userspace/buffer-format.rst). It is not
// compressed: it goes from memory to memory.
type Image struct {
	w    *cpio.Writer
	have map[string]bool // paths that are in it, without the leading slash
}

// NewImage begins an initramfs; Close ends it.
func NewImage(w io.Writer) *Image {
	return &Image{cpio.NewWriter(w), map[string]bool{}}
}

// Close writes the end.
func (m *Image) Close() error { return m.w.Close() }

// add writes one entry, and the directories above it, unless it is there. A
// symbolic link is a file that holds its target.
func (m *Image) add(path string, mode cpio.FileMode, link string, data []byte) error {
	name := strings.TrimPrefix(filepath.Clean("/"+path), "/")
	if name == "" || m.have[name] {
		return nil
	}
	if err := m.Dir(filepath.Dir(name)); err != nil {
		return err
	}
	m.have[name] = true
	if link != "" {
		data = []byte(link)
	}
	if err := m.w.WriteHeader(&cpio.Header{Name: name, Mode: mode, Size: int64(len(data))}); err != nil {
		return fmt.Errorf("initramfs: %s: %w", name, err)
	}
	_, err := m.w.Write(data)
	return err
}

// Dir adds a directory, and those above it, as the others do.
func (m *Image) Dir(path string) error {
	if path == "." || path == "/" {
		return nil
	}
	return m.add(path, cpio.TypeDir|0o755, "", nil)
}

// File adds a file.
func (m *Image) File(path string, mode fs.FileMode, data []byte) error {
	return m.add(path, cpio.TypeReg|cpio.FileMode(mode.Perm()), "", data)
}

// Symlink adds a symbolic link.
func (m *Image) Symlink(path, target string) error {
	return m.add(path, cpio.TypeSymlink|0o777, target, nil)
}

// host copies a file of this machine to the same path, with the symbolic links
// on the way to it, so that every path that leads to it here does there.
func (m *Image) host(path string) error {
	parts := strings.Split(strings.Trim(filepath.Clean(path), "/"), "/")
	at, links := "/", 0
	for len(parts) > 0 {
		next := filepath.Join(at, parts[0])
		parts = parts[1:]
		st, err := os.Lstat(next)
		if err != nil {
			return err
		}
		if st.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links++; links > 40 {
			return fmt.Errorf("%s: too many symbolic links", path)
		}
		to, err := os.Readlink(next)
		if err != nil {
			return err
		}
		if err := m.Symlink(next, to); err != nil {
			return err
		}
		rest := strings.Split(strings.Trim(filepath.Clean(to), "/"), "/")
		if filepath.IsAbs(to) {
			at = "/"
		}
		if to == "/" {
			rest = nil
		}
		parts = append(rest, parts...)
	}
	st, err := os.Stat(at)
	switch {
	case err != nil:
		return err
	case st.IsDir():
		return m.Dir(at)
	case !st.Mode().IsRegular():
		return errors.New(at + " is no regular file")
	}
	b, err := os.ReadFile(at)
	if err != nil {
		return err
	}
	return m.File(at, st.Mode(), b)
}
