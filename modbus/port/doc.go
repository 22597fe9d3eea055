// Package port is the client's side of a Modbus RTU bus: a serial port,
// transactions on it, and a probe that finds out what is on a bus, be it
// emulated or real.
//
// The port is github.com/goburrow/serial, version 0.1.0 exactly, and this is
// the only package that knows it. What it does not do is handled or refused
// here:
//
//   - without a timeout Read waits for ever: there always is one;
//   - after a hang-up Read returns no bytes and no error for ever: ErrHangup;
//   - errors come with a count of -1;
//   - it waits with select(2), which cannot watch descriptors from 1024 on;
//   - it knows the named rates only, and cannot change one of an open port;
//   - it cannot flush: after an error, Port reads until the line is silent.
//
// RS-485 mode stays off: adapters and transceivers of BMCs switch by
// themselves, and a pseudo terminal refuses the call.
package port
