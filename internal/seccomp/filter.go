package seccomp

import (
	"fmt"
	"math/bits"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data of a little-endian machine: of the 64-bit
// arguments the low halves, which are all that the matched calls look at.
const (
	offNr   = 0
	offArch = 4
	offArg  = 16
)

// Action is what the kernel does with a call that a Rule matches.
type Action uint32

// Notify hands the call to the listener.
const Notify Action = unix.SECCOMP_RET_USER_NOTIF

// Refuse makes the call fail with an error.
func Refuse(e unix.Errno) Action { return Action(unix.SECCOMP_RET_ERRNO | uint32(e)) }

// Match compares the low 32 bits of an argument.
type Match struct {
	Arg   int    // 0 to 5
	Mask  uint32 // bits that count
	Value uint32
}

// Rule applies its action to a system call all of whose matches hold.
type Rule struct {
	Nr      uint32
	Matches []Match
	Action  Action
}

// Filter is a program for the kernel: the rules of the native architecture and
// of the 32-bit one that the machine may also run. Everything else is native.
type Filter struct {
	Native []Rule
	Compat []Rule
}

// Assemble translates the filter.
func (f Filter) Assemble() ([]unix.SockFilter, error) {
	var ins []bpf.Instruction
	ld := func(off uint32) { ins = append(ins, bpf.LoadAbsolute{Off: off, Size: 4}) }
	for _, a := range []struct {
		arch  uint32
		rules []Rule
	}{{auditNative, f.Native}, {auditCompat, f.Compat}} {
		if a.arch == 0 || len(a.rules) == 0 {
			continue
		}
		body, err := rules(a.rules)
		if err != nil {
			return nil, err
		}
		ld(offArch)
		// The body may be longer than a conditional jump reaches.
		ins = append(ins, bpf.JumpIf{Cond: bpf.JumpEqual, Val: a.arch, SkipTrue: 1}, bpf.Jump{Skip: uint32(len(body))})
		ins = append(ins, body...)
	}
	ins = append(ins, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
	raw, err := bpf.Assemble(ins)
	if err != nil {
		return nil, fmt.Errorf("seccomp filter: %w", err)
	}
	out := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		out[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return out, nil
}

// rules is the code for one architecture; it always ends in a return.
func rules(rs []Rule) ([]bpf.Instruction, error) {
	var ins []bpf.Instruction
	for _, r := range rs {
		var body []bpf.Instruction
		for _, m := range r.Matches {
			if m.Arg < 0 || m.Arg > 5 || m.Value&^m.Mask != 0 {
				return nil, fmt.Errorf("seccomp filter: call %d: argument %d cannot match %#x under mask %#x", r.Nr, m.Arg, m.Value, m.Mask)
			}
			body = append(body, bpf.LoadAbsolute{Off: offArg + 8*uint32(m.Arg), Size: 4})
			if bits.OnesCount32(m.Mask) != 32 {
				body = append(body, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: m.Mask})
			}
			body = append(body, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: m.Value})
		}
		body = append(body, bpf.RetConstant{Val: uint32(r.Action)})
		if len(body) > 200 {
			return nil, fmt.Errorf("seccomp filter: call %d has too many matches", r.Nr)
		}
		for i, b := range body { // a match that fails skips the rest of the rule
			if j, ok := b.(bpf.JumpIf); ok {
				j.SkipTrue = uint8(len(body) - i - 1)
				body[i] = j
			}
		}
		ins = append(ins, bpf.LoadAbsolute{Off: offNr, Size: 4}, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: r.Nr, SkipTrue: uint8(len(body))})
		ins = append(ins, body...)
	}
	return append(ins, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}), nil
}

// Install puts the filter on the calling thread and on what it will start, and
// returns the listener's descriptor. The thread must be locked. There is one
// listener per tree of processes: a second Install fails with EBUSY.
//
// A caught call waits killably once the listener has received it, so that a
// signal handler of the program does not make it be executed twice.
func Install(f Filter) (fd int, err error) {
	prog, err := f.Assemble()
	if err != nil {
		return -1, err
	}
	p := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	r, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, uintptr(unsafe.Pointer(&p)))
	switch e {
	case 0:
		return int(r), nil
	case unix.EINVAL:
		return -1, &FeatureError{Feature: WaitKillable, Err: e}
	case unix.EACCES:
		return -1, fmt.Errorf("seccomp filter: %w: run as root", e)
	}
	return -1, fmt.Errorf("seccomp filter: %w", e)
}
