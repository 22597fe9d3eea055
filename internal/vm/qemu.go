package vm

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"cnuas/internal/vm/agent"
)

// commandLine are the parameters of the guest's kernel. Most save time in an
// emulated processor; the figures were measured with Linux 7.3 under TCG.
var commandLine = []string{
	agent.Token,
	"console=ttyS0", "quiet",
	"panic=-1", // reboot at once, which ends QEMU
	"mitigations=off", "tsc=reliable",
	"rodata=off",          // 0.6 s: no splitting of large pages
	"cryptomgr.notests=1", // 0.3 s
	"init_on_alloc=0",     // 0.7 s: pages are not cleared twice
	"initcall_blacklist=load_system_certificate_list", // 0.5 s: no keys for signatures of modules, which are cut off
}

// arguments of QEMU. The guest's files are descriptors that it inherits: port
// is its end of the serial port.
func arguments(cfg *Config, accel, kernel string, port, initrd int) []string {
	l := []string{
		"-M", "q35", "-m", strconv.Itoa(cfg.MemoryMB), "-smp", strconv.Itoa(cfg.CPUs),
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
		"-kernel", kernel, "-initrd", fmt.Sprintf("/proc/self/fd/%d", initrd),
		"-append", strings.Join(commandLine, " "),
		"-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
		"-chardev", fmt.Sprintf("socket,id=agent,fd=%d", port),
		"-device", "virtio-serial-pci", "-device", "virtserialport,chardev=agent,name=" + agent.PortName,
	}
	if accel == "kvm" {
		l = append(l, "-accel", "kvm", "-cpu", kvmCPU)
	} else {
		// A processor with fewer features boots faster when emulated: there is
		// less to detect, and to switch to. rdrand gives the kernel randomness
		// from the start.
		l = append(l, "-accel", "tcg,thread=multi,tb-size=512", "-cpu", "Nehalem,+rdrand")
	}
	if !cfg.SelfContained {
		l = append(l, "-virtfs", "local,path=/,mount_tag="+agent.HostTag+",security_model=none,readonly=on,multidevs=remap")
	}
	return l
}

// kernelFile returns the path of what QEMU is to start, and the file to keep
// open and pass as descriptor fd if that is in memory.
func (k *Kernel) kernelFile(fd int) (path string, f *os.File, err error) {
	if k.VMLinux != "" {
		return k.VMLinux, nil, nil
	}
	b, err := os.ReadFile(k.Image)
	if err != nil {
		return "", nil, fmt.Errorf("kernel %s: %w", k.Release, err)
	}
	v, err := extractVMLinux(b)
	if err != nil {
		return k.Image, nil, nil // QEMU starts it the long way
	}
	if f, err = MemFile("vmlinux", v); err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d", fd), f, nil
}
