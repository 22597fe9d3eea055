package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// portWait is how long the port may take to appear, and to be connected.
const portWait = 20 * time.Second

// openPort opens the virtio serial port to the host. The host is told of
// nothing: it was connected before the guest started. But the guest's driver
// learns the port, its name and that it is connected from messages that come
// one after the other, and no notification of the last can be waited for.
func openPort() (*os.File, error) {
	end := time.Now().Add(portWait)
	name := ""
	for ; name == ""; time.Sleep(2 * time.Millisecond) {
		if name = findPort("/sys/class/virtio-ports"); name == "" && time.Now().After(end) {
			return nil, fmt.Errorf("no virtio serial port named %s appeared", PortName)
		}
	}
	f, err := os.OpenFile(filepath.Join("/dev", name), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	for {
		connected := false
		raw.Control(func(fd uintptr) {
			p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
			n, err := unix.Poll(p, 0)
			connected = err == nil && n == 1 && p[0].Revents&unix.POLLHUP == 0
		})
		if connected {
			return f, nil
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("the host is not connected to %s", name)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// findPort returns the device name of the port, or "".
func findPort(class string) string {
	l, _ := filepath.Glob(filepath.Join(class, "*", "name"))
	for _, p := range l {
		if b, err := os.ReadFile(p); err == nil && strings.TrimSpace(string(b)) == PortName {
			return filepath.Base(filepath.Dir(p))
		}
	}
	return ""
}
