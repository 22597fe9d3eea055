package vm

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cnuas/internal/simtest"
)

func TestDebianMirror(t *testing.T) {
	for in, want := range map[string]string{
		"": " ",
		"http://x/sec|b|Debian|Debian-Security|main|amd64\nhttp://x/debian/|b-updates|Debian|Debian|main|amd64\n": "http://x/debian/ b",
		"http://u|noble|Ubuntu|Ubuntu|main|amd64\n":                                                               " ",
		"garbage\n|b|Debian|Debian|main|amd64":                                                                    " ",
	} {
		if uri, suite := debianMirror(in); uri+" "+suite != want {
			t.Errorf("%q: %q %q", in, uri, suite)
		}
	}
}

func TestParsePackage(t *testing.T) {
	p := parsePackage("Package: linux-image-x\nVersion: 7.3.4-1~bpo13+1\nDepends: dracut | initramfs-tools (>= 1), linux-modules-x (= 7), kmod:any\nSize: 14138336\n\nPackage: other\n")
	if p.name != "linux-image-x" || p.version != "7.3.4-1~bpo13+1" || p.size != 14138336 || strings.Join(p.depends, " ") != "dracut linux-modules-x kmod" {
		t.Errorf("%+v", p)
	}
}

// fakeTree makes a directory that looks like an unpacked kernel.
func fakeTree(t *testing.T, dir, release string) {
	t.Helper()
	m := filepath.Join(dir, "lib/modules", release)
	if err := os.MkdirAll(m, 0o755); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(m, "vmlinuz"), []byte("x"), 0o644)
	os.WriteFile(filepath.Join(m, "modules.dep"), []byte("kernel/a.ko:\n"), 0o644)
}

func TestFindKernel(t *testing.T) {
	cache := t.TempDir()
	t.Setenv(EnvCacheDir, cache)
	if k := cached(); k != nil {
		t.Error(k)
	}
	for _, r := range []string{"7.3.4+deb13-amd64", "7.10.0+deb13-amd64"} {
		fakeTree(t, filepath.Join(cache, "kernels", r), r)
	}
	os.MkdirAll(filepath.Join(cache, "kernels", "9.9.9-empty"), 0o755)
	k, err := FindKernel("")
	if err != nil || k.Release != "7.10.0+deb13-amd64" || !k.HasModule("a") || k.HasModule(rxe) {
		t.Fatalf("%+v %v", k, err)
	}
	if same, err := Fetch(context.Background(), nil); err != nil || same.Dir != k.Dir {
		t.Error(same, err)
	}
	if _, err := FindKernel(filepath.Join(cache, "nowhere")); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Error(err)
	}
	if _, err := FindKernel(cache); err == nil {
		t.Error("a directory without a kernel is one")
	}
	// A kernel that this package did not fetch is not written to.
	other := t.TempDir()
	fakeTree(t, other, "7.3.4")
	if k, err = FindKernel(other); err != nil {
		t.Fatal(err)
	}
	if err := BuildSIW(context.Background(), k, nil); err == nil || !strings.Contains(err.Error(), other) {
		t.Error(err)
	}
}

// TestFetchThatIsInterrupted leaves neither a kernel nor its rests.
func TestFetchThatIsInterrupted(t *testing.T) {
	cache := t.TempDir()
	t.Setenv(EnvCacheDir, cache)
	left := filepath.Join(cache, tmpPrefix+"killed", "tree")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Fetch(ctx, nil); err == nil {
		t.Error("it fetched")
	} else if _, none := tool("apt-get", ""); none == nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if l, _ := filepath.Glob(filepath.Join(cache, tmpPrefix+"*")); len(l) > 0 {
		t.Errorf("left: %v", l)
	}
	if cached() != nil {
		t.Error("there is a kernel")
	}
}

func TestConfig(t *testing.T) {
	k := &Kernel{}
	for _, c := range []struct {
		c    Config
		want string
	}{
		{Config{}, "no kernel"},
		{Config{Kernel: k, CPUs: 65}, "65 processors"},
		{Config{Kernel: k, CPUs: -1}, "-1 processors"},
		{Config{Kernel: k, MemoryMB: 10}, "10 MB"},
		{Config{Kernel: k, With: []string{"x"}}, "--with"},
	} {
		if _, err := Start(context.Background(), c.c); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	t.Setenv(EnvAccel, "turbo")
	if _, _, err := Accelerator(context.Background()); err == nil || !strings.Contains(err.Error(), "turbo") {
		t.Error(err)
	}
}

// TestArchiveOutOfReach: apt does not pass it over, which would end in an error
// about a package that is not in the lists.
func TestArchiveOutOfReach(t *testing.T) {
	simtest.Need(t, "apt-get", "apt-cache", "dpkg")
	dir := t.TempDir()
	a, err := newApt(dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\n[ \"$1\" = indextargets ] && echo 'http://127.0.0.1:9/debian/|bookworm|Debian|Debian|main|amd64' && exit\nexec " + a.get + " -o Acquire::http::Proxy=DIRECT -o Acquire::Retries=0 \"$@\"\n"
	a.get = filepath.Join(dir, "get")
	if err := os.WriteFile(a.get, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := a.use(context.Background(), ""); err == nil || !strings.Contains(err.Error(), "127.0.0.1:9") {
		t.Errorf("%v", err)
	}
}
