package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// taploop makes a TAP "eth0" in each of two namespaces and copies frames
// between them until it is interrupted: the least that any user-space switch
// has to do. Arguments: NAMESPACE ADDRESS NAMESPACE ADDRESS.
func taploop(args []string) error {
	if len(args) != 4 {
		return errors.New("taploop NS ADDR NS ADDR")
	}
	runtime.LockOSThread()
	var fds [2]int
	for i := range fds {
		fd, err := openTap(args[2*i], args[2*i+1])
		if err != nil {
			return err
		}
		fds[i] = fd
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() { <-stop; os.Exit(0) }()
	fmt.Println("ready")
	p := []unix.PollFd{{Fd: int32(fds[0]), Events: unix.POLLIN}, {Fd: int32(fds[1]), Events: unix.POLLIN}}
	buf := make([]byte, 65536)
	for {
		if _, err := unix.Poll(p, -1); err != nil && err != unix.EINTR {
			return err
		}
		for i := range fds {
			for range 64 {
				n, err := unix.Read(fds[i], buf)
				if err != nil {
					break
				}
				unix.Write(fds[1-i], buf[:n])
			}
		}
	}
}

func openTap(ns, addr string) (int, error) {
	h, err := netns.GetFromName(ns)
	if err != nil {
		return -1, fmt.Errorf("namespace %s: %w", ns, err)
	}
	if err := netns.Set(h); err != nil {
		return -1, err
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	r, err := unix.NewIfreq("eth0")
	if err != nil {
		return -1, err
	}
	r.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, r); err != nil {
		return -1, fmt.Errorf("tap in %s: %w", ns, err)
	}
	l, err := netlink.LinkByName("eth0")
	if err != nil {
		return -1, err
	}
	a, err := netlink.ParseAddr(addr)
	if err != nil {
		return -1, err
	}
	return fd, errors.Join(netlink.LinkSetMTU(l, 1500), netlink.LinkSetTxQLen(l, 100000), netlink.AddrAdd(l, a), netlink.LinkSetUp(l))
}
