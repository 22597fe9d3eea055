package vm

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
)

// Config says what VM to start. The zero value of all but Kernel is a default.
type Config struct {
	Kernel        *Kernel
	Accel         string    // "kvm" or "tcg"; "" is KVM where it works, see Accelerator
	CPUs          int       // 0 is 2, or 1 on a machine with one processor
	MemoryMB      int       // 0 is 2048
	SelfContained bool      // the guest sees nothing of this machine's files
	With          []string  // programs a self-contained VM has beside the standard ones
	Modules       []string  // kernel modules to load beside the standard ones
	Log           io.Writer // progress and warnings, or nil
	Agent         string    // program to run as process 1; "" is this one
}

// minMemoryMB is less than what a guest needs that has programs in memory.
const minMemoryMB = 256

// qemuName is the emulator of the only kind of machine that is supported.
const qemuName = "qemu-system-x86_64"

// complete checks the configuration and fills in defaults.
func (c *Config) complete() error {
	if c.Kernel == nil {
		return errors.New("lab VM: no kernel given")
	}
	if c.CPUs == 0 {
		c.CPUs = min(2, runtime.NumCPU())
	}
	if c.MemoryMB == 0 {
		c.MemoryMB = 2048
	}
	if c.CPUs < 1 || c.CPUs > 64 {
		return fmt.Errorf("lab VM: %d processors: 1 to 64 are possible", c.CPUs)
	}
	if c.MemoryMB < minMemoryMB {
		return fmt.Errorf("lab VM: %d MB of memory: at least %d are needed", c.MemoryMB, minMemoryMB)
	}
	if len(c.With) > 0 && !c.SelfContained {
		return errors.New("lab VM: programs to take along (--with) go with a self-contained VM; another one sees all of this machine's")
	}
	return nil
}

func (c *Config) logf(format string, args ...any) {
	if c.Log != nil {
		fmt.Fprintf(c.Log, format+"\n", args...)
	}
}

// qemu finds the emulator.
func qemu() (string, error) {
	if runtime.GOARCH != "amd64" {
		return "", fmt.Errorf("lab VM: a %s machine is not supported, only amd64", runtime.GOARCH)
	}
	path, err := exec.LookPath(qemuName)
	if err != nil {
		return "", fmt.Errorf("lab VM: %s is not installed; run: apt-get install qemu-system-x86", qemuName)
	}
	return path, nil
}

// bootID distinguishes boots of this machine.
func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(b)
}
