// Package verbs is the side of a program: it posts work requests to the rings
// of package hca, over RC, UC or UD and from shared receive queues, and polls
// completions, in memory of its own, without an operating system. Tests and
// scenarios run flows between devices with it in virtual time; they use the same
// rings as a program behind the kernel ABI.
package verbs
