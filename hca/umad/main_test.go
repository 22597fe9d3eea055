package umad_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"testing"

	"cnuas/internal/launch"
)

// launchEnv makes the test binary act as `cnuas exec`: the value is a
// launch.Config, and descriptor 3 the connection to the daemon.
const launchEnv = "CNUAS_TEST_LAUNCH"

// programEnv makes it act as a program that uses umad by itself; the value
// names which.
const programEnv = "CNUAS_TEST_PROGRAM"

func TestMain(m *testing.M) {
	launch.MaybeChild()
	if v := os.Getenv(launchEnv); v != "" {
		os.Unsetenv(launchEnv)
		os.Exit(launchMain(v))
	}
	if v := os.Getenv(programEnv); v != "" {
		os.Exit(programMain(v))
	}
	os.Exit(m.Run())
}

func launchMain(config string) int {
	var cfg launch.Config
	if err := json.Unmarshal([]byte(config), &cfg); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return launch.StatusOwnError
	}
	f := os.NewFile(3, "daemon")
	c, err := net.FileConn(f)
	f.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return launch.StatusOwnError
	}
	cfg.Conn = c.(*net.UnixConn)
	status, err := launch.Exec(cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cnuas:", err)
	}
	return status
}
