package rdma

import (
	"fmt"

	"cnuas/internal/host"
)

// Checks are the lines of `cnuas doctor` about the kernel's RDMA drivers.
func Checks() []host.Check {
	var l []host.Check
	for _, k := range []Kind{RXE, SIW} {
		s, err := Probe(k)
		c := host.Check{Name: "kernel RDMA: " + string(k), OK: s == Works, Detail: string(s)}
		if err != nil {
			c.Detail += fmt.Sprintf(": %v", err)
		}
		if !c.OK {
			c.Remedy = fmt.Sprintf("stack = %q runs in the lab VM: cnuas up --vm", k)
		} else if m := NamespaceMode(); m != "" {
			c.Detail += fmt.Sprintf("; rdma system netns %s", m)
			if m != "shared" {
				c.OK, c.Remedy = false, "rdma_cm does not work in this mode: rdma system set netns shared"
			}
		}
		l = append(l, c)
	}
	return l
}
