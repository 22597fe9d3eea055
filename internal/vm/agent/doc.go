// Package agent is the program inside the lab VM, and the way to talk to it.
//
// The guest's end is this same executable, started by the guest's kernel as
// process 1 (MaybeInit). Host and guest share one byte pipe, a virtio serial
// port, over which yamux carries any number of streams; each stream serves one
// request and ends with it. A request is one line of JSON, Request; what
// follows depends on its Op:
//
//	exec      frames both ways until the exit frame, see frame.go
//	dial      a reply line, then the bytes of a unix socket of the guest, with
//	          half-close both ways
//	put, get  a reply line, then the file in frames; put has a reply at the end
//	hello     a reply line that says what was booted
//	hangup    tells that nobody reads another stream any more
//	poweroff  the guest ends
//
// Exec, Dial, Put and Get need nothing but a byte stream with a half-close: the
// stream may be a yamux stream or a unix socket that another process splices
// to one.
package agent
