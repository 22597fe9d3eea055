package rdma

import "fmt"

// Kind is a driver, by the name that `rdma link add ... type` takes.
type Kind string

// The software drivers of the Linux kernel.
const (
	RXE Kind = "rxe" // rdma_rxe: RoCEv2, UDP port 4791
	SIW Kind = "siw" // siw: iWARP over TCP
)

// module is the kernel module that has the driver.
func (k Kind) module() string {
	if k == RXE {
		return "rdma_rxe"
	}
	return string(k)
}

// DeviceName is the name of the RDMA device on interface index (0 for the
// first) of a node. Names are global in the shared mode, so the node's name is
// part of it: "rxe0_h1".
func DeviceName(k Kind, index int, node string) string {
	return fmt.Sprintf("%s%d_%s", k, index, node)
}
