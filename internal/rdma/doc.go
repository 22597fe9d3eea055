// Package rdma makes and watches the kernel's own RDMA devices in the nodes:
// rdma_rxe (RoCEv2 in software) and siw (iWARP in software), each on a node's
// TAP, where they send genuine packets through the emulated NIC.
//
// The kernel's RDMA subsystem is used in its shared network namespace mode, its
// default: every device is visible in every namespace, and package launch
// narrows the view of a program to its node's own. Exclusive mode is not
// supported, because rdma_cm does not work with rxe in it.
package rdma
