package vm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// standard are the programs of a self-contained VM, as far as they are here.
var standard = []string{
	"sh", "bash", "busybox", "ip", "rdma", "ss", "tc", "ping", "tcpdump",
	"ibv_devices", "ibv_devinfo", "ibv_rc_pingpong", "ibv_ud_pingpong", "ibv_srq_pingpong",
	"ib_write_bw", "ib_write_lat", "ib_read_bw", "ib_read_lat", "ib_send_bw", "ib_send_lat", "ib_atomic_bw", "ib_atomic_lat",
	"rping", "udaddy", "ucmatose", "rdma_server", "rdma_client",
	"cat", "ls", "grep", "sed", "sleep", "true", "false", "echo", "env", "id", "uname", "head", "tail", "wc", "cp", "mv", "rm", "mkdir", "ln",
	"dd", "dmesg", "timeout", "seq", "kill", "ps", "mount", "umount", "sysctl", "lsmod", "stty", "unshare", "nsenter", "hostname", "sha256sum", "md5sum", "date", "mktemp", "test", "tr", "cut", "sort", "stat", "chmod", "readlink", "basename", "dirname",
}

// extras are files that these programs look for, as patterns.
var extras = []string{
	"/etc/libibverbs.d/rxe.driver", "/etc/libibverbs.d/siw.driver", // others would be complained about
	"/lib/*/libgcc_s.so.1", "/lib64/libgcc_s.so.1", // pthread_exit loads it
	"/etc/services", "/etc/protocols", "/etc/iproute2/*", "/usr/share/iproute2/*",
	"/usr/lib/locale/C.utf8/*", "/usr/lib/locale/C.utf8/LC_MESSAGES/*",
	"/lib/terminfo/d/dumb", "/lib/terminfo/l/linux", "/lib/terminfo/x/xterm", "/lib/terminfo/x/xterm-256color", "/lib/terminfo/s/screen", "/lib/terminfo/t/tmux-256color",
}

// providers are the libraries of libibverbs that know rxe and siw.
var providers = []string{"/usr/lib/*/libibverbs/lib%s-rdmav*.so", "/usr/lib64/libibverbs/lib%s-rdmav*.so", "/usr/lib/libibverbs/lib%s-rdmav*.so"}

// selfContained fills an image with a root of its own. with are programs,
// names in PATH or paths, that must be there.
func (m *Image) selfContained(with []string) error {
	loader := ""
	if sh, err := exec.LookPath("sh"); err == nil {
		loader = interpreter(sh)
	}
	for _, name := range standard {
		if path, err := exec.LookPath(name); err == nil {
			if err := m.program(path, loader); err != nil {
				return err
			}
		}
	}
	var errs []error
	for _, name := range with {
		path, err := exec.LookPath(name)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err == nil {
			err = m.program(path, loader)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("--with %s: %w", name, err))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for _, name := range []string{"rxe", "siw"} {
		for _, pattern := range providers {
			l, _ := filepath.Glob(fmt.Sprintf(pattern, name))
			for _, p := range l {
				if err := m.program(p, loader); err != nil {
					return err
				}
			}
		}
	}
	for _, pattern := range extras {
		l, _ := filepath.Glob(pattern)
		for _, p := range l {
			if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() {
				if err := m.host(p); err != nil {
					return err
				}
			}
		}
	}
	return m.etc()
}

// etc writes what names users, groups and hosts. tcpdump gives up root for a user
// of its name and does not start without one.
func (m *Image) etc() error {
	for path, text := range map[string]string{
		"/etc/passwd":        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\ntcpdump:x:100:100::/nonexistent:/bin/false\n",
		"/etc/group":         "root:x:0:\ntty:x:5:\nnogroup:x:65534:\ntcpdump:x:100:\n",
		"/etc/hosts":         "127.0.0.1 localhost lab\n::1 localhost\n",
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n",
	} {
		if err := m.File(path, 0o644, []byte(text)); err != nil {
			return err
		}
	}
	for _, d := range []string{"/root", "/var/tmp", "/var/run", "/mnt"} {
		if err := m.Dir(d); err != nil {
			return err
		}
	}
	return nil
}
