package seccomp

import "golang.org/x/sys/unix"

const (
	auditNative = unix.AUDIT_ARCH_X86_64
	auditCompat = unix.AUDIT_ARCH_I386

	// CompatIoctl is ioctl's number in a 32-bit program.
	CompatIoctl  = 54
	compatSocket = 359
)
