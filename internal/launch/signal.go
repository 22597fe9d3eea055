package launch

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// passed are the signals that are passed on to the program.
var passed = []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM}

// signals passes signals on to the program.
type signals struct {
	ch   chan os.Signal
	done chan struct{}
}

// catchSignals keeps signals from ending the supervisor before its program.
// Signals that were ignored when it started stay ignored, for both.
func catchSignals() *signals {
	s := &signals{ch: make(chan os.Signal, 16), done: make(chan struct{})}
	for _, sig := range passed {
		if !signal.Ignored(sig) {
			signal.Notify(s.ch, sig)
		}
	}
	return s
}

// passTo passes on what has come and what will.
func (s *signals) passTo(send func(unix.Signal)) {
	go func() {
		for {
			select {
			case <-s.done:
				return
			case sig := <-s.ch:
				if n, ok := sig.(unix.Signal); ok && !fromTerminal(n) {
					send(n)
				}
			}
		}
	}()
}

func (s *signals) stop() {
	signal.Stop(s.ch)
	close(s.done)
}

// fromTerminal tells whether the terminal has sent the signal, in which case
// the program has had it too: it sends to the whole foreground process group,
// and program and supervisor are one group. What another process sends to a
// supervisor in the foreground cannot be told apart and is not passed on.
func fromTerminal(sig unix.Signal) bool {
	if sig != unix.SIGINT && sig != unix.SIGQUIT {
		return false
	}
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer unix.Close(tty)
	group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
