package rdma

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"cnuas/internal/host"
)

// Errors of Add and Probe.
var (
	// ErrAbsent: the kernel has no RDMA subsystem or not this driver.
	ErrAbsent = errors.New("the kernel does not have it")
	// ErrExists: a device of that name is there already.
	ErrExists = errors.New("there is an RDMA device of that name already")
)

// Add makes a device of a kind on an interface of the namespace, as `rdma link
// add NAME type KIND netdev NETDEV` does. It vanishes with the interface.
func Add(ns *host.NS, k Kind, name, netdev string) error {
	err := ns.In(func() error { return netlink.RdmaLinkAdd(name, string(k), netdev) })
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EPROTONOSUPPORT), errors.Is(err, unix.EAFNOSUPPORT):
		return fmt.Errorf("rdma link add %s: %w: no RDMA subsystem (module ib_core)", name, ErrAbsent)
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("rdma link add %s type %s: %w: no module %s", name, k, ErrAbsent, k.module())
	case errors.Is(err, unix.EEXIST), errors.Is(err, unix.ENFILE):
		return fmt.Errorf("rdma link add %s: %w; remove it with: rdma link delete %s", name, ErrExists, name)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("rdma link add %s: %w (run as root; in a container, with CAP_NET_ADMIN)", name, err)
	}
	return fmt.Errorf("rdma link add %s type %s netdev %s: %w", name, k, netdev, err)
}

// Exists tells whether the kernel has a device of that name.
func Exists(name string) bool {
	_, err := os.Stat(classDir + "/" + name)
	return err == nil
}

// poll is how often the kernel is asked for what it does in its own time and
// tells nobody about.
const poll = 5 * time.Millisecond

// until asks until ok returns true or ctx ends.
func until(ctx context.Context, ok func() bool) error {
	for !ok() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(poll):
		}
	}
	return nil
}

// AwaitGone waits until the devices have vanished: after their interfaces are
// destroyed the kernel takes a second or more to take them apart. Devices that
// are still there when ctx ends are deleted by name and named in the error if
// that fails.
func AwaitGone(ctx context.Context, names []string) error {
	var errs []error
	for _, n := range names {
		if until(ctx, func() bool { return !Exists(n) }) == nil {
			continue
		}
		if err := netlink.RdmaLinkDel(n); err != nil && Exists(n) {
			errs = append(errs, fmt.Errorf("RDMA device %s does not vanish: %w", n, err))
		}
	}
	return errors.Join(errs...)
}
