package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// MaybeInit must be among the first calls in main. In process 1 of a lab VM it
// does not return; everywhere else it does nothing.
func MaybeInit() {
	if os.Getpid() != 1 {
		return
	}
	// Process 1 of a container may run this program too; there is no such file
	// in its root. The kernel's command line, which decides, needs /proc.
	if _, err := os.Stat("/" + BootFile); err != nil {
		return
	}
	if _, err := os.Stat("/proc/cmdline"); err != nil {
		if err := mount("proc", "/proc", "proc", 0, ""); err != nil {
			return
		}
	}
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil || !slices.Contains(strings.Fields(string(line)), Token) {
		return
	}
	// The default of these signals would end process 1, and with it the kernel.
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGPIPE)
	if err := (&guest{}).run(); err != nil {
		fmt.Fprintln(os.Stderr, "cnuas: lab VM:", err)
	}
	powerOff()
}

// powerOff ends the guest at once: nothing in it is worth a sync.
func powerOff() {
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	select {} // while the other processors stop
}

// guest is process 1 on its way to serving.
type guest struct {
	boot     Boot
	loaded   []string
	warnings []string
}

func (g *guest) warn(what string, err error) {
	if err != nil {
		g.warnings = append(g.warnings, fmt.Sprintf("%s: %v", what, err))
	}
}

// run serves the port until the host closes it.
func (g *guest) run() error {
	b, err := os.ReadFile("/" + BootFile)
	if err == nil {
		err = json.Unmarshal(b, &g.boot)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", BootFile, err)
	}
	if err := mountKernel(); err != nil {
		return err
	}
	early, rest := openModules(g.boot.Modules)
	if err := early.load(&g.loaded); err != nil {
		return err
	}
	// The other modules do not matter for the root: one processor loads them,
	// the other goes on.
	late := make(chan error, 1)
	var lateLoaded []string
	go func() { late <- rest.load(&lateLoaded) }()
	if g.boot.HostRoot {
		if err := hostRoot(); err != nil {
			return err
		}
	}
	if err := g.furnish(); err != nil {
		return err
	}
	port, err := openPort()
	if err != nil {
		return err
	}
	g.warn("modules", <-late)
	g.loaded = append(g.loaded, lateLoaded...)
	g.afterModules()
	s := &server{run: starter{init: true}, env: os.Environ(), powerOff: powerOff}
	s.hello = Hello{Release: release(), UptimeMS: uptime().Milliseconds(), Modules: g.loaded, Warnings: g.warnings}
	go s.run.reap()
	s.serve(port) // ends when the host is gone: so does the guest
	return nil
}

// furnish makes the root a place where programs run.
func (g *guest) furnish() error {
	for _, m := range []struct {
		dir, typ, opt string
		mode          os.FileMode
	}{
		{"/dev/pts", "devpts", "gid=5,mode=620,ptmxmode=666", 0o755},
		{"/dev/shm", "tmpfs", "mode=1777", 0o1777},
		{"/run", "tmpfs", "mode=755", 0o755},
	} {
		if err := mount(m.typ, m.dir, m.typ, 0, m.opt); err != nil {
			return err
		}
	}
	for _, d := range []string{"/tmp", "/var/tmp"} {
		if _, err := os.Stat(d); err != nil {
			g.warn(d, os.MkdirAll(d, 0o777))
			g.warn(d, os.Chmod(d, 0o777|os.ModeSticky))
		}
	}
	g.warn("hostname", unix.Sethostname([]byte("lab")))
	g.warn("interface lo", loopbackUp())
	g.warn("memlock", unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}))
	g.warn("printk", os.WriteFile("/proc/sys/kernel/printk", []byte("3 4 1 3"), 0))
	g.warn("this program in "+BinDir, g.provideSelf())
	if g.boot.Tree != "" {
		g.warn("modules for modprobe", bindModules(g.boot.Tree))
	}
	os.Clearenv()
	for _, kv := range []string{"PATH=" + BinDir + ":" + defaultPath, "HOME=" + home(), "USER=root", "LOGNAME=root", "SHELL=/bin/sh", "TERM=dumb", "LANG=C.UTF-8"} {
		k, v, _ := strings.Cut(kv, "=")
		os.Setenv(k, v)
	}
	return os.Chdir("/")
}

func home() string {
	if st, err := os.Stat("/root"); err == nil && st.IsDir() {
		return "/root"
	}
	return "/"
}

// afterModules is what needs modules that came late.
func (g *guest) afterModules() {
	if _, err := os.Stat("/sys/kernel/config"); err == nil {
		g.warn("configfs", mount("configfs", "/sys/kernel/config", "configfs", 0, ""))
	}
}

// provideSelf puts this program into BinDir.
func (g *guest) provideSelf() error {
	if err := os.MkdirAll(BinDir, 0o755); err != nil {
		return err
	}
	to := filepath.Join(BinDir, "cnuas")
	if !g.boot.HostRoot {
		return os.Symlink("/init", to)
	}
	// The initramfs is no longer below the root, but this process holds its
	// executable.
	if err := os.WriteFile(to, nil, 0o755); err != nil {
		return err
	}
	return unix.Mount(fmt.Sprintf("/proc/self/fd/%d", selfFD), to, "", unix.MS_BIND, "")
}

// loopbackUp sets IFF_UP on lo.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
}

func release() string {
	var u unix.Utsname
	unix.Uname(&u)
	return string(bytes.TrimRight(u.Release[:], "\x00"))
}

func uptime() time.Duration {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return time.Duration(syscall.TimespecToNsec(syscall.Timespec{Sec: t.Sec, Nsec: t.Nsec}))
}
