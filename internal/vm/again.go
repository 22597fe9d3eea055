package vm

import (
	"errors"
	"strings"
)

// bootAttempts bounds the boots of one Start. One boot in some dozens fails as
// stalePatchError says; that three in a row do is no accident.
const bootAttempts = 3

// stalePatchError is the end of a guest that met a fault of the emulator. Linux
// changes its own code while it runs (static keys): it puts a breakpoint, int3,
// over the instruction, makes every processor take notice, and then writes the
// new one. With a thread per processor TCG can keep a translation that still
// has the breakpoint: when the change was over already, the guest's kernel
// knows of no reason for it and panics.
type stalePatchError struct{ error }

func (e *stalePatchError) Unwrap() error { return e.error }

// stalePatch says whether a guest's console tells of a stalePatchError.
func stalePatch(console string) bool { return strings.Contains(console, "Oops: int3") }

// again boots once more where a boot met the emulator's fault, and only there:
// every other failure is told to the user at once.
func again(logf func(string, ...any), boot func() (*Machine, error)) (*Machine, error) {
	for n := 1; ; n++ {
		m, err := boot()
		var stale *stalePatchError
		if err == nil || !errors.As(err, &stale) || n == bootAttempts {
			return m, err
		}
		logf("lab VM: the guest's kernel ran into a breakpoint of its own that QEMU's translation kept too long; it boots again (%d of %d)", n+1, bootAttempts)
	}
}
