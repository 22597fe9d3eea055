// Package bus is a half-duplex RS-485 segment on one wire clock, as "MODBUS over
// serial line specification and implementation guide V1.02" describes it.
//
// Every station that talks has a queue of characters with exact times. What each
// listener hears follows from the waveform: a listener with the talker's line
// setting hears the bytes, one with another baud rate or parity samples the
// bits at its own rate and hears what a UART would, where two talk at once
// everybody hears garbage. Nothing is decided before the wire has come so far,
// so a talker may be interrupted, purged or joined by another at any time.
//
// The wire is resolved in steps: at the end of what a talker has queued, or
// after 256 characters. A frame therefore costs a few events, not one per bit,
// and still has the times of its characters to the picosecond.
//
// The stream of time is the caller's: every method belongs on the thread of the
// engine, and acts at the engine's Now.
package bus
