// Package transport holds what the transports of IBTA vol. 1 chapter 9 fix by
// numbers: the arithmetic of packet sequence numbers, the table of timers, and
// for each opcode of each service what kind of packet it is.
package transport
