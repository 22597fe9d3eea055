package launch

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// holders returns the processes other than this one that have one of the
// memory files open: the programs with a verbs device, and never the shell that
// started them.
func holders(files map[uint64]int) []int {
	dev := uint64(0)
	for _, fd := range files {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil {
			dev = uint64(st.Dev)
			break
		}
	}
	var list []int
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, p := range procs {
		pid, err := strconv.Atoi(p.Name())
		if err == nil && pid != os.Getpid() && holds(p.Name(), dev, files) {
			list = append(list, pid)
		}
	}
	return list
}

func holds(pid string, dev uint64, files map[uint64]int) bool {
	dir := "/proc/" + pid + "/fd"
	fds, err := os.ReadDir(dir)
	if err != nil {
		return false // ended
	}
	for _, f := range fds {
		path := dir + "/" + f.Name()
		if link, err := os.Readlink(path); err != nil || !strings.HasPrefix(link, "/memfd:uverbs") {
			continue
		}
		var st unix.Stat_t
		if unix.Stat(path, &st) != nil || uint64(st.Dev) != dev {
			continue
		}
		if _, ok := files[st.Ino]; ok {
			return true
		}
	}
	return false
}

// comm is the name of a process.
func comm(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return "a program"
	}
	return strings.TrimSpace(string(b))
}
