package vm

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cavaliergopher/cpio"

	"cnuas/internal/simtest"
)

// entries reads an image back.
func entries(t *testing.T, b []byte) map[string]string {
	t.Helper()
	m := map[string]string{}
	r := cpio.NewReader(bytes.NewReader(b))
	for {
		h, err := r.Next()
		if err == io.EOF {
			return m
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := m[h.Name]; ok {
			t.Errorf("%s is there twice", h.Name)
		}
		if dir := filepath.Dir(h.Name); dir != "." && m[dir] != "dir" {
			t.Errorf("%s comes before its directory", h.Name)
		}
		switch {
		case h.Mode.IsDir():
			m[h.Name] = "dir"
		case h.Linkname != "":
			m[h.Name] = "-> " + h.Linkname
		default:
			c, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			m[h.Name] = string(c)
		}
	}
}

func TestImageKeepsPaths(t *testing.T) {
	dir := t.TempDir()
	os.MkdirAll(filepath.Join(dir, "real/sub"), 0o755)
	os.WriteFile(filepath.Join(dir, "real/sub/file"), []byte("content"), 0o755)
	os.Symlink("real", filepath.Join(dir, "link"))
	os.Symlink(filepath.Join(dir, "link/sub/file"), filepath.Join(dir, "name"))
	os.Symlink("loop", filepath.Join(dir, "loop"))
	var b bytes.Buffer
	m := NewImage(&b)
	for range 2 {
		if err := m.host(filepath.Join(dir, "name")); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []string{"loop", "absent"} {
		if m.host(filepath.Join(dir, bad)) == nil {
			t.Errorf("%s was added", bad)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	got := entries(t, b.Bytes())
	in := strings.TrimPrefix(dir, "/")
	for path, want := range map[string]string{"real/sub/file": "content", "link": "-> real", "name": "-> " + dir + "/link/sub/file"} {
		if got[in+"/"+path] != want {
			t.Errorf("%s is %q, want %q", path, got[in+"/"+path], want)
		}
	}
}

func TestClosureOfPrograms(t *testing.T) {
	sh := simtest.Need(t, "sh")
	l, err := closure(sh, "")
	if err != nil || len(l) == 0 {
		t.Fatal(l, err)
	}
	script := filepath.Join(t.TempDir(), "script")
	os.WriteFile(script, []byte("#! "+sh+" -e\n"), 0o755)
	s, err := closure(script, "")
	if err != nil || len(s) != len(l)+1 || s[len(s)-1] != sh {
		t.Error(s, err)
	}
	for _, text := range []string{"", "text", "#!\n"} {
		os.WriteFile(script, []byte(text), 0o755)
		if l, err := closure(script, ""); len(l) > 0 || text == "#!\n" && err == nil {
			t.Errorf("%q: %v %v", text, l, err)
		}
	}
}

func TestParseList(t *testing.T) {
	l, err := parseList("\tlinux-vdso.so.1 (0x1)\n\tlibc.so.6 => /lib/libc.so.6 (0x2)\n\t/lib64/ld.so (0x3)\n")
	if err != nil || strings.Join(l, " ") != "/lib/libc.so.6 /lib64/ld.so" {
		t.Error(l, err)
	}
	if _, err := parseList("\tlibx.so => not found\n"); err == nil || !strings.Contains(err.Error(), "libx.so") {
		t.Error(err)
	}
}

// TestLoadable: what is left of a program still runs.
func TestLoadable(t *testing.T) {
	sh := simtest.Need(t, "sh")
	b, err := os.ReadFile(sh)
	if err != nil {
		t.Fatal(err)
	}
	c := loadable(b)
	f, err := elf.NewFile(bytes.NewReader(c))
	if len(c) >= len(b) || err != nil || len(f.Sections) > 0 {
		t.Fatalf("%d of %d bytes, %v", len(c), len(b), err)
	}
	p := filepath.Join(t.TempDir(), "sh")
	os.WriteFile(p, c, 0o755)
	if out, err := exec.Command(p, "-c", "echo x").CombinedOutput(); string(out) != "x\n" {
		t.Errorf("%q %v", out, err)
	}
	if got := loadable([]byte("text")); string(got) != "text" {
		t.Errorf("%q", got)
	}
}

func FuzzExtractVMLinux(f *testing.F) {
	b := make([]byte, 0x400)
	copy(b[0x202:], "HdrS")
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := extractVMLinux(b); err != nil && !errors.Is(err, errNotUnpackable) {
			t.Error(err)
		}
		hasPVH(b)
		loadable(b)
	})
}

// TestAgentTakesItsLibrariesAlong: a program that was built with cgo is process
// 1 all the same, also when it names itself.
func TestAgentTakesItsLibrariesAlong(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", self} {
		var b bytes.Buffer
		m := NewImage(&b)
		if err := m.agent(path); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		libc := false
		for name := range entries(t, b.Bytes()) {
			libc = libc || strings.HasPrefix(filepath.Base(name), "libc.so")
		}
		if dynamic := interpreter(self) != ""; libc != dynamic {
			t.Errorf("agent %q: libc is there: %v; the program is dynamic: %v", path, libc, dynamic)
		}
	}
}
