// Package pty gives each RS-485 segment a pseudo terminal that a stock serial
// client opens as if it were a port of its machine.
//
// The terminal outlives its clients. Nobody holds the slave side while no
// client does: the master then reports a hang-up, which is the one reliable
// answer to "has anybody got it open", and what a client left behind (unread
// replies, exclusive mode, a stopped line, a cooked mode) is cleared before the
// next one reads. An inotify watch on the node tells at once of each open and
// close, in order, so that a client which opens within microseconds of another's
// close is not mistaken for it.
//
// The master runs in packet mode (ioctl_tty(2), TIOCPKT): a client's tcflush
// arrives as an event, ahead of what the client writes after it.
//
// What a pseudo terminal cannot carry: it forces 8 data bits and no parity, so
// parity is taken from INPCK and PARODD, which clients set along with PARENB;
// modem lines and RS-485 calls give ENOTTY; a break is not seen; tcdrain
// returns before the bytes are on the wire.
package pty
