package seccomp

import "golang.org/x/sys/unix"

// 32-bit Arm programs run natively, without verbs: no such build of rdma-core
// was tried.
const (
	auditNative = unix.AUDIT_ARCH_AARCH64
	auditCompat = 0
)

var (
	native = numbers{
		Ioctl: unix.SYS_IOCTL, OpenAt: unix.SYS_OPENAT,
		Read: unix.SYS_READ, Write: unix.SYS_WRITE, socket: unix.SYS_SOCKET,
	}
	compat = numbers{}
)
