package vm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Modules is what depmod wrote about the modules of a kernel.
type Modules struct {
	dir     string              // the files' names are below it
	file    map[string]string   // by name
	needs   map[string][]string // names of what must be loaded before, last first
	builtin map[string]bool
}

// moduleName is the name of a file's module: '-' and '_' are the same.
func moduleName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// ReadModules reads what depmod wrote into lib/modules/RELEASE.
func ReadModules(dir string) (*Modules, error) {
	m := &Modules{dir: dir}
	b, err := os.ReadFile(filepath.Join(dir, "modules.dep"))
	if err != nil {
		return nil, err
	}
	if err := m.parse(b); err != nil {
		return nil, fmt.Errorf("modules.dep: %w", err)
	}
	// A kernel without built-in modules is conceivable.
	b, _ = os.ReadFile(filepath.Join(dir, "modules.builtin"))
	m.builtin = map[string]bool{}
	for l := range strings.Lines(string(b)) {
		m.builtin[moduleName(strings.TrimSpace(l))] = true
	}
	return m, nil
}

// parse reads modules.dep: "FILE: FILE..." a line, with all that FILE needs,
// also indirectly; what stands further right is loaded first.
func (m *Modules) parse(b []byte) error {
	m.file, m.needs = map[string]string{}, map[string][]string{}
	for n, l := range bytes.Split(b, []byte("\n")) {
		l = bytes.TrimSpace(l)
		if len(l) == 0 || l[0] == '#' {
			continue
		}
		file, deps, ok := strings.Cut(string(l), ":")
		if !ok || file == "" || strings.HasSuffix(file, "/") || moduleName(file) == "" {
			return fmt.Errorf("line %d: %.60q", n+1, l)
		}
		name := moduleName(file)
		m.file[name] = file
		m.needs[name] = nil
		for _, d := range strings.Fields(deps) {
			m.needs[name] = append(m.needs[name], moduleName(d))
		}
	}
	return nil
}

func (m *Modules) has(name string) bool {
	name = moduleName(name)
	return m.file[name] != "" || m.builtin[name]
}

// Closure returns the files' modules to load for names, in an order in which
// each comes after what it needs. Built-in ones need no file; unknown ones are
// returned in missing.
func (m *Modules) Closure(names ...string) (order, missing []string) {
	done := map[string]bool{}
	var add func(string)
	add = func(name string) {
		if done[name] {
			return
		}
		done[name] = true
		if m.file[name] == "" {
			if !m.builtin[name] {
				missing = append(missing, name)
			}
			return
		}
		needs := m.needs[name]
		for i := len(needs) - 1; i >= 0; i-- {
			add(needs[i])
		}
		order = append(order, name)
	}
	for _, n := range names {
		add(moduleName(n))
	}
	return order, missing
}

// Read returns the module as the kernel takes it: unpacked, and without its
// signature, which a VM without the keys would only spend time on.
func (m *Modules) Read(name string) ([]byte, error) {
	file := m.file[moduleName(name)]
	if file == "" {
		return nil, fmt.Errorf("kernel module %s: %w", name, os.ErrNotExist)
	}
	path := file
	if !filepath.IsAbs(path) {
		path = filepath.Join(m.dir, file)
	}
	b, err := os.ReadFile(path)
	if err == nil {
		b, err = decompress(b)
	}
	if err == nil && !bytes.HasPrefix(b, []byte("\x7fELF")) {
		err = errors.New("is not an ELF file, nor one that is packed by gzip, xz or zstd")
	}
	if err != nil {
		return nil, fmt.Errorf("kernel module %s: %s: %w", name, path, err)
	}
	return unsigned(b), nil
}

const signatureMagic = "~Module signature appended~\n"

// unsigned cuts off the signature: it stands at the end, before it 12 bytes of
// which the last four are its length (struct module_signature).
func unsigned(b []byte) []byte {
	body, ok := bytes.CutSuffix(b, []byte(signatureMagic))
	if !ok || len(body) < 12 {
		return b
	}
	l := body[len(body)-4:]
	n := int(l[0])<<24 | int(l[1])<<16 | int(l[2])<<8 | int(l[3])
	if n > len(body)-12 {
		return b
	}
	return body[:len(body)-12-n]
}
