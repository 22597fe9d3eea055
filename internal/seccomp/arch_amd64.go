package seccomp

import "golang.org/x/sys/unix"

const (
	auditNative = unix.AUDIT_ARCH_X86_64
	auditCompat = unix.AUDIT_ARCH_I386
)

var (
	native = numbers{
		Ioctl: unix.SYS_IOCTL, Open: unix.SYS_OPEN, OpenAt: unix.SYS_OPENAT,
		Read: unix.SYS_READ, Write: unix.SYS_WRITE, socket: unix.SYS_SOCKET,
	}
	compat = numbers{Ioctl: 54, Open: 5, OpenAt: 295, Read: 3, Write: 4, socket: 359} // of i386
)
