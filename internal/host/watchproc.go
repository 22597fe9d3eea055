package host

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// read looks through the text of /proc/net/packet; ok is false if it cannot be
// read.
func (w *Watch) read(ifindex int) (found, ok bool) {
	if w.proc < 0 {
		return false, false
	}
	// The file is read in pieces that end with a line; the cursor of a
	// seq_file may be set to any place that it has reached before.
	for off := int64(0); ; {
		n, err := unix.Pread(w.proc, w.buf[:], off)
		if err != nil || n <= 0 {
			return false, err == nil
		}
		b := w.buf[:n]
		end := bytes.LastIndexByte(b, '\n') + 1
		if parseProc(b[:end], ifindex) {
			return true, true
		}
		if end == 0 {
			return false, false
		}
		off += int64(end)
	}
}

// parseProc looks for a socket that sees IP frames of the interface. Columns
// (net/packet/af_packet.c, packet_seq_show); the line of headings has no
// numbers in them:
//
//	sk RefCnt Type Proto(hex) Iface R Rmem User Inode
func parseProc(b []byte, ifindex int) bool {
	for len(b) > 0 {
		line := b
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			line, b = b[:i], b[i+1:]
		} else {
			b = nil
		}
		proto, iface := column(line, 3), column(line, 4)
		if len(proto) == 0 || len(iface) == 0 {
			continue
		}
		i := number(iface, 10)
		if ipProtocol(uint16(number(proto, 16))) && (i == 0 || i == ifindex) {
			return true
		}
	}
	return false
}

// column returns the i-th word of a line without allocating.
func column(line []byte, i int) []byte {
	for ; len(line) > 0 || i == 0; i-- {
		line = bytes.TrimLeft(line, " ")
		end := bytes.IndexByte(line, ' ')
		if end < 0 {
			end = len(line)
		}
		if i == 0 {
			return line[:end]
		}
		line = line[end:]
	}
	return nil
}

// number reads an unsigned number; -1 if b is none.
func number(b []byte, base int) int {
	n := 0
	for _, c := range b {
		d := base
		switch {
		case c >= '0' && c <= '9':
			d = int(c - '0')
		case c >= 'a' && c <= 'f':
			d = int(c-'a') + 10
		}
		if d >= base || n > 1<<31 {
			return -1
		}
		n = n*base + d
	}
	return n
}
