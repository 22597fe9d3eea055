package vm

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// closure returns the files that a program needs beside itself: its loader and
// libraries, as its loader finds them, or the interpreter of a script and what
// that needs. loader is used for shared libraries, which name none.
func closure(path, loader string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(f, 256).Peek(256)
	if s, ok := bytes.CutPrefix(line, []byte("#!")); ok {
		s, _, _ := bytes.Cut(s, []byte("\n"))
		w := strings.Fields(string(s))
		if len(w) == 0 {
			return nil, fmt.Errorf("%s: has no interpreter", path)
		}
		l, err := closure(w[0], loader)
		return append(l, w[0]), err
	}
	if l := interpreter(path); l != "" {
		loader = l
	} else if !strings.Contains(path, ".so") {
		return nil, nil // static
	}
	if loader == "" {
		return nil, nil
	}
	var stderr bytes.Buffer
	c := exec.Command(loader, "--list", path)
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		var e *exec.ExitError
		if errors.As(err, &e) {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
		}
		return nil, fmt.Errorf("libraries of %s: %w", path, err)
	}
	l, err := parseList(string(out))
	// A library that is too old is only complained about.
	if err == nil && strings.Contains(stderr.String(), "not found") {
		err = errors.New(strings.TrimSpace(stderr.String()))
	}
	if err != nil {
		return nil, fmt.Errorf("libraries of %s: %w", path, err)
	}
	return append(l, loader), nil
}

// parseList reads what the loader prints: "NAME => PATH (0xADDR)",
// "PATH (0xADDR)", and for the kernel's own "NAME (0xADDR)".
func parseList(out string) (l []string, err error) {
	for s := range strings.Lines(out) {
		s = strings.TrimSpace(s)
		if _, to, ok := strings.Cut(s, " => "); ok {
			if to == "not found" {
				return nil, errors.New(s)
			}
			s = to
		}
		if p, _, _ := strings.Cut(s, " ("); strings.HasPrefix(p, "/") {
			l = append(l, p)
		}
	}
	return l, nil
}

// interpreter is the loader that an ELF program names, or "".
func interpreter(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP && p.Filesz < 4096 {
			b := make([]byte, p.Filesz)
			if _, err := p.ReadAt(b, 0); err == nil {
				return string(bytes.TrimRight(b, "\x00"))
			}
		}
	}
	return ""
}

// program copies a program and all that it needs.
func (m *Image) program(path, loader string) error {
	need, err := closure(path, loader)
	if err != nil {
		return err
	}
	for _, p := range append(need, path) {
		if err := m.host(p); err != nil {
			return err
		}
	}
	return nil
}
