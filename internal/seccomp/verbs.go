package seccomp

import "golang.org/x/sys/unix"

// Descriptors of a program from FirstWritten to LastWritten are those on which
// write is trapped. They are beyond what programs have by themselves.
const (
	FirstWritten = 896
	LastWritten  = 1023
)

// ShortRead and OldShortRead are the numbers of bytes for which read is
// trapped: a user MAD's header, of either form, and 256 bytes, which is what
// programs ask for first and which a message of several segments does not fit.
const (
	ShortRead    = 320
	OldShortRead = 312
)

// Flags of the opens that are trapped: those of librdmacm (rdma_cm) and of
// OpenSM (issm).
const (
	openReadWrite = unix.O_RDWR | unix.O_CLOEXEC
	openNonblock  = unix.O_RDONLY | unix.O_NONBLOCK
)

// Verbs is the filter for RDMA programs: ioctls with the RDMA magic are
// trapped, and what little else the files in /dev/infiniband need; netlink
// sockets of the RDMA family are refused so that rdma-core reads sysfs instead.
func Verbs() Filter {
	return Filter{Native: verbsRules(native), Compat: verbsRules(compat)}
}

func verbsRules(nr numbers) (rs []Rule) {
	all := ^uint32(0)
	for _, r := range []struct {
		call    Call
		matches []Match
		action  Action
	}{
		{Ioctl, []Match{{Arg: 1, Mask: 0xff00, Value: rdmaMagic << 8}}, Notify},
		{socket, []Match{{Arg: 0, Mask: all, Value: unix.AF_NETLINK}, {Arg: 2, Mask: all, Value: unix.NETLINK_RDMA}}, Refuse(unix.EPROTONOSUPPORT)},
		{OpenAt, []Match{{Arg: 2, Mask: openMask, Value: openReadWrite}}, Notify},
		{OpenAt, []Match{{Arg: 2, Mask: openMask, Value: openNonblock}}, Notify},
		{Open, []Match{{Arg: 1, Mask: openMask, Value: openReadWrite}}, Notify},
		{Open, []Match{{Arg: 1, Mask: openMask, Value: openNonblock}}, Notify},
		{Read, []Match{{Arg: 2, Mask: all, Value: ShortRead}}, Notify},
		{Read, []Match{{Arg: 2, Mask: all, Value: OldShortRead}}, Notify},
		{Write, []Match{{Arg: 0, Mask: ^uint32(LastWritten - FirstWritten), Value: FirstWritten}}, Notify},
	} {
		if n, ok := nr[r.call]; ok {
			rs = append(rs, Rule{Nr: n, Matches: r.matches, Action: r.action})
		}
	}
	return rs
}

// openMask leaves out O_LARGEFILE, which 32-bit programs set.
const openMask = ^uint32(0o100000)

// rdmaMagic is RDMA_IOCTL_MAGIC of include/uapi/rdma/rdma_user_ioctl_cmds.h.
const rdmaMagic = 0x1b
