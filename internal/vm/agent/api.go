// Package agent is the program inside the lab VM and the way to talk to it.
package agent

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

var errStub = errors.New("not implemented")

// Command is what the guest is asked to run.
type Command struct {
	Argv       []string `json:"argv"`
	Env        []string `json:"env,omitempty"`
	Dir        string   `json:"dir,omitempty"`
	TTY        bool     `json:"tty,omitempty"`
	Rows, Cols uint16   `json:",omitempty"`
	Term       string   `json:"term,omitempty"`
}

// Size is that of a terminal, in characters.
type Size struct{ Rows, Cols uint16 }

// IO is what a command is connected to.
type IO struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Signals        <-chan os.Signal
	Resize         <-chan Size
}

// Exec runs a command over a fresh stream.
func Exec(conn io.ReadWriteCloser, c Command, o IO) (status int, err error) { return 125, errStub }

// Dial connects to a unix socket of the guest.
func Dial(conn io.ReadWriteCloser, path string) error { return errStub }

// Put writes a file of the guest.
func Put(conn io.ReadWriteCloser, path string, mode fs.FileMode, r io.Reader) error { return errStub }

// Get reads a file of the guest.
func Get(conn io.ReadWriteCloser, path string, w io.Writer) error { return errStub }

// MaybeInit never returns in the process that is PID 1 of the lab VM.
func MaybeInit() {}
