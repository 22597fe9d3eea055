package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// vmwritev prints how many single process_vm_writev calls of 64 bytes a second
// one thread makes into another process.
func vmwritev(d time.Duration) error {
	runtime.LockOSThread()
	// The target is a child of this program that sleeps; any of its writable
	// pages will do, and a child made by fork has ours at the same address.
	mem, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	for i := range mem {
		mem[i] = 1
	}
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		return err
	}
	defer func() { c.Process.Kill(); c.Wait() }()
	addr, err := writable(c.Process.Pid)
	if err != nil {
		return err
	}
	l := unix.Iovec{Base: &mem[0], Len: 64}
	r := unix.RemoteIovec{Base: addr, Len: 64}
	n := 0
	start := time.Now()
	for time.Since(start) < d {
		for range 1000 {
			k, _, e := unix.RawSyscall6(unix.SYS_PROCESS_VM_WRITEV, uintptr(c.Process.Pid),
				uintptr(unsafe.Pointer(&l)), 1, uintptr(unsafe.Pointer(&r)), 1, 0)
			if e != 0 || k != 64 {
				return fmt.Errorf("process_vm_writev: %d bytes, %v", k, e)
			}
			n++
		}
	}
	fmt.Printf("%.0f\n", float64(n)/time.Since(start).Seconds())
	return nil
}

// writable finds the lowest byte of the child's stack, which it does not use.
func writable(pid int) (uintptr, error) {
	for range 100 {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil {
			return 0, err
		}
		var lo, hi uintptr
		for _, line := range splitLines(b) {
			if n, _ := fmt.Sscanf(line, "%x-%x", &lo, &hi); n == 2 && len(line) > 7 && line[len(line)-7:] == "[stack]" {
				return lo, nil
			}
		}
		time.Sleep(10 * time.Millisecond) // the child has not executed its program yet
	}
	return 0, fmt.Errorf("no stack in the memory map of process %d", pid)
}

func splitLines(b []byte) (l []string) {
	s := 0
	for i, c := range b {
		if c == '\n' {
			l = append(l, string(b[s:i]))
			s = i + 1
		}
	}
	return l
}
