package seccomp

// Call is one of the system calls that filters of this package trap, under
// whatever number.
type Call uint8

// The calls. None is what is not one of them.
const (
	None Call = iota
	Ioctl
	Open
	OpenAt
	Read
	Write
	socket
)

// numbers of the calls, for one architecture. A call that an architecture does
// not have is missing.
type numbers map[Call]uint32

// CallOf tells which call a notification's number is.
func CallOf(arch uint32, nr int32) Call {
	table := native
	if arch == auditCompat && auditCompat != 0 {
		table = compat
	}
	for c, n := range table {
		if n == uint32(nr) {
			return c
		}
	}
	return None
}
