package daemon

import (
	"net"
	"time"

	"cnuas/internal/capture"
	"cnuas/internal/sim"
)

// RackCaptureArgs ask for what passes on a segment; the stream of package
// capture follows the answer, until the client half-closes the connection.
type RackCaptureArgs struct {
	Segment string `json:"segment"`
}

// rackCapture prepares a capture of a segment and returns what serves it.
func (d *Daemon) rackCapture(a RackCaptureArgs) (func(*net.UnixConn), error) {
	if d.rack == nil {
		return nil, d.noRack()
	}
	s, err := d.segment(a.Segment)
	if err != nil {
		return nil, err
	}
	return func(c *net.UnixConn) { d.serveRackCapture(c, s.Name) }, nil
}

func (d *Daemon) serveRackCapture(c *net.UnixConn, segment string) {
	var now sim.Time
	var remove func()
	var s *capture.Session
	d.rack.Do(func() { now = d.rack.Engine().Now() })
	s = capture.NewSession(capture.Config{Base: time.Now().Add(-time.Duration(now.Nanoseconds())), RingBytes: 1 << 20})
	tap := s.TapLink(segment, capture.Serial)
	d.rack.Do(func() { remove = d.rack.Segment(segment).Observe(tap) })
	if err := d.record(c, s, func() { d.rack.Do(remove) }); err != nil {
		d.logf("capture of segment %s ended: %v", segment, err)
	}
}
