package vm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// tool finds a program; those of the administrator are not in every PATH.
func tool(name, pkg string) (string, error) {
	path, err := exec.LookPath(name)
	for _, d := range []string{"/usr/sbin", "/sbin"} {
		if err != nil {
			path, err = exec.LookPath(filepath.Join(d, name))
		}
	}
	if err != nil {
		return "", fmt.Errorf("%s is not installed; run: apt-get install %s", name, pkg)
	}
	return path, nil
}

// runTool runs a program to its end and returns its standard output; the error
// has the end of what it wrote. When ctx ends, or this process, it is killed.
func runTool(ctx context.Context, dir, path string, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := runInto(ctx, &out, nil, dir, path, args...)
	return out.Bytes(), err
}

func runInto(ctx context.Context, stdout io.Writer, stdin *os.File, dir, path string, args ...string) error {
	c := exec.Command(path, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	if stdin != nil {
		c.Stdin = stdin
	}
	said := NewTail(3000)
	var heard io.Writer = said
	if stdout == nil {
		stdout = io.Discard
	} else {
		stdout = io.MultiWriter(stdout, said)
	}
	p, err := StartProcess(c, stdout, heard)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		// It leads a session: what it started is in its group.
		syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		<-p.done
		return ctx.Err()
	}
	if p.err != nil {
		return fmt.Errorf("%s %s: %w: %s", filepath.Base(path), args[len(args)-1], p.err, said)
	}
	return nil
}
