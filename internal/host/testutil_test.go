package host

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"cnuas/internal/simtest"
)

// prefix begins the names of all namespaces that these tests make.
const prefix = "hosttest-"

// private points RunDir to a directory of the test.
func private(t testing.TB) {
	t.Helper()
	simtest.Root(t)
	old := RunDir
	dir, err := os.MkdirTemp("/run", prefix) // where the real one is: a tmpfs
	if err != nil {
		t.Fatal(err)
	}
	RunDir = dir
	t.Cleanup(func() { RunDir = old; os.RemoveAll(dir) })
}

// nsName makes a name for a namespace that is removed with the test.
func nsName(t testing.TB, s string) string {
	name := fmt.Sprintf("%s%d-%s", prefix, os.Getpid(), s)
	t.Cleanup(func() {
		if _, err := os.Lstat(Path(name)); err == nil {
			exec.Command("ip", "netns", "del", name).Run()
			os.Remove(Path(name))
		}
	})
	return name
}

// newNS creates a namespace for the test.
func newNS(t testing.TB, s string) *NS {
	t.Helper()
	n, err := Create(nsName(t, s), NewMarker("test"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Delete() })
	return n
}

func tapConfig(i byte, addrs ...string) TAPConfig {
	c := TAPConfig{Name: "eth0", MAC: [6]byte{2, 0, 0, 0, 0, i}, MTU: 4200}
	for _, a := range addrs {
		c.Addrs = append(c.Addrs, netip.MustParsePrefix(a))
	}
	return c
}

func newTAP(t testing.TB, n *NS, c TAPConfig) *TAP {
	t.Helper()
	x, err := n.AddTAP(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// childEnv makes the test binary play another part.
const childEnv = "CNUAS_HOST_TEST_CHILD"

func TestMain(m *testing.M) {
	part, args, _ := strings.Cut(os.Getenv(childEnv), " ")
	switch part {
	case "":
		os.Exit(m.Run())
	case "leak":
		leakChild(args)
	case "fabric":
		fabricChild(args)
	}
}

func childCommand(args ...string) *exec.Cmd {
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), childEnv+"="+strings.Join(args, " "))
	c.Stderr = os.Stderr
	return c
}

// child runs a part in a process of its own and returns what it prints.
func child(t testing.TB, args ...string) string {
	t.Helper()
	b, err := childCommand(args...).Output()
	if err != nil {
		t.Fatalf("child %v: %v", args, err)
	}
	return string(b)
}

// command runs a program and returns what it prints.
func command(t testing.TB, name string, args ...string) string {
	t.Helper()
	b, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, b)
	}
	return string(b)
}
