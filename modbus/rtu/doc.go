// Package rtu is Modbus in RTU transmission mode: the coding of characters and
// frames, the framer for requests and replies, the slave engine, and what a
// master needs to build requests and to read replies.
//
// Read "MODBUS over serial line specification and implementation guide V1.02",
// 2.5, and "MODBUS application protocol specification V1.1b3", 6 and 7, first.
//
//   - Line, Char: how a character is coded and what a receiver saw of it.
//   - CRC, RequestLen, ReplyLen: the checksum, and how long a frame is by what
//     its first bytes say.
//   - Framer: characters in, frames out, of all stations on a wire.
//   - Slave: requests in, replies out; Device is what stands behind it.
//   - AppendRead and its like, ParseReply: the master's side.
//
// The framer does not enforce the 1.5 characters that a frame's characters may
// be apart (V1.02, 2.5.1.1): writes of a guest or through a USB adapter come in
// pieces with more between them, and length and CRC tell a frame's end as well.
// Silence, which is t3.5 plus a tolerance, ends what they do not tell. What a
// slave does about a frame with a pause inside is therefore the tolerance's
// choice: with 0, as on a wire, t3.5 inside a frame makes it two that are short.
//
// Nothing here reads a clock, starts a goroutine or allocates per frame: time is
// the stamps of the characters and what callers say it is.
package rtu
