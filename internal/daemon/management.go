package daemon

import (
	"fmt"
	"net/netip"

	"cnuas/internal/host"
	"cnuas/internal/realtime"
	"cnuas/internal/sim"
	"cnuas/internal/status"
	"cnuas/internal/topology"
	"cnuas/switch/ideal"
)

// management joins a node's TAP on the management network to its port of the
// ideal switch. It is the switch's Host and the loop's Poller.
type management struct {
	tap  *host.TAP
	sw   *ideal.Switch
	port int
	now  func() sim.Time
	loop *realtime.Loop
	buf  []byte
}

// managementTAPs adds the TAPs of management ports to the nodes' own, as the
// last of each node.
func managementTAPs(m *topology.Management, cfgs []host.NodeConfig) {
	if m == nil {
		return
	}
	for i := range m.Ports {
		p := &m.Ports[i]
		c := &cfgs[p.Node]
		c.TAPs = append(c.TAPs, host.TAPConfig{Name: p.Name, MAC: p.MAC, MTU: m.MTU, Addrs: []netip.Prefix{p.Addr}})
	}
}

// attachManagement plugs the nodes into the management switch.
func (d *Daemon) attachManagement() error {
	for i, n := range d.nodes {
		port, ok := d.fab.ManagementPort(i)
		if !ok {
			continue
		}
		m := &management{
			tap: n.host.TAPs[len(n.host.TAPs)-1], sw: d.fab.Management(), port: port,
			now: d.fab.Engine.Now, loop: d.loop,
		}
		m.buf = make([]byte, m.tap.MTU()+64)
		m.sw.Plug(port, m)
		n.mgmt = m
		if err := d.loop.AddFD(m.tap.FD(), m); err != nil {
			return fmt.Errorf("node %s: %w", n.name(), err)
		}
	}
	return nil
}

// Readable implements realtime.Poller.
func (m *management) Readable() {
	if _, err := m.tap.ReadBatch(m, batchFrames); err != nil {
		m.loop.RemoveFD(m.tap.FD()) // somebody deleted the interface
	}
}

// Buffer implements host.Sink.
func (m *management) Buffer(n int) []byte { return m.buf[:n] }

// Frame implements host.Sink.
func (m *management) Frame(n int) bool {
	m.sw.Send(m.now(), m.port, m.buf[:n])
	return true
}

// Unused implements host.Sink.
func (m *management) Unused() {}

// Deliver implements ideal.Host.
func (m *management) Deliver(frame []byte) bool { return m.tap.Write(frame) }

// lostManagement adds to the status what kernels lost at the rings of their
// management ports. It asks the kernels, so the engine is not held.
func (d *Daemon) lostManagement(s *status.Fabric) {
	for i, n := range d.nodes {
		if n.mgmt == nil || s.Nodes[i].Management == nil {
			continue
		}
		if k, err := n.mgmt.tap.Kernel(); err == nil {
			s.Nodes[i].Management.Ring.TxDropped = k.Lost()
		}
	}
}

// judgeManagement: a frame that a ring lost is a frame that a program missed,
// on this network as on the fabric.
func judgeManagement(s *status.Fabric) (reasons []string) {
	for _, n := range s.Nodes {
		if m := n.Management; m != nil && m.Ring != (status.Ring{}) {
			reasons = append(reasons, fmt.Sprintf("the management network lost %d frames from and %d for %s's kernel at its ring",
				m.Ring.TxDropped, m.Ring.RxDropped, n.Name))
		}
	}
	return reasons
}
