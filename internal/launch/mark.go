package launch

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Variables in the environment of every program that Exec starts, and of the
// programs that those start.
const (
	EnvFabric  = "CNUAS_FABRIC" // name of the fabric
	EnvNode    = "CNUAS_NODE"   // name of the node
	envSession = "CNUAS_EXEC"   // process number of the supervisor
)

// marks returns the environment with the variables of this session.
func marks(env []string, cfg *Config) []string {
	return append(Unmarked(env), EnvFabric+"="+cfg.Fabric, EnvNode+"="+cfg.Node, envSession+"="+strconv.Itoa(os.Getpid()))
}

// Unmarked returns the environment without the variables of a session.
func Unmarked(env []string) []string {
	var out []string
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if name != EnvFabric && name != EnvNode && name != envSession {
			out = append(out, v)
		}
	}
	return out
}

// Marked returns the processes, other than this one, that carry a variable
// with a value.
func Marked(name, value string) []int {
	var list []int
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, p := range procs {
		if pid, err := strconv.Atoi(p.Name()); err == nil && pid != os.Getpid() && IsMarked(pid, name, value) {
			list = append(list, pid)
		}
	}
	return list
}

// IsMarked tells whether a process carries a variable with a value.
func IsMarked(pid int, name, value string) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	want := []byte(name + "=" + value)
	for _, v := range bytes.Split(b, []byte{0}) {
		if bytes.Equal(v, want) {
			return true
		}
	}
	return false
}

// strays returns the programs of this session that are no shells: what still
// waits for a network that has gone.
func strays() []int {
	shells := loginShells()
	var list []int
	for _, pid := range Marked(envSession, strconv.Itoa(os.Getpid())) {
		exe, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
		if err == nil && !shells[exe] {
			list = append(list, pid)
		}
	}
	return list
}

// loginShells reads shells(5), with links resolved as /proc shows programs.
func loginShells() map[string]bool {
	m := map[string]bool{}
	f, err := os.Open("/etc/shells")
	if err != nil {
		return m
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		path := strings.TrimSpace(s.Text())
		if !strings.HasPrefix(path, "/") {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			m[real] = true
		}
	}
	return m
}
