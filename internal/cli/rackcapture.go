package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"cnuas/internal/control"
	"cnuas/internal/daemon"
)

// rackCapture writes what passes on a segment.
func (a *app) rackCapture(o *rackFlags, segment string) error {
	if *o.file == "" {
		return usageError("say where to write with -w FILE, or -w - for standard output")
	}
	c, err := dialRack(*o.fabric, daemon.RackArgs{Name: segment})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := control.Call(c, daemon.OpRackCapture, daemon.RackCaptureArgs{Segment: segment}, nil); err != nil {
		return err
	}
	out := io.Writer(os.Stdout)
	if *o.file != "-" {
		f, err := os.Create(*o.file)
		if err != nil {
			return fmt.Errorf("capture: %w", err)
		}
		defer f.Close()
		out = f
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *o.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *o.duration)
		defer cancel()
	}
	fmt.Fprintf(a.err, "capturing on segment %s, until interrupted\n", segment)
	return a.receive(ctx, c, out, *o.count)
}
