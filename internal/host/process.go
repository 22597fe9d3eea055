package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Process identifies a process beyond the reuse of its number.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks since boot, proc(5) field 22
	Boot  string `json:"boot"`  // identifies the boot
}

// ThisProcess identifies the calling process.
func ThisProcess() (Process, error) {
	p := Process{PID: os.Getpid(), Boot: bootID()}
	var ok bool
	if p.Start, ok = startTime(p.PID); !ok {
		return p, fmt.Errorf("process %d: /proc/self/stat cannot be read: %w (mount /proc)", p.PID, ErrNotSupported)
	}
	return p, nil
}

// Alive tells whether the very process still runs.
func (p Process) Alive() bool {
	s, ok := startTime(p.PID)
	return ok && s == p.Start && p.Boot == bootID()
}

func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
}

// startTime reads when a process began; false if it is gone or a zombie.
func startTime(pid int) (uint64, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	// The command name in parentheses may contain anything.
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 20 || f[0][0] == 'Z' || f[0][0] == 'X' {
		return 0, false
	}
	t, err := strconv.ParseUint(string(f[19]), 10, 64)
	return t, err == nil
}
