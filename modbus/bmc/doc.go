// Package bmc runs the guest that manages a rack: QEMU emulating a board with an
// ASPEED BMC, its network on a port of the management network, and one or more
// FT4232H bridges by USB (packages usbredir and ftdi) for its RS-485 ports.
//
// It boots the user's OpenBMC flash image, of which it takes a private copy, or
// without one the stand-in: a kernel and some programs of Debian for armhf,
// which FetchStandIn gets into the cache. The stand-in has mbpoll, an SSH server
// and a shell, and by Shell commands can be run in it.
//
// The guest ends with the process that started it, however that ends.
package bmc
