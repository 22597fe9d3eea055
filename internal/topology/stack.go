package topology

import "fmt"

// Stack names what sends RDMA frames in a node.
type Stack string

// Stacks.
const (
	StackSoft Stack = "soft" // the Go HCA
	StackNone Stack = "none" // plain kernel networking
	StackRXE  Stack = "rxe"  // the kernel's rdma_rxe: RoCEv2 through the TAP
	StackSIW  Stack = "siw"  // the kernel's siw: iWARP, which is TCP, through the TAP
)

// stackNames lists them for messages.
const stackNames = `"soft", "rxe", "siw" or "none"`

func parseStack(s string) (Stack, error) {
	if k := Stack(s); k.valid() {
		return k, nil
	}
	return "", fmt.Errorf("unknown stack %q", s)
}

func (s Stack) valid() bool { return s.RDMA() || s == StackNone }

// Kernel tells whether a driver of the kernel makes the node's RDMA device: it
// must have that driver for the node to come up.
func (s Stack) Kernel() bool { return s == StackRXE || s == StackSIW }

// RDMA tells whether the node has an RDMA device.
func (s Stack) RDMA() bool { return s == StackSoft || s.Kernel() }

// RoCE tells whether the node sends RoCEv2, so that its MTU bounds the path MTU
// of RDMA and its frames belong in a lossless priority. siw sends TCP, which
// adapts to the MTU and recovers from loss as TCP does.
func (s Stack) RoCE() bool { return s == StackSoft || s == StackRXE }
