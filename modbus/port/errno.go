package port

import (
	"errors"

	"golang.org/x/sys/unix"
)

// again tells errors that pass: the driver has no room or no bytes just now.
func again(err error) bool {
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR)
}
