package daemon

import (
	"time"

	"golang.org/x/sys/unix"

	"cnuas/internal/launch"
	"cnuas/internal/poll"
)

// programGrace is how long programs have to end by themselves when their
// fabric goes down.
const programGrace = time.Second

// endPrograms ends what was started by exec in a fabric, and its children: all
// processes that carry the variable by which package launch marks them. First
// they are asked, then killed.
func endPrograms(fabric string) {
	for i, sig := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		var open []int
		for _, p := range launch.Marked(launch.EnvFabric, fabric) {
			// A descriptor of the process, so that a reused number cannot get
			// the signal; the variable is looked at again behind it.
			fd, err := unix.PidfdOpen(p, 0)
			if err != nil {
				continue
			}
			if !launch.IsMarked(p, launch.EnvFabric, fabric) || unix.PidfdSendSignal(fd, sig, nil, 0) != nil {
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
		poll.Wait(fd, unix.POLLIN, time.Until(end))
		unix.Close(fd)
	}
}
