// Package vm starts the lab VM.
package vm

import (
	"context"
	"errors"
	"io"

	"cnuas/internal/host"
)

var errStub = errors.New("not implemented")

// Config says what VM to start.
type Config struct {
	Kernel        *Kernel
	Accel         string
	CPUs          int
	MemoryMB      int
	SelfContained bool
	With          []string
	Modules       []string
	Log           io.Writer
}

// Kernel is an unpacked kernel.
type Kernel struct {
	Dir     string // the tree: lib/modules/Release is in it
	Release string // as uname -r
	Image   string // path of vmlinuz
}

// Stream is a byte stream to the agent.
type Stream interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// Machine is a VM that runs.
type Machine struct{}

// Start boots a VM.
func Start(ctx context.Context, cfg Config) (*Machine, error) { return nil, errStub }

// Open gives a fresh stream to the agent.
func (m *Machine) Open() (Stream, error) { return nil, errStub }

// Done is closed when the VM ended.
func (m *Machine) Done() <-chan struct{} { return nil }

// Close ends the VM.
func (m *Machine) Close() error { return errStub }

// FindKernel finds an unpacked kernel.
func FindKernel(dir string) (*Kernel, error) { return nil, errStub }

// Fetch downloads a kernel.
func Fetch(ctx context.Context, log io.Writer) (*Kernel, error) { return nil, errStub }

// HasModule tells whether the kernel has the module, as a file or built in.
func (k *Kernel) HasModule(name string) bool { return false }

// BuildSIW builds the siw module for the kernel.
func BuildSIW(ctx context.Context, k *Kernel, log io.Writer) error { return errStub }

// Probe tells whether a lab VM can be started here.
func Probe() []host.Check { return nil }
