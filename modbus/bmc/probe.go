package bmc

import (
	"cnuas/internal/host"
)

// Probe tells in one line whether a BMC can be started here.
func Probe() []host.Check {
	c := host.Check{Name: "BMC guest"}
	switch _, err := qemu(); {
	case err != nil:
		c.Detail, c.Remedy = qemuName+" not found in PATH", "apt-get install qemu-system-arm"
	case !standIn.Here():
		c.Detail, c.Remedy = "the stand-in's packages are not here", "run: cnuas bmc fetch (a flash image needs no stand-in)"
	default:
		c.OK, c.Detail = true, "ready: "+qemuName+" and the stand-in, in "+standIn.Dir()
	}
	return []host.Check{c}
}
