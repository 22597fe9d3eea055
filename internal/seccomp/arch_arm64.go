package seccomp

import "golang.org/x/sys/unix"

// 32-bit Arm programs run natively, without verbs: no such build of rdma-core
// was tried.
const (
	auditNative = unix.AUDIT_ARCH_AARCH64
	auditCompat = 0

	// CompatIoctl is ioctl's number in a 32-bit program.
	CompatIoctl  = 54
	compatSocket = 281
)
