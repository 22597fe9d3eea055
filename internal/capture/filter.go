package capture

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/net/bpf"
)

// Filter chooses frames by an expression of pcap-filter(7), the language of
// tcpdump. A nil Filter has the empty expression and is not to be Matched.
type Filter struct {
	expr string
	vm   *bpf.VM
}

// CompileFilter translates an expression. libpcap has the only compiler for
// this language, so tcpdump is asked; the program itself runs here. An empty
// expression gives a nil Filter, which matches everything.
func CompileFilter(expr string) (*Filter, error) {
	expr = strings.TrimSpace(expr)
	if expr == "" {
		return nil, nil
	}
	if len(expr) > maxFilter {
		return nil, fmt.Errorf("capture filter of %d bytes: %d are the most", len(expr), maxFilter)
	}
	path, err := exec.LookPath("tcpdump")
	if err != nil {
		return nil, errors.New("capture filter: tcpdump compiles filters and is not installed: apt-get install tcpdump")
	}
	var stderr bytes.Buffer
	// "--" keeps an expression from being taken for an option.
	cmd := exec.Command(path, "-ddd", "-y", "EN10MB", "--", expr)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("capture filter %q: %s", expr, lastLine(stderr.String(), err))
	}
	vm, err := assemble(string(out))
	if err != nil {
		return nil, fmt.Errorf("capture filter %q: %w", expr, err)
	}
	return &Filter{expr: expr, vm: vm}, nil
}

// lastLine is where tcpdump says what is wrong.
func lastLine(stderr string, err error) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if s := strings.TrimPrefix(lines[len(lines)-1], "tcpdump: "); s != "" {
		return s
	}
	return err.Error()
}

// assemble reads what tcpdump -ddd prints: the number of instructions, then
// one a line as four decimal numbers.
func assemble(out string) (*bpf.VM, error) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	n, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil || n != len(lines)-1 {
		return nil, fmt.Errorf("tcpdump printed %d lines after a count of %q", len(lines)-1, lines[0])
	}
	program := make([]bpf.Instruction, 0, n)
	for i, l := range lines[1:] {
		f := strings.Fields(l)
		if len(f) != 4 {
			return nil, fmt.Errorf("instruction %d: %q is not four numbers", i, l)
		}
		var v [4]uint64
		for j, bits := range [4]int{16, 8, 8, 32} {
			if v[j], err = strconv.ParseUint(f[j], 10, bits); err != nil {
				return nil, fmt.Errorf("instruction %d: %w", i, err)
			}
		}
		raw := bpf.RawInstruction{Op: uint16(v[0]), Jt: uint8(v[1]), Jf: uint8(v[2]), K: uint32(v[3])}
		program = append(program, raw.Disassemble())
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		return nil, fmt.Errorf("the compiled program is not accepted: %w", err)
	}
	return vm, nil
}

// Match tells whether the frame is wanted. A program that fails on it, for
// instance because it divides by zero, does not match.
func (f *Filter) Match(b []byte) bool {
	n, err := f.vm.Run(b)
	return err == nil && n > 0
}

// String returns the expression.
func (f *Filter) String() string {
	if f == nil {
		return ""
	}
	return f.expr
}
