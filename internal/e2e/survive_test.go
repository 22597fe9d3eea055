package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// leftovers lists what a fabric of the test may have left on the machine.
func leftovers(prefix, name string) []string {
	var l []string
	ns, _ := filepath.Glob("/run/netns/" + prefix + "*")
	l = append(l, ns...)
	if _, err := os.Stat(filepath.Join(runDir, name)); err == nil {
		l = append(l, filepath.Join(runDir, name))
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for _, m := range strings.Split(string(mounts), "\n") {
		if strings.Contains(m, runDir) || strings.Contains(m, "/run/netns/"+prefix) {
			l = append(l, "mount "+m)
		}
	}
	links, _ := exec.Command("ip", "-o", "link").Output()
	for _, x := range strings.Split(string(links), "\n") {
		if strings.Contains(x, ": "+prefix) {
			l = append(l, "interface "+x)
		}
	}
	procs, _ := os.ReadDir("/proc")
	for _, p := range procs {
		if _, err := strconv.Atoi(p.Name()); err != nil {
			continue
		}
		env, _ := os.ReadFile("/proc/" + p.Name() + "/environ")
		cmd, _ := os.ReadFile("/proc/" + p.Name() + "/cmdline")
		if bytes.Contains(env, []byte("CNUAS_FABRIC="+name+"\x00")) || bytes.HasPrefix(cmd, []byte(cnuasBin)) && bytes.Contains(cmd, []byte(name)) {
			l = append(l, fmt.Sprintf("process %s %q", p.Name(), cmd))
		}
	}
	return l
}

// TestKill9 kills the daemon at random moments of up, traffic and down. After
// that `down --all` or the next `up` must leave nothing behind.
func TestKill9(t *testing.T) {
	rounds := 14 // the suite of stock programs has 36 more
	if testing.Short() {
		rounds = 6
	}
	killRounds(t, rounds)
}

// killRounds kills daemons at moments that the number of rounds determines.
func killRounds(t *testing.T, rounds int) {
	const name, prefix = "e2e-kill9", "ck"
	l := up(t, name, star(prefix, 3, "10Gbps", ""))
	l.cnuas("down", name)
	rng := rand.New(rand.NewPCG(7, uint64(rounds)))
	killed := 0
	for i := range rounds {
		killed += l.killRound(i%3, rng)
		if i%2 == 0 {
			l.cnuas("down", "--all")
		} else {
			l.cnuas("up", l.file)
			l.cnuas("exec", prefix+"1", "--", "ibv_devinfo")
			l.cnuas("down", name)
		}
		if left := leftovers(prefix, name); len(left) > 0 {
			t.Fatalf("round %d left:\n%s", i, strings.Join(left, "\n"))
		}
	}
	if killed < rounds*2/3 {
		t.Errorf("only %d of %d rounds killed a living daemon: the moments are badly chosen", killed, rounds)
	}
}

// killRound kills the daemon once: while it comes up (phase 0), under traffic
// (1) or while it goes down (2). It returns 1 if there was one to kill.
func (l *lab) killRound(phase int, rng *rand.Rand) int {
	l.t.Helper()
	if phase == 0 {
		c := exec.Command(cnuasBin, "up", l.file)
		c.Start()
		defer c.Wait()
		var pid int
		for end := time.Now().Add(5 * time.Second); pid == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
			pid = childOf(c.Process.Pid)
		}
		time.Sleep(time.Duration(rng.IntN(60)) * time.Millisecond)
		return kill(pid)
	}
	l.cnuas("up", l.file)
	pid := l.status().PID
	l.start("ck1", "ib_write_bw", "-d", "rxe0", "-x", "1", "-F", "-D", "30")
	l.listening("ck1", "18515")
	l.start("ck2", "ib_write_bw", "-d", "rxe0", "-x", "1", "-F", "-D", "30", "10.0.0.1")
	time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
	if phase == 2 {
		d := exec.Command(cnuasBin, "down", l.name)
		d.Start()
		defer d.Wait()
		time.Sleep(time.Duration(rng.IntN(30)) * time.Millisecond)
	}
	return kill(pid) // the programs are left to whoever cleans up
}

func kill(pid int) int {
	if pid == 0 || syscall.Kill(pid, syscall.SIGKILL) != nil {
		return 0
	}
	return 1
}

// childOf returns the daemon that a process has started; 0 if there is none. The
// kernel lists the children of each thread: looking through all processes takes
// longer than a fabric takes to come up.
func childOf(pid int) int {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range lists {
		b, _ := os.ReadFile(f)
		for _, c := range strings.Fields(string(b)) {
			// The Go runtime tries pidfds out on a child of its own, which lives
			// for a moment: not that one.
			if cmd, _ := os.ReadFile("/proc/" + c + "/cmdline"); bytes.Contains(cmd, []byte("\x00daemon\x00")) {
				n, _ := strconv.Atoi(c)
				return n
			}
		}
	}
	return 0
}

// TestDownEndsPrograms: down ends what exec started and is still there.
func TestDownEndsPrograms(t *testing.T) {
	l := up(t, "e2e-programs", star("ck", 2, "10Gbps", ""))
	j := l.start("ck1", "sh", "-c", "sleep 1000 & echo started; wait")
	eventually(t, 5*time.Second, "the shell runs", func() bool { return strings.Contains(j.out.String(), "started") })
	l.cnuas("down", l.name)
	j.wait(t, 5*time.Second)
	if left := leftovers("ck", l.name); len(left) > 0 {
		t.Errorf("left:\n%s", strings.Join(left, "\n"))
	}
}
