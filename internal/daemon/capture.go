package daemon

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"

	"cnuas/internal/capture"
	"cnuas/internal/link"
	"cnuas/internal/sim"
)

// capture prepares a capture at some ports and returns what serves it.
func (d *Daemon) capture(a CaptureArgs) (func(*net.UnixConn), error) {
	if len(a.Ports) == 0 {
		return nil, fmt.Errorf("capture: name at least one port")
	}
	if a.SnapLen < 0 {
		return nil, fmt.Errorf("capture: snap length %d: must be above zero, or zero for whole frames", a.SnapLen)
	}
	filter, err := capture.CompileFilter(a.Filter)
	if err != nil {
		return nil, err
	}
	if filter != nil && !slices.ContainsFunc(a.Ports, func(p string) bool { return d.fab.IB(p) == nil }) {
		return nil, fmt.Errorf("capture: tcpdump's filters know nothing of InfiniBand: leave %q out, and filter when reading", a.Filter)
	}
	var ports []*link.Port
	seen := map[string]bool{}
	for _, name := range a.Ports {
		p, err := d.fab.Port(name)
		if err != nil {
			return nil, err
		}
		if !seen[name] {
			ports = append(ports, p)
		}
		seen[name] = true
	}
	return func(c *net.UnixConn) { d.serveCapture(c, filter, a.SnapLen, ports) }, nil
}

func (d *Daemon) serveCapture(c *net.UnixConn, filter *capture.Filter, snap int, ports []*link.Port) {
	var now sim.Time
	d.loop.Do(func() { now = d.fab.Engine.Now() })
	s := capture.NewSession(capture.Config{Filter: filter, SnapLen: snap, Base: d.wallOfZero(now)})
	taps := make([]*capture.Tap, len(ports))
	for i, p := range ports {
		kind := capture.Ethernet
		if d.fab.IB(p.Name) != nil {
			kind = capture.InfiniBand
		}
		taps[i] = s.TapLink(p.Name, kind)
	}
	d.loop.Do(func() {
		for i, p := range ports {
			p.AddObserver(taps[i])
		}
	})
	err := d.record(c, s, func() {
		d.loop.Do(func() {
			for i, p := range ports {
				p.RemoveObserver(taps[i])
			}
		})
	})
	if err != nil {
		d.logf("capture at %d ports ended: %v", len(ports), err)
	}
}

// record streams a session to the client until that half-closes the connection
// or is gone, or the fabric goes down. remove takes the taps off, before the
// session ends, so that no frame is half recorded.
func (d *Daemon) record(c *net.UnixConn, s *capture.Session, remove func()) error {
	ctx, cancel := context.WithCancel(context.Background())
	stop := sync.OnceFunc(func() {
		remove()
		cancel()
	})
	defer stop()
	defer context.AfterFunc(d.ctx, stop)()
	go func() {
		io.Copy(io.Discard, c)
		stop()
	}()
	return s.Run(ctx, c)
}
