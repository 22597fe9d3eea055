package uverbs

import (
	"errors"

	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/internal/seccomp"
)

// errnos says what a program is told of an error of package hca, as the kernel
// would have.
var errnos = []struct {
	err   error
	errno unix.Errno
}{
	{hca.ErrInvalid, unix.EINVAL},
	{hca.ErrNoMemory, unix.ENOMEM},
	{hca.ErrNotSupported, unix.EOPNOTSUPP},
	{hca.ErrBusy, unix.EBUSY},
	{hca.ErrState, unix.EINVAL},
	{hca.ErrAccess, unix.EACCES},
	{hca.ErrNoGID, unix.EINVAL},
	{errFault, unix.EFAULT},
	{ErrClosed, unix.EIO},
	{seccomp.ErrGone, unix.ESRCH},
}

// errno translates; an errno inside err is kept, anything unknown is EIO.
func errno(err error) unix.Errno {
	if err == nil {
		return 0
	}
	var e unix.Errno
	if errors.As(err, &e) {
		return e
	}
	for _, x := range errnos {
		if errors.Is(err, x.err) {
			return x.errno
		}
	}
	return unix.EIO
}
