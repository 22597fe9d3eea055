package cli

import (
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
	return a.record(c, "on segment "+segment, *o.file, *o.duration, *o.count)
}
