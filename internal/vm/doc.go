// Package vm starts the lab VM: a small Linux guest under QEMU whose kernel has
// the RDMA drivers rdma_rxe and siw, for machines whose own kernel lacks them.
//
// A Kernel is an unpacked tree with lib/modules; Fetch gets Debian's through
// apt into the cache, BuildSIW adds siw. Start builds an initramfs in memory
// from this program, which is the guest's process 1, and the modules that it
// needs, boots it, and returns when the agent inside answers. Machine.Open
// gives streams for agent.Exec, Dial, Put and Get.
//
// The guest ends with the process that started it, however that ends: QEMU
// gets SIGKILL when its parent dies, and the guest powers off when the port to
// the host closes.
package vm
