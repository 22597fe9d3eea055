package uverbs

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// channel is a stream of fixed-size events to a program: a completion channel
// or an asynchronous event file. To the program it is the reading end of a
// pipe; the daemon keeps only the writing end, so that either side sees when
// the other is gone. Events are written while the engine is held.
type channel struct {
	ctx   *context
	w     int
	id    fileID
	size  int // of an event, bytes
	async bool
	watch uint64 // registration with the watcher

	closed  bool
	backlog []byte // events that the pipe had no room for
	lost    uint64
}

// maxBacklog bounds what waits for a program that does not read its events:
// as many as 8192 in the pipe and this many bytes here.
const maxBacklog = 1 << 20

// newChannel makes the pipe. The caller closes the reading end once the program
// has it.
func newChannel(size int, async bool) (ch *channel, read int, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, -1, err
	}
	var st unix.Stat_t
	err = unix.SetNonblock(p[1], true)
	if err == nil {
		err = unix.Fstat(p[0], &st)
	}
	if err != nil {
		unix.Close(p[0])
		unix.Close(p[1])
		return nil, -1, err
	}
	return &channel{w: p[1], id: fileID{uint64(st.Dev), st.Ino}, size: size, async: async}, p[0], nil
}

// send queues one event, whose length is ch.size. It reports whether the
// program will get it.
func (ch *channel) send(event []byte) bool {
	if ch.closed {
		return false
	}
	if len(ch.backlog) == 0 && ch.write(event) {
		return true
	}
	if ch.closed {
		return false
	}
	if len(ch.backlog) >= maxBacklog {
		ch.lost++
		return false
	}
	if len(ch.backlog) == 0 {
		ch.ctx.srv.watch.change(ch.watch, unix.EPOLLOUT)
	}
	ch.backlog = append(ch.backlog, event...)
	return true
}

func (ch *channel) write(event []byte) bool {
	_, err := unix.Write(ch.w, event)
	if err == unix.EPIPE {
		ch.closed = true // the watcher frees it
	}
	return err == nil
}

// flush writes what the pipe has room for.
func (ch *channel) flush() {
	for len(ch.backlog) > 0 && ch.write(ch.backlog[:ch.size]) {
		ch.backlog = ch.backlog[ch.size:]
	}
	if len(ch.backlog) == 0 {
		ch.backlog = nil
		ch.ctx.srv.watch.change(ch.watch, 0)
	}
}

// takeBack removes the events that match from those the program has not read,
// and returns how many they were: ibv_destroy_cq waits until the program has
// acknowledged every event that it was told of, so only those it has read may
// be reported.
func (ch *channel) takeBack(match func(event []byte) bool) (n uint32) {
	var keep []byte
	sift := func(b []byte) {
		for ; len(b) >= ch.size; b = b[ch.size:] {
			if match(b[:ch.size]) {
				n++
			} else {
				keep = append(keep, b[:ch.size]...)
			}
		}
	}
	// A reading end of our own, only for now: another descriptor, so that
	// the program's blocking mode is left alone.
	if r, err := unix.Open("/proc/self/fd/"+strconv.Itoa(ch.w), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
		buf := make([]byte, 4096)
		for {
			k, err := unix.Read(r, buf[:len(buf)-len(buf)%ch.size])
			if k <= 0 || err != nil {
				break
			}
			sift(buf[:k])
		}
		unix.Close(r)
	}
	old := ch.backlog
	ch.backlog = nil
	sift(old)
	for ; len(keep) > 0; keep = keep[ch.size:] {
		ch.send(keep[:ch.size])
	}
	return n
}

func (ch *channel) close() {
	ch.closed = true
	unix.Close(ch.w)
}
