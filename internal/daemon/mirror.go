package daemon

import (
	"context"
	"time"

	"cnuas/internal/frame"
	"cnuas/internal/host"
	"cnuas/internal/link"
	"cnuas/internal/sim"
)

// mirror shows the HCA's frames to whoever captures on the node's interface:
// while a packet socket is open in the namespace, both directions are written
// into the TAP. The kernel gives them to the packet sockets; then it drops
// those that carry the node's own source address as not for this host, and
// those for the node end at a UDP socket that discards.
type mirror struct {
	k    *kernel
	on   bool
	lost uint64 // frames that the kernel did not take
}

// Observe implements link.Observer.
func (m *mirror) Observe(_ *link.Port, d link.Direction, _ sim.Time, f *frame.Frame) {
	if d == link.Tx {
		// The kernel has seen its own frames, and no NIC shows pause frames.
		if f.Meta.Host || !f.Parse() || !f.Meta.Layers.RoCE {
			return
		}
	} else if !toHCA(f, m.k.nic.MAC()) {
		return
	}
	if !m.k.write(f) {
		m.lost++
	}
}

// checksPerSecond bounds how often namespaces are asked, all together: each
// question costs some microseconds.
const checksPerSecond = 400

type watched struct {
	*port
	watch *host.Watch
}

// watch looks for packet sockets in the nodes' namespaces until ctx ends, and
// turns the mirrors on and off.
func (d *Daemon) watch(ctx context.Context) {
	var soft []watched
	for _, n := range d.nodes {
		for _, p := range n.ports {
			if p.mirror != nil {
				soft = append(soft, watched{p, n.host.Watch})
			}
		}
	}
	if len(soft) == 0 {
		return
	}
	every := max(20*time.Millisecond, time.Second*time.Duration(len(soft))/checksPerSecond)
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		for _, p := range soft {
			if on := p.watch.Sniffing(p.tap.Index()); on != p.mirror.on {
				d.loop.Do(func() { p.setMirror(on) })
			}
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

func (p *port) setMirror(on bool) {
	p.mirror.on = on
	if on {
		p.fab.NIC().Port().AddObserver(p.mirror)
	} else {
		p.fab.NIC().Port().RemoveObserver(p.mirror)
	}
}
