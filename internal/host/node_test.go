package host

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/internal/simtest"
)

// 64 nodes as `cnuas up` makes them, and down again, leaving nothing.
func TestManyNodes(t *testing.T) {
	private(t)
	j, err := OpenJournal("many")
	if err != nil {
		t.Fatal(err)
	}
	var cfgs []NodeConfig
	for i := range 64 {
		cfgs = append(cfgs, NodeConfig{Name: nsName(t, fmt.Sprint("m", i)),
			TAPs: []TAPConfig{tapConfig(byte(i), fmt.Sprintf("10.9.4.%d/24", i+1), fmt.Sprintf("fd00:9:4::%d/64", i+1))}})
	}
	fds, _ := os.ReadDir("/proc/self/fd")
	t0 := time.Now()
	nodes, err := NewNodes(j, cfgs)
	up := time.Since(t0)
	if err != nil {
		t.Fatal(err)
	}
	t0 = time.Now()
	if err := errors.Join(CloseNodes(nodes), j.Close()); err != nil {
		t.Error(err)
	}
	t.Logf("64 nodes up in %v, down in %v", up, time.Since(t0))
	for _, c := range cfgs {
		if _, err := os.Lstat(Path(c.Name)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", c.Name, err)
		}
	}
	if after, _ := os.ReadDir("/proc/self/fd"); len(after) > len(fds) {
		t.Errorf("%d descriptors before, %d after", len(fds), len(after))
	}
}

// One name that is taken: the others are undone, the foreign one stays, and
// all problems are named.
func TestNodesUndo(t *testing.T) {
	private(t)
	j, err := OpenJournal("undo")
	if err != nil {
		t.Fatal(err)
	}
	good, taken := nsName(t, "good"), nsName(t, "taken")
	bad := NodeConfig{Name: nsName(t, "badmtu"), TAPs: []TAPConfig{{Name: "eth0", MAC: [6]byte{2}, MTU: 1}}}
	command(t, "ip", "netns", "add", taken)
	_, err = NewNodes(j, []NodeConfig{{Name: good}, {Name: taken}, bad})
	if !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), taken) || !strings.Contains(err.Error(), "mtu 1 ") {
		t.Errorf("error: %v", err)
	}
	for _, n := range []string{good, bad.Name} {
		if _, err := os.Lstat(Path(n)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", n, err)
		}
	}
	command(t, "ip", "-n", taken, "link")
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	command(t, "ip", "-n", taken, "link")
}

func TestProbe(t *testing.T) {
	simtest.Root(t)
	var before, after unix.Rlimit
	unix.Getrlimit(unix.RLIMIT_MEMLOCK, &before)
	cs := Probe()
	unix.Getrlimit(unix.RLIMIT_MEMLOCK, &after)
	if before != after {
		t.Errorf("the probe left the memlock limit at %+v, it was %+v", after, before)
	}
	for _, c := range cs {
		t.Logf("%-20s %-5v %s %s", c.Name, c.OK, c.Detail, c.Remedy)
		if c.Need && !c.OK {
			t.Errorf("%s: %s, but the tests of this package work here", c.Name, c.Detail)
		}
		if c.Name == "" || c.Detail == "" || !c.OK && c.Remedy == "" {
			t.Errorf("incomplete: %+v", c)
		}
	}
}
