package daemon

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"cnuas/internal/realtime"
	"cnuas/internal/sim"
	"cnuas/switch/ideal"
)

// bmcNIC joins a guest's NIC to its port of the management network: a pair of
// datagram sockets, each datagram a frame. It is the switch's Host and the
// loop's Poller.
type bmcNIC struct {
	fd   int
	sw   *ideal.Switch
	port int
	now  func() sim.Time
	loop *realtime.Loop
	buf  [maxBMCFrame]byte
}

// maxBMCFrame is more than the NIC of an AST2600 sends, in bytes.
const maxBMCFrame = 16 << 10

// socketBuffer has room for some hundred frames, in bytes.
const socketBuffer = 1 << 20

// newBMCNIC returns the NIC, and the guest's end of it.
func (d *Daemon) newBMCNIC() (*bmcNIC, *os.File, error) {
	fd, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd[0], true)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("network of the BMC: %w", err)
	}
	for _, n := range fd {
		unix.SetsockoptInt(n, unix.SOL_SOCKET, unix.SO_SNDBUF, socketBuffer) // less holds fewer frames
	}
	n := &bmcNIC{fd: fd[0], sw: d.fab.Management(), now: d.fab.Engine.Now, loop: d.loop}
	name := d.spec().Rack.BMC.Name + ":eth0"
	d.loop.Do(func() {
		n.port = -1
		for p := range n.sw.Ports() { // of a guest before
			if n.sw.Name(p) == name {
				n.port = p
			}
		}
		if n.port < 0 {
			n.port = n.sw.AddPort(name)
		}
		n.sw.Plug(n.port, n)
		err = d.loop.AddFD(n.fd, n)
	})
	theirs := os.NewFile(uintptr(fd[1]), "nic")
	if err != nil {
		n.close()
		theirs.Close()
		return nil, nil, fmt.Errorf("network of the BMC: %w", err)
	}
	return n, theirs, nil
}

// Readable implements realtime.Poller.
func (n *bmcNIC) Readable() {
	for range batchFrames {
		m, _, err := unix.Recvfrom(n.fd, n.buf[:], 0)
		switch {
		case err == unix.EAGAIN || err == unix.EINTR:
			return
		case err != nil || m == 0: // QEMU has ended
			n.loop.RemoveFD(n.fd)
			return
		}
		n.sw.Send(n.now(), n.port, n.buf[:m])
	}
}

// Deliver implements ideal.Host. A guest that does not take its frames loses
// them, as at a real NIC.
func (n *bmcNIC) Deliver(frame []byte) bool {
	return unix.Send(n.fd, frame, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL) == nil
}

func (n *bmcNIC) close() {
	n.loop.Do(func() {
		n.sw.Plug(n.port, nil)
		n.loop.RemoveFD(n.fd)
	})
	unix.Close(n.fd)
}
