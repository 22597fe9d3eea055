// Package rack runs what stands around the nodes: RS-485 segments with the
// power shelves on them, and the pseudo terminals and sockets by which clients
// reach them.
//
// A rack has an engine of its own, which follows the wall clock even where the
// fabric is slowed down: the clients are programs that time out by it. One
// thread, the loop's, owns the engine, the segments and all descriptors; what
// others want of them goes through Do. No client can hold it up: reads are
// bounded by what the wire takes, writes by what the client takes.
package rack
