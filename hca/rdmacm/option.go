package rdmacm

import (
	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/hca/uverbs"
)

// Options of level RDMA_OPTION_ID.
const (
	optionTOS        = 0
	optionReuseAddr  = 1
	optionAFOnly     = 2
	optionAckTimeout = 3
)

// maxOption bounds the values of options in bytes.
const maxOption = 4096

// readOption fetches the value of struct rdma_ucm_set_option: 0 optval  8 id
// 12 level  16 optname  20 optlen.
func readOption(t *uverbs.Syscall, in []byte) ([]byte, unix.Errno) {
	n := le.Uint32(in[20:])
	if n > maxOption {
		return nil, unix.EINVAL
	}
	v := make([]byte, n)
	if err := t.Read(le.Uint64(in), v); err != nil {
		return nil, unix.EFAULT
	}
	return v, 0
}

// setOption sets what a program may choose of an identifier. ENOSYS: what this
// interface does not have; the library takes another way then.
func setOption(c *command, v []byte) error {
	i, err := c.id(8)
	if err != nil {
		return err
	}
	level, name := le.Uint32(c.in[12:]), le.Uint32(c.in[16:])
	if level != 0 || name > optionAckTimeout {
		return unix.ENOSYS
	}
	size := 4
	if name == optionTOS || name == optionAckTimeout {
		size = 1
	}
	if len(v) != size {
		return unix.EINVAL
	}
	switch name {
	case optionTOS:
		i.tos = v[0]
	case optionReuseAddr:
		on := le.Uint32(v) != 0
		if i.state != stateIdle && i.state != stateAddrBound {
			return unix.EINVAL
		}
		i.reuse = on
	case optionAFOnly:
		if i.state != stateIdle && i.state != stateAddrBound {
			return unix.EINVAL
		}
		i.afOnly = le.Uint32(v) != 0
	case optionAckTimeout:
		if i.typ != hca.RC || v[0] > 31 {
			return unix.EINVAL
		}
		i.ackTimeout = v[0]
	}
	return nil
}
