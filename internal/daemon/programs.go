package daemon

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// programGrace is how long programs have to end by themselves when their
// fabric goes down.
const programGrace = time.Second

// envFabric is the variable by which package launch marks programs.
const envFabric = "CNUAS_FABRIC"

// endPrograms ends what was started by exec in a fabric, and its children: all
// processes that carry the variable by which package launch marks them. First
// they are asked, then killed.
func endPrograms(fabric string) {
	for i, sig := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		var open []int
		for _, p := range programs(fabric) {
			// A descriptor of the process, so that a reused number cannot get
			// the signal; the variable is looked at again behind it.
			fd, err := unix.PidfdOpen(p, 0)
			if err != nil {
				continue
			}
			if !marked(p, fabric) || unix.PidfdSendSignal(fd, sig, nil, 0) != nil {
				unix.Close(fd)
				continue
			}
			open = append(open, fd)
		}
		if len(open) == 0 {
			return
		}
		await(open, programGrace*time.Duration(i+1))
	}
}

// await waits until every process of the list has ended, and closes it.
func await(fds []int, d time.Duration) {
	end := time.Now().Add(d)
	for _, fd := range fds {
		left := max(0, time.Until(end))
		unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds()))
		unix.Close(fd)
	}
}

// programs lists the processes that carry the fabric's mark, except this one.
func programs(fabric string) []int {
	es, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var l []int
	for _, e := range es {
		if p, err := strconv.Atoi(e.Name()); err == nil && p != os.Getpid() && marked(p, fabric) {
			l = append(l, p)
		}
	}
	return l
}

func marked(pid int, fabric string) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	want := []byte(envFabric + "=" + fabric)
	for _, v := range bytes.Split(b, []byte{0}) {
		if bytes.Equal(v, want) {
			return true
		}
	}
	return false
}
