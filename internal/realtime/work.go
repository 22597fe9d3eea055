package realtime

// Work is what the programs ask of the devices: rings in shared memory, with a
// doorbell that need not ring. All methods are called with the engine held;
// Sweep also from a thread in Do.
type Work interface {
	// Sweep looks for new work in the rings and starts it. It reports whether
	// it found any. It must be cheap: every turn of the loop calls it.
	Sweep() bool

	// Arm is called before the loop sleeps. When it returns false, any work
	// that appears from now on makes FD readable. True means that work is
	// there already and the loop must not sleep. Arm may find what it has
	// prepared for an earlier sleep still in place.
	Arm() bool

	// Disarm may take back what Arm prepared: the loop has been busy for a
	// millisecond and rings are swept anyway, so doorbells need cost nothing.
	Disarm()

	// FD is a descriptor that epoll can watch, constant for life; negative if
	// there is none.
	FD() int

	// Drain makes FD not readable any more.
	Drain()
}

// WQECounter is implemented by a Work that can tell how many work requests it
// has taken from the rings in all. Without it the loop takes a successful
// Sweep for one request.
type WQECounter interface{ WQEs() uint64 }

// Poller is told that its descriptor is readable, on the engine's thread with
// the engine held. The descriptor is watched level-triggered: a Poller need
// not read all there is.
//
// After an error or hang-up of the descriptor it is called once more, and the
// loop stops watching.
type Poller interface{ Readable() }
