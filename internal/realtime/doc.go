// Package realtime makes an engine follow the wall clock and wakes it for what
// comes from outside: frames of the nodes' kernels and doorbells of programs.
//
// One locked operating system thread owns the engine while it runs a turn:
//
//	dispatch readable descriptors; Advance; Sweep; events due; Commit; flush
//
// and sleeps in epoll_pwait2 until the next event when a turn found nothing.
// Go timers are not used: they are coarse to 1 ms when the process is idle,
// where epoll_pwait2 wakes 17 us late at the median.
//
// # The elastic clock
//
// With a scale s the engine's clock shows
//
//	now = start + wall/s - slip
//
// Lag is now minus the time of the earliest event that is due. The machine has
// few cores, and a thread that lost its core for a millisecond or two is an
// ordinary thing: the events are then handled late, but in their order and
// with their own times, and the engine, which is faster than the links it
// emulates, catches up. Nothing in simulated time has been distorted; a
// program outside saw its answers late, which the share of late events tells.
//
// An engine that cannot keep up is another matter. Its lag would grow without
// end, and a program would soon talk to a fabric that lives in its past. So the
// clock slips: it is set back, once, as if the time had not passed, and the
// slip is added up. It slips in two cases only, see Limits: the lag does not
// shrink while the engine works as fast as it can (overload), or the lag is so
// long that the process must have been stopped (a freeze).
//
// Timers of the emulated devices live in engine time. Slip delays them together
// with the frames and acknowledgements that they guard, so a retransmission
// timer never expires before its time has passed for the network as well; and
// since slip is not taken for a mere late wake-up, an idle fabric's timers
// expire by the wall clock.
//
// All limits and all figures called lag, slip and late are in simulated time:
// what distorts a fabric forty times slowed down is a fortieth of the delay.
package realtime
