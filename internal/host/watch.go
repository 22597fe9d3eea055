package host

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Watch tells whether somebody captures in a namespace. It belongs to one
// thread and allocates nothing after it was made.
type Watch struct {
	diag int // NETLINK_SOCK_DIAG socket in the namespace, or -1
	proc int // /proc/net/packet of the namespace, or -1
	buf  [8192]byte
	req  [36]byte
}

// Watch opens a watch for packet sockets in the namespace.
func (n *NS) Watch() (*Watch, error) {
	w := &Watch{diag: -1, proc: -1}
	err := n.In(func() (err error) {
		if w.diag, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_SOCK_DIAG); err != nil {
			w.diag = -1
		}
		// The file of the thread's namespace, which stays that of the
		// namespace for as long as it is open.
		w.proc, err = unix.Open("/proc/thread-self/net/packet", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			w.proc = -1
		}
		return nil
	})
	if err == nil && w.diag < 0 && w.proc < 0 {
		err = fmt.Errorf("namespace %s: packet sockets cannot be seen: %w", n.name, ErrNotSupported)
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	w.request()
	if w.diag >= 0 {
		if _, ok := w.ask(0); !ok { // no packet_diag in this kernel
			unix.Close(w.diag)
			w.diag = -1
		}
	}
	return w, nil
}

// Close ends the watch.
func (w *Watch) Close() {
	for _, fd := range []*int{&w.diag, &w.proc} {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
}

// Sniffing reports whether a packet socket sees IP frames of the interface:
// one that is bound to it, or to none, with a protocol of ETH_P_ALL, IPv4 or
// IPv6. It reads /proc/net/packet, which costs 2 us where a dump by packet_diag
// costs 13; that is the fallback. Ask every 50 to 100 ms.
func (w *Watch) Sniffing(ifindex int) bool {
	found, ok := w.read(ifindex)
	if !ok && w.diag >= 0 {
		found, _ = w.ask(ifindex)
	}
	return found
}

// From include/uapi/linux/packet_diag.h and sock_diag.h.
const (
	sockDiagByFamily = 20
	packetShowInfo   = 1
	packetDiagInfo   = 0
)

// request fills w.req: struct nlmsghdr, struct packet_diag_req.
func (w *Watch) request() {
	ne := binary.NativeEndian
	b := w.req[:]
	ne.PutUint32(b, uint32(len(b)))
	ne.PutUint16(b[4:], sockDiagByFamily)
	ne.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	b[16] = unix.AF_PACKET
	ne.PutUint32(b[24:], packetShowInfo)
}

// ask dumps the packet sockets; ok is false if the kernel did not answer.
func (w *Watch) ask(ifindex int) (found, ok bool) {
	_, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(w.diag), uintptr(unsafe.Pointer(&w.req[0])), uintptr(len(w.req)), 0, 0, 0)
	if errno != 0 {
		return false, false
	}
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(w.diag), uintptr(unsafe.Pointer(&w.buf[0])), uintptr(len(w.buf)), unix.MSG_DONTWAIT, 0, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return found, false
		}
		f, done, good := parseDiag(w.buf[:n], ifindex)
		found = found || f
		if done {
			return found, good
		}
	}
}

// parseDiag looks through one datagram of a dump. done: it was the last one;
// good: the dump is complete.
func parseDiag(b []byte, ifindex int) (found, done, good bool) {
	ne := binary.NativeEndian
	for len(b) >= unix.SizeofNlMsghdr {
		size := int(ne.Uint32(b))
		if size < unix.SizeofNlMsghdr || size > len(b) {
			return found, true, false
		}
		switch ne.Uint16(b[4:]) {
		case unix.NLMSG_DONE:
			return found, true, true
		case unix.NLMSG_ERROR:
			return found, true, false
		case sockDiagByFamily:
			found = found || sees(b[unix.SizeofNlMsghdr:size], ifindex)
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return found, false, false
}

// sees looks at one struct packet_diag_msg and its attributes.
func sees(b []byte, ifindex int) bool {
	const msgLen = 16
	ne := binary.NativeEndian
	if len(b) < msgLen || !ipProtocol(ne.Uint16(b[2:])) {
		return false
	}
	for b = b[msgLen:]; len(b) >= 4; {
		size := int(ne.Uint16(b))
		if size < 4 || size > len(b) {
			return false
		}
		if ne.Uint16(b[2:])&0x3fff == packetDiagInfo && size >= 8 {
			i := ne.Uint32(b[4:])
			return i == 0 || int(i) == ifindex
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return false
}

// ipProtocol tells whether a packet socket of that EtherType sees IP. The
// sockets of LLDP daemons do not; 0 receives nothing yet.
func ipProtocol(p uint16) bool {
	return p == unix.ETH_P_ALL || p == unix.ETH_P_IP || p == unix.ETH_P_IPV6
}
