package rdma

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"

	"cnuas/internal/host"
)

// Support says what a driver of this kernel is good for.
type Support string

// What Probe finds.
const (
	Absent Support = "absent"             // the kernel does not have the driver
	Deaf   Support = "deaf in namespaces" // devices come up and never send: sockets and routes are looked up in the first namespace
	Works  Support = "works"
)

// companions are the modules beside the drivers that give programs their
// device files. A kernel that has them built in, or not at all, is no error:
// rdma_cm is then missing in programs.
var companions = []string{"ib_uverbs", "rdma_ucm", "ib_umad"}

// LoadModules loads what programs need beside the driver, and the driver.
func LoadModules(k Kind) {
	for _, m := range append([]string{k.module()}, companions...) {
		_ = exec.Command("modprobe", "-q", m).Run() // Add and Probe say what is missing
	}
}

// Probe finds out by doing whether a driver works inside a network namespace,
// which no version number tells: it makes a device on an interface of a
// namespace of its own and, for RoCE, looks for the driver's UDP sockets
// there. The error says why the support is less than Works.
func Probe(k Kind) (Support, error) {
	LoadModules(k)
	name := fmt.Sprintf("%sprobe%d", k, os.Getpid())
	s := Absent
	err := host.Scratch(func(ns *host.NS, t *host.TAP) error {
		if err := Add(ns, k, name, t.Name()); err != nil {
			return err
		}
		if s = Works; k != RXE {
			return nil
		}
		s = Deaf
		for wait := time.Now().Add(socketTime); ; time.Sleep(poll) {
			n, err := sockets(ns)
			if err != nil {
				return err
			}
			if n > 0 {
				s = Works
				return nil
			}
			if time.Now().After(wait) {
				return fmt.Errorf("%s %s looks healthy and never sends: no UDP socket on port %d appears in the device's namespace (kernels up to 6.12 at least use the first namespace's)",
					k.module(), kernelRelease(), rocePort)
			}
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), awaitTime)
	defer cancel()
	return s, errors.Join(err, AwaitGone(ctx, []string{name}))
}

// socketTime is how long after the device its sockets may appear. They are
// there when the call that makes it returns; the rest is caution.
const socketTime = 200 * time.Millisecond

// rocePort is the UDP destination port of RoCEv2 (IBTA annex A17).
const rocePort = 4791

// sockets counts the UDP sockets on port 4791 in the namespace.
func sockets(ns *host.NS) (n int, err error) {
	err = ns.In(func() error {
		for _, f := range []string{"udp", "udp6"} {
			f, err := os.Open("/proc/thread-self/net/" + f)
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			n += countPort(bufio.NewScanner(f), rocePort)
			f.Close()
		}
		return nil
	})
	return n, err
}

// countPort counts the lines of /proc/net/udp whose local port it is.
func countPort(s *bufio.Scanner, port uint64) (n int) {
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) < 2 {
			continue
		}
		_, p, ok := strings.Cut(f[1], ":")
		if v, err := strconv.ParseUint(p, 16, 16); ok && err == nil && v == port {
			n++
		}
	}
	return n
}

func kernelRelease() string {
	b, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(string(b))
}

// NamespaceMode is the kernel's RDMA network namespace mode: "shared" or
// "exclusive"; empty if there is no RDMA subsystem. It is never changed here:
// it concerns every program of the machine.
func NamespaceMode() string {
	m, err := netlink.RdmaSystemGetNetnsMode()
	if err != nil {
		return ""
	}
	return m
}
