// Package capture records the frames that pass ports of a running fabric.
//
// A Session has a Tap per observed port and one bounded ring. Taps copy frames
// into the ring on the engine's thread, without allocating and without ever
// waiting: what does not fit is counted as lost. Session.Run, on a goroutine of
// its own, moves the ring's contents to a Writer as a stream of messages. On
// the other side of that stream, usually in another process, Decode hands them
// to a Sink, of which PcapNG is one.
//
// Frames appear as on the wire: those of Ethernet padded to 60 bytes, with their
// ICRC, without FCS, MAC control frames among them; those of InfiniBand with ICRC
// and VCRC, flow control packets among them; those of serial lines as ADUs with
// their CRC, at the time of their first start bit.
package capture
