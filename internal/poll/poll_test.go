package poll

import (
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Signals to the thread that polls change no answer.
func TestSignals(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	pid, tid := os.Getpid(), unix.Gettid()
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				unix.Tgkill(pid, tid, unix.SIGURG)
			}
		}
	}()
	raw := 0
	for end := time.Now().Add(10 * time.Second); raw < 20 && time.Now().Before(end); {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(p[0]), Events: unix.POLLIN}}, 0); err == unix.EINTR {
			raw++
		}
		if got, err := Now(p[0], unix.POLLIN); got != 0 || err != nil {
			t.Fatalf("empty pipe: %#x, %v", got, err)
		}
		if got, err := Now(p[1], unix.POLLOUT); got != unix.POLLOUT || err != nil {
			t.Fatalf("a pipe with room: %#x, %v", got, err)
		}
	}
	if raw == 0 {
		t.Error("poll was never interrupted: the test shows nothing")
	}
	began := time.Now()
	if got, err := Wait(p[0], unix.POLLIN, 20*time.Millisecond); got != 0 || err != nil || time.Since(began) < 20*time.Millisecond {
		t.Errorf("%#x, %v after %v", got, err, time.Since(began))
	}
	close(stop)
	<-ended
	if _, err := Now(1<<20, unix.POLLIN); err != nil {
		t.Errorf("a descriptor that does not exist is POLLNVAL: %v", err)
	}
}
