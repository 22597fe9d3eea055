// Package simtest holds what tests of several packages share. Its first duty
// is to decide about skipping: a test that cannot run on a developer's machine
// skips, but where the environment is meant to be complete (CI=true) it fails,
// so that a missing program cannot quietly take a test out of the suite.
package simtest

import (
	"os"
	"os/exec"
	"testing"
)

// packages maps a program to the Debian package that has it, where the names
// differ.
var packages = map[string]string{
	"ib_write_bw": "perftest", "ib_write_lat": "perftest",
	"ib_read_bw": "perftest", "ib_read_lat": "perftest",
	"ib_send_bw": "perftest", "ib_send_lat": "perftest",
	"ib_atomic_bw": "perftest", "ib_atomic_lat": "perftest",
	"ibv_devices": "ibverbs-utils", "ibv_devinfo": "ibverbs-utils",
	"ibv_rc_pingpong": "ibverbs-utils", "ibv_asyncwatch": "ibverbs-utils",
	"ip": "iproute2", "tc": "iproute2", "ss": "iproute2",
	"ucx_perftest": "ucx-utils", "ucx_info": "ucx-utils", "mpirun": "openmpi-bin", "mpicc": "libopenmpi-dev", "unshare": "util-linux",
	"ping": "iputils-ping", "/usr/bin/python3": "python3", "capinfos": "wireshark-common", "mn": "mininet", "depmod": "kmod", "xz": "xz-utils",
}

// InCI tells whether the environment claims to be complete: the variable CI is
// "true".
func InCI() bool { return os.Getenv("CI") == "true" }

// Need ends the test if one of the programs cannot be found: it skips, or
// fails in CI with the remedy. It returns the path of the first.
func Need(t testing.TB, programs ...string) string {
	t.Helper()
	first := ""
	for _, p := range programs {
		path, err := exec.LookPath(p)
		if err != nil {
			Missing(t, "program "+p+" is not installed", "apt-get install "+Package(p))
		}
		if first == "" {
			first = path
		}
	}
	return first
}

// Package is the Debian package that contains the program.
func Package(program string) string {
	if p := packages[program]; p != "" {
		return p
	}
	return program
}

// Root ends the test unless it runs as root: it skips, or fails in CI.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		Missing(t, "this test makes namespaces and interfaces", "run it as root")
	}
}

// Missing is the one place that skips: the test needs what is not there, and
// the remedy says how to get it. In CI the test fails.
func Missing(t testing.TB, what, remedy string) {
	t.Helper()
	if InCI() {
		t.Fatalf("%s: %s (CI=true, so this is a failure and not a skip)", what, remedy)
	}
	t.Skipf("%s: %s", what, remedy)
}
