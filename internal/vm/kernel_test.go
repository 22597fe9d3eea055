package vm

import (
	"strings"
	"testing"
)

// The words are QEMU's for a vmlinux that is cut off, empty, and random.
func TestKernelRemedy(t *testing.T) {
	t.Setenv(EnvCacheDir, "/cache")
	cached, other := &Kernel{Dir: "/cache/kernels/7", Release: "7"}, &Kernel{Dir: "/opt/k", Release: "7"}
	for _, said := range []string{
		"qemu-system-x86_64: Error while loading elf kernel",
		"qemu: could not load kernel '/cache/kernels/7/lib/modules/7/vmlinux': No such file or directory",
		"qemu: linux kernel too old to load a ram disk",
	} {
		if s := kernelRemedy(cached, said); !strings.Contains(s, "remove /cache/kernels/7,") {
			t.Errorf("%q: %q", said, s)
		}
		if s := kernelRemedy(other, said); !strings.Contains(s, "/opt/k") || strings.Contains(s, "remove") {
			t.Errorf("%q, not in the cache: %q", said, s)
		}
	}
	if s := kernelRemedy(cached, "cannot set up guest memory 'pc.ram': Cannot allocate memory"); s != "" {
		t.Errorf("no memory: %q", s)
	}
}
