package vm

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/internal/host"
)

// EnvAccel is the variable that overrides the choice of accelerator: kvm or
// tcg.
const EnvAccel = "CNUAS_VM_ACCEL"

// kvmLimit is how long the probe may take. Where KVM is there but does not
// work, a guest can hang in its first instruction; where it works, the guest
// ends within a fraction of a second.
const kvmLimit = 5 * time.Second

// Accelerator returns what a VM will run on: "kvm" if a guest really ran under
// it here, else "tcg", which emulates the processor, and why. The variable
// CNUAS_VM_ACCEL overrides it.
func Accelerator(ctx context.Context) (accel, why string, err error) {
	switch v := os.Getenv(EnvAccel); v {
	case "":
	case "kvm", "tcg":
		return v, EnvAccel + " says so", nil
	default:
		return "", "", fmt.Errorf("%s=%q: kvm or tcg is understood", EnvAccel, v)
	}
	path, err := qemu()
	if err != nil {
		return "", "", err
	}
	r := kvmResult(ctx, path)
	if r.OK {
		return "kvm", "a guest ran under KVM", nil
	}
	return "tcg", r.Why, nil
}

// kvmCPU is the processor under KVM: the host's, but without the register that
// lists its weaknesses, which a KVM inside a VM often cannot set. The guest does
// nothing about them anyway.
const kvmCPU = "host,-arch-capabilities"

// probed is a result of the probe that is remembered until the next boot.
type probed struct {
	Boot string `json:"boot"`
	Qemu string `json:"qemu"`
	OK   bool   `json:"ok"`
	Why  string `json:"why,omitempty"`
}

func kvmResult(ctx context.Context, qemu string) probed {
	// Cheap to find out and cheap to change: not remembered.
	f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return probed{Why: err.Error()}
	}
	f.Close()
	sum := sha256.Sum256([]byte(qemu + " " + kvmCPU))
	file := filepath.Join(host.RunDir, fmt.Sprintf("kvm-%x", sum[:6]))
	var r probed
	if b, err := os.ReadFile(file); err == nil && json.Unmarshal(b, &r) == nil && r.Boot == bootID() && r.Qemu == qemu {
		return r
	}
	r = probed{Boot: bootID(), Qemu: qemu, OK: true}
	if err := tryKVM(ctx, qemu); err != nil {
		r.OK, r.Why = false, err.Error()
		if ctx.Err() != nil {
			return r // we were interrupted: that says nothing
		}
	}
	// Whoever may not write there probes each time.
	if b, err := json.Marshal(r); err == nil && os.MkdirAll(host.RunDir, 0o755) == nil {
		tmp := fmt.Sprintf("%s.%d", file, os.Getpid())
		if os.WriteFile(tmp, b, 0o644) == nil {
			os.Rename(tmp, file)
		}
	}
	return r
}

// bootSector is a guest that writes 0x10 to port 0xf4, which ends QEMU.
var bootSector = func() []byte {
	b := make([]byte, 512)
	copy(b, []byte{
		0xba, 0xf4, 0x00, // mov dx, 0xf4
		0xb0, 0x10, // mov al, 0x10
		0xee,       // out dx, al
		0xf4,       // hlt
		0xeb, 0xfd, // jmp to hlt
	})
	b[510], b[511] = 0x55, 0xaa
	return b
}()

// bootSectorStatus is QEMU's exit status then: 2*value+1 (hw/misc/debugexit.c).
const bootSectorStatus = 0x10*2 + 1

// tryKVM runs the boot sector under KVM.
func tryKVM(ctx context.Context, qemu string) error {
	disk, err := MemFile("boot-sector", bootSector)
	if err != nil {
		return err
	}
	defer disk.Close()
	c := exec.Command(qemu, "-M", "pc", "-accel", "kvm", "-cpu", kvmCPU, "-m", "16", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
		"-device", "isa-debug-exit,iobase=0xf4,iosize=0x04",
		"-drive", "if=floppy,format=raw,readonly=on,file=/proc/self/fd/3", "-boot", "a")
	c.ExtraFiles = []*os.File{disk}
	out := NewTail(2048)
	p, err := StartProcess(c, out, out)
	if err != nil {
		return err
	}
	limit := time.NewTimer(kvmLimit)
	defer limit.Stop()
	select {
	case <-p.done:
	case <-limit.C:
		// A process that hangs in the kernel may not die: it is not waited for.
		c.Process.Kill()
		return fmt.Errorf("KVM: a guest of one instruction did not end within %v", kvmLimit)
	case <-ctx.Done():
		c.Process.Kill()
		return ctx.Err()
	}
	var e *exec.ExitError
	if errors.As(p.err, &e) && e.Sys().(syscall.WaitStatus).ExitStatus() == bootSectorStatus {
		return nil
	}
	line, _, _ := strings.Cut(out.String(), "\n")
	return fmt.Errorf("KVM: %v: %s", p.err, line)
}

// MemFile is a file in memory with the given content.
func MemFile(name string, b []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(b); err != nil {
		f.Close()
		return nil, fmt.Errorf("memfd: %w", err)
	}
	return f, nil
}
