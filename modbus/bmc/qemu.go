package bmc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"cnuas/internal/vm"
)

const qemuName = "qemu-system-arm"

// qemu finds the emulator.
func qemu() (string, error) {
	path, err := exec.LookPath(qemuName)
	if err != nil {
		return "", fmt.Errorf("%s is not installed; run: apt-get install qemu-system-arm", qemuName)
	}
	return path, nil
}

// Machines lists the boards with an ASPEED BMC that the emulator has.
func Machines(ctx context.Context) ([]string, error) {
	if _, err := qemu(); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := vm.RunTool(ctx, nil, &out, qemuName, "qemu-system-arm", "-M", "help"); err != nil {
		return nil, err
	}
	return parseMachines(out.String()), nil
}

// parseMachines picks from "NAME   DESCRIPTION" a line those whose description
// tells of a BMC, or the evaluation board of one, with a processor of ASPEED's:
// those of Nuvoton have a Cortex-A9.
func parseMachines(help string) (l []string) {
	for line := range strings.Lines(help) {
		name, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		board := strings.Contains(what, "BMC") || strings.Contains(what, "Aspeed")
		if board && !strings.Contains(what, "Cortex-A9") && !strings.Contains(what, "Cortex-M") {
			l = append(l, name)
		}
	}
	return l
}

// checkMachine refuses a board that is none of the emulator's.
func checkMachine(ctx context.Context, name string) error {
	l, err := Machines(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(l, name) {
		return fmt.Errorf("machine %q: QEMU has none of that name with a BMC; it has %s", name, strings.Join(l, ", "))
	}
	return nil
}

// files are the descriptors that QEMU inherits, by their number there; 0: none.
type files struct{ console, shell, net, initrd, flash int }

// arguments of QEMU.
func arguments(c *Config, f files, fmc flash) []string {
	machine := c.Machine
	l := []string{"-nodefaults", "-no-user-config", "-display", "none"}
	if c.Image != "" {
		machine += ",fmc-model=" + fmc.model
		l = append(l, "-drive", fmt.Sprintf("file=/proc/self/fd/%d,if=mtd,format=raw,file.locking=off", f.flash))
	} else {
		l = append(l, "-no-reboot", "-m", "512M", "-smp", "2", "-accel", "tcg,thread=multi,tb-size=128",
			"-kernel", standInPath(kernelFile), "-dtb", standInPath(treeFile), "-initrd", fmt.Sprintf("/proc/self/fd/%d", f.initrd),
			"-append", commandLine(c))
	}
	l = append(l, "-M", machine)
	serial := func(name string, fd int) {
		l = append(l, "-chardev", fmt.Sprintf("socket,id=%s,fd=%d", name, fd), "-serial", "chardev:"+name)
	}
	// The first serial port is the console's: UART5 of the AST2600.
	serial("console", f.console)
	if f.shell != 0 {
		serial("shell", f.shell)
	}
	if f.net != 0 {
		l = append(l, "-nic", fmt.Sprintf("socket,fd=%d,mac=%s", f.net, c.MAC))
	} else {
		l = append(l, "-nic", "none")
	}
	for i := range c.Bridges {
		l = append(l,
			"-chardev", fmt.Sprintf("socket,id=usb%d,path=%s,server=on,wait=off", i, c.usbSocket(i)),
			// One port each, also across the two buses: QEMU 7.2 aborts otherwise.
			"-device", fmt.Sprintf("usb-redir,id=bridge%d,chardev=usb%d,bus=usb-bus.0,port=%d", i, i, i+1))
	}
	return l
}

// commandLine of the stand-in's kernel.
func commandLine(c *Config) string {
	l := []string{"console=ttyS4,115200n8", "rdinit=/init", "quiet", "panic=-1", "random.trust_cpu=on", "cryptomgr.notests=1", "rodata=off",
		"cnuas.name=" + c.Name}
	if c.Addr.IsValid() && c.Net != nil {
		l = append(l, "cnuas.addr="+c.Addr.String())
	}
	return strings.Join(l, " ")
}

// remedy is what to do about something that QEMU said, or "".
func remedy(said string) string {
	for _, m := range []struct{ sign, do string }{
		{"'usb-redir' is not a valid device", "QEMU lacks its module for USB redirection; run: apt-get install qemu-system-common (Debian 12), or the package of your distribution that has hw-usb-redirect.so"},
		{"usb-bus.0", "the machine has no USB host controller that a bridge could be plugged into; choose another with --machine"},
		{"fmc-model", "the machine takes no flash of this size; choose another with --machine"},
		{"failed to read the initial flash content", "the image does not fit the machine's flash; choose another machine with --machine"},
		{"Invalid RAM size", "the machine wants another size of memory"},
	} {
		if strings.Contains(said, m.sign) {
			return m.do
		}
	}
	return ""
}

// errEnded is wrapped by what a guest that has ended is asked.
var errEnded = errors.New("the BMC has ended")
