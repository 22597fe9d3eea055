package topology

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong in a topology file, or questionable.
type Problem struct {
	File    string
	Line    int    // 1 or more; 0 if the problem has no line
	Key     string // "node[2].mtu": arrays count from 0; "" if it concerns the file
	Msg     string // what is wrong
	Remedy  string // what to do
	Warning bool   // the file can be used all the same
}

// String prints file:line: key: message (remedy).
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	b.WriteString(": ")
	if p.Warning {
		b.WriteString("warning: ")
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Msg)
	if p.Remedy != "" {
		b.WriteString(" (" + p.Remedy + ")")
	}
	return b.String()
}

// Problems are all problems of one file, in the order of its lines.
type Problems []Problem

// Error prints one problem per line, warnings too.
func (ps Problems) Error() string {
	l := make([]string, len(ps))
	for i, p := range ps {
		l[i] = p.String()
	}
	return strings.Join(l, "\n")
}

// Errors returns the problems that make the file unusable.
func (ps Problems) Errors() Problems { return ps.filter(false) }

// Warnings returns the problems that do not.
func (ps Problems) Warnings() Problems { return ps.filter(true) }

func (ps Problems) filter(warning bool) Problems {
	var r Problems
	for _, p := range ps {
		if p.Warning == warning {
			r = append(r, p)
		}
	}
	return r
}

// Err returns ps as an error if it holds one that is not a warning, else nil.
func (ps Problems) Err() error {
	if e := ps.Errors(); len(e) > 0 {
		return e
	}
	return nil
}
