package vm

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const depFile = `kernel/net/9p/9pnet.ko.xz: kernel/fs/netfs/netfs.ko
kernel/fs/netfs/netfs.ko:
kernel/fs/9p/9p.ko: kernel/net/9p/9pnet.ko.xz kernel/fs/netfs/netfs.ko
kernel/drivers/a-b.ko.zst: kernel/fs/9p/9p.ko kernel/net/9p/9pnet.ko.xz kernel/fs/netfs/netfs.ko
`

func TestClosureOfModules(t *testing.T) {
	m := &Modules{builtin: map[string]bool{"virtio": true}}
	if err := m.parse([]byte(depFile)); err != nil {
		t.Fatal(err)
	}
	order, missing := m.Closure("a_b", "virtio", "9p", "nope", "a-b")
	if want := []string{"netfs", "9pnet", "9p", "a_b"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	if !slices.Equal(missing, []string{"nope"}) {
		t.Errorf("missing %v", missing)
	}
	for name, want := range map[string]bool{"a-b": true, "a_b": true, "virtio": true, "nope": false, "": false} {
		if m.has(name) != want {
			t.Errorf("has(%q) = %v", name, !want)
		}
	}
	for _, bad := range []string{"no colon", ": x", "a.ko\n"} {
		if (&Modules{}).parse([]byte(bad)) == nil {
			t.Errorf("%q was understood", bad)
		}
	}
}

// TestClosureEnds: a broken file may name a circle.
func TestClosureEnds(t *testing.T) {
	m := &Modules{}
	m.parse([]byte("a.ko: b.ko\nb.ko: a.ko\n"))
	if order, _ := m.Closure("a"); len(order) != 2 {
		t.Error(order)
	}
}

func FuzzModulesDep(f *testing.F) {
	f.Add([]byte(depFile))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &Modules{}
		if m.parse(b) != nil {
			return
		}
		var names []string
		for n := range m.file {
			names = append(names, n)
		}
		order, _ := m.Closure(names...)
		if len(order) != len(names) {
			t.Errorf("%d of %d", len(order), len(names))
		}
	})
}

func TestReadModule(t *testing.T) {
	dir := t.TempDir()
	elf := []byte("\x7fELF and so on")
	signature := append([]byte("SIGNATURE"), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9)
	signed := append(append(append([]byte(nil), elf...), signature...), signatureMagic...)
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(signed)
	w.Close()
	for name, b := range map[string][]byte{"a.ko": elf, "b.ko": signed, "c.ko.gz": z.Bytes(), "bad.ko": []byte("x")} {
		os.WriteFile(filepath.Join(dir, name), b, 0o644)
	}
	m := &Modules{dir: dir, file: map[string]string{"a": "a.ko", "b": "b.ko", "c": "c.ko.gz", "bad": "bad.ko", "gone": "gone.ko"}}
	for _, name := range []string{"a", "b", "c"} {
		if b, err := m.Read(name); err != nil || !bytes.Equal(b, elf) {
			t.Errorf("%s: %q %v", name, b, err)
		}
	}
	for _, name := range []string{"bad", "gone", "unknown"} {
		if _, err := m.Read(name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, b := range []string{signatureMagic, "xx" + signatureMagic, "\x7fELF12345678\xff\xff\xff\xff" + signatureMagic} {
		if got := unsigned([]byte(b)); string(got) != b {
			t.Errorf("%q was cut to %q", b, got)
		}
	}
}

func TestNewer(t *testing.T) {
	in := []string{"6.1.0-57-amd64", "7.10.1+deb13-amd64", "7.3.4+deb13-amd64", "7.3.10+deb13-amd64", "7.3.4"}
	slices.SortFunc(in, func(a, b string) int {
		if newer(a, b) {
			return -1
		}
		return 1
	})
	want := "7.10.1+deb13-amd64 7.3.10+deb13-amd64 7.3.4+deb13-amd64 7.3.4 6.1.0-57-amd64"
	if strings.Join(in, " ") != want {
		t.Error(in)
	}
}
