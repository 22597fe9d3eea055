package vm

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"cnuas/internal/vm/agent"
)

var (
	// early are the modules without which the guest cannot serve.
	early = []string{"virtio_pci", "virtio_console"}
	// earlyHost are those that it needs to see the host's files.
	earlyHost = []string{"9pnet_virtio", "9p", "overlay"}
	// late are loaded if the kernel has them. crc32 was a module until 6.14;
	// rdma_rxe and siw ask modprobe for it, which a self-contained VM lacks.
	late = []string{"crc32_generic", "crc32c_generic", "tun", "ib_core", rxe, "ib_uverbs", "rdma_ucm", "ib_umad", "siw"}
	// lateSelf are for what modprobe would load on demand.
	lateSelf = []string{"veth", "bridge", "dummy", "af_packet", "udp_diag", "tcp_diag", "sch_fq_codel", "ipv6"}
)

// writeInitramfs writes what the guest starts from.
func writeInitramfs(w io.Writer, cfg *Config) error {
	m := NewImage(w)
	boot := agent.Boot{HostRoot: !cfg.SelfContained}
	if boot.HostRoot && cfg.Kernel.Dir != "/" {
		boot.Tree = cfg.Kernel.Dir
	}
	if err := m.agent(cfg.Agent); err != nil {
		return err
	}
	if err := m.modules(cfg, &boot); err != nil {
		return err
	}
	b, err := json.Marshal(boot)
	if err != nil {
		return err
	}
	if err := m.File("/"+agent.BootFile, 0o644, b); err != nil {
		return err
	}
	for _, d := range []string{"/proc", "/sys", "/dev", "/run", "/tmp"} {
		if err := m.Dir(d); err != nil {
			return err
		}
	}
	if cfg.SelfContained {
		if err := m.selfContained(cfg.With); err != nil {
			return err
		}
	}
	return m.Close()
}

// modules adds the modules and lists them in boot.
func (m *Image) modules(cfg *Config, boot *agent.Boot) error {
	d := cfg.Kernel.deps
	need := early
	if boot.HostRoot {
		need = append(append([]string(nil), early...), earlyHost...)
	}
	first, missing := d.Closure(need...)
	if len(missing) > 0 {
		return fmt.Errorf("kernel %s lacks what a lab VM needs to boot: %s; choose another with --kernel DIR, or run: cnuas vm fetch", cfg.Kernel.Release, strings.Join(missing, ", "))
	}
	want := late
	if cfg.SelfContained {
		want = append(append([]string(nil), late...), lateSelf...)
	}
	for _, name := range cfg.Modules {
		if !d.has(name) {
			return fmt.Errorf("kernel %s has no module %s", cfg.Kernel.Release, name)
		}
	}
	all, _ := d.Closure(append(append(append([]string(nil), need...), want...), cfg.Modules...)...)
	for i, name := range all {
		b, err := d.Read(name)
		if err != nil {
			return err
		}
		if err := m.File(filepath.Join(agent.ModuleDir, name+".ko"), 0o644, b); err != nil {
			return err
		}
		boot.Modules = append(boot.Modules, agent.BootModule{Name: name, Early: i < len(first)})
	}
	return nil
}

// agent adds this program as process 1.
func (m *Image) agent(path string) error {
	if path == "" {
		// By number: the loader, which is asked for the libraries, has a "self" of
		// its own.
		path = fmt.Sprintf("/proc/%d/exe", os.Getpid())
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("initramfs: this program: %w", err)
	}
	// A program that was linked dynamically, as one built with cgo is, comes
	// with its libraries.
	if interpreter(path) != "" {
		l, err := closure(path, "")
		if err != nil {
			return err
		}
		for _, p := range l {
			if err := m.host(p); err != nil {
				return err
			}
		}
	}
	return m.File("/init", 0o755, loadable(b))
}

// loadable cuts off what is not loaded when an ELF program starts, symbols and
// debugging information: a third of a Go program. What it cannot judge it
// returns as it is.
func loadable(b []byte) []byte {
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil || f.Class != elf.ELFCLASS64 {
		return b
	}
	end := uint64(0)
	for _, p := range f.Progs {
		end = max(end, p.Off+p.Filesz)
	}
	if end < 64 || end > uint64(len(b)) {
		return b
	}
	b = bytes.Clone(b[:end])
	// e_shoff, and e_shentsize, e_shnum and e_shstrndx: there are no sections.
	binary.LittleEndian.PutUint64(b[40:], 0)
	clear(b[58:64])
	return b
}
