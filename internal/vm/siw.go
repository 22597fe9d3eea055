package vm

import (
	"context"
	"errors"
	"io"
)

// BuildSIW builds the module siw for the kernel.
func BuildSIW(ctx context.Context, k *Kernel, log io.Writer) error { return errors.New("TODO") }
