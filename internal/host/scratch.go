package host

import (
	"errors"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Scratch runs f with a namespace that has no name and one TAP, eth0, which is
// up: to try out what this kernel can do. Nothing of it is left.
func Scratch(f func(*NS, *TAP) error) error {
	n := &NS{name: "probe", h: netns.None()}
	err := onThread(func() (err error) {
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		if n.h, err = netns.Get(); err != nil {
			return err
		}
		return n.complete()
	})
	defer n.Close()
	if err != nil {
		return err
	}
	t, err := n.AddTAP(TAPConfig{Name: "eth0", MAC: [6]byte{2, 0, 0, 0, 0, 1}})
	if err != nil {
		return err
	}
	return errors.Join(f(n, t), t.Close())
}
