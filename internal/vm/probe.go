package vm

import (
	"context"
	"errors"
	"fmt"

	"cnuas/internal/host"
)

// Probe tells in one line whether a lab VM can be started here, and on what. It
// may take seconds the first time after a boot of this machine: it finds out by
// doing whether KVM works.
func Probe() []host.Check {
	c := host.Check{Name: "lab VM"}
	accel, why, err := Accelerator(context.Background())
	if err != nil {
		c.Detail, c.Remedy = err.Error(), ""
		if _, err := qemu(); err != nil {
			c.Detail, c.Remedy = qemuName+" not found in PATH", "apt-get install qemu-system-x86"
		}
		return []host.Check{c}
	}
	k, err := FindKernel("")
	switch {
	case errors.Is(err, ErrNoKernel):
		c.Detail, c.Remedy = "no kernel is here", "run: cnuas vm fetch"
	case err != nil:
		c.Detail = err.Error()
	default:
		c.OK = true
		c.Detail = fmt.Sprintf("ready: Linux %s, %s", k.Release, accel)
		if accel == "tcg" {
			c.Detail = fmt.Sprintf("ready: Linux %s, emulated processor (%s)", k.Release, why)
		}
		if !k.HasModule("siw") {
			c.Detail += ", no siw (cnuas vm fetch --siw builds it)"
		}
	}
	return []host.Check{c}
}
