package fabric

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"unicode"

	"cnuas/hca"
	"cnuas/internal/link"
	"cnuas/internal/nic"
	"cnuas/internal/status"
	switching "cnuas/switch"
)

// Snapshot tells what the fabric has counted. The caller holds the engine, and
// adds what only the clock and the host know.
func (f *Fabric) Snapshot() *status.Fabric {
	s := &status.Fabric{Name: f.Spec.Name, File: f.Spec.File, Scale: 1, Faults: f.faults()}
	s.Engine.Seconds = f.Engine.Now().Seconds()
	s.Engine.Events = f.Engine.Fired()
	s.Engine.FramesLive = f.Pool.Live()
	for _, n := range f.nodes {
		sn := status.Node{Name: n.Spec.Name, Stack: string(n.Spec.Stack)}
		for _, i := range n.ifs {
			sn.Interfaces = append(sn.Interfaces, i.snapshot())
		}
		for _, p := range n.ibs {
			if p.Spec.Link >= 0 {
				sn.IBPorts = append(sn.IBPorts, p.snapshot())
			}
		}
		s.Nodes = append(s.Nodes, sn)
	}
	f.snapshotManagement(s)
	f.snapshotIPoIB(s)
	for _, sw := range f.switches {
		s.Switches = append(s.Switches, sw.snapshot())
	}
	for i := range f.Spec.Links {
		l := &f.Spec.Links[i]
		ports := f.local(l)
		sl := status.Link{A: l.A.Name, B: l.B.Name, Up: up(ports), RateBPS: l.Rate, DelayNS: float64(l.Delay) / 1e3, Tunnel: l.IB != nil && l.IB.Tunnel}
		for _, p := range ports {
			if p.Name == l.A.Name {
				sl.LossA = p.Loss()
			} else {
				sl.LossB = p.Loss()
			}
		}
		s.Links = append(s.Links, sl)
	}
	f.eachTunnel(s)
	s.SMs = f.SMStatus()
	return s
}

func (s *Switch) snapshot() status.Switch {
	if s.ib != nil {
		return s.ibSnapshot()
	}
	if s.eth == nil {
		return status.Switch{Name: s.Spec.Name, Mode: string(topologyIB), Remote: s.Spec.IB.Remote.String(), GUID: s.Spec.IB.GUID.String()}
	}
	b := s.eth.Buffer()
	r := status.Switch{Name: s.Spec.Name, Mode: string(s.Spec.Mode), BufferBytes: s.Spec.QoS.Buffer, UsedBytes: b.Occupancy(), PeakBytes: b.Peak()}
	for j := range s.Spec.Ports {
		p := basics(s.eth.Port(j))
		c := s.eth.Counters(j)
		addSwitchPort(&p, &c)
		addPause(&p, s.eth.Pause(j))
		for prio := range 8 {
			p.QueueBytes += s.eth.QueueBytes(j, prio)
		}
		r.Ports = append(r.Ports, p)
	}
	return r
}

// basics is what every port has.
func basics(p *link.Port) status.Port {
	c := &p.Counters
	s := status.Port{
		Name: p.Name, Peer: p.PeerName(), State: "down", RateBPS: int64(p.Rate()),
		TxFrames: c.TxFrames, TxBytes: c.TxBytes, RxFrames: c.RxFrames, RxBytes: c.RxBytes,
		Paused: []int{}, Drops: map[string]uint64{},
	}
	if p.Up() {
		s.State = "up"
	}
	drop(&s, "injected_loss", c.LossDrops)
	drop(&s, "link_went_down", c.DownDrops)
	return s
}

func drop(s *status.Port, reason string, n uint64) {
	if n != 0 {
		s.Drops[reason] += n
	}
}

func addPause(s *status.Port, p *link.Pause) {
	now := p.Port().Proc().Now()
	for i := range 8 {
		s.PausesRx[i] = p.RxPriority[i]
		s.PausedSecs[i] = p.StoppedFor(i, now).Seconds()
		if p.Paused()&(1<<i) != 0 {
			s.Paused = append(s.Paused, i)
		}
	}
}

func addSwitchPort(s *status.Port, c *switching.PortCounters) {
	for r := range switching.NumDropReasons {
		drop(s, r.String(), c.Dropped(r))
	}
	for i := range 8 {
		s.PausesTx[i] = c.PauseSent[i]
		s.ECNMarks += c.ECNMarked[i]
		s.PeakBytes = max(s.PeakBytes, c.QueuePeak[i])
	}
}

func (i *Interface) snapshot() status.Interface {
	s := status.Interface{Port: basics(i.nic.Port()), MAC: i.Spec.MAC.String(), MTU: i.Spec.MTU}
	addPause(&s.Port, i.nic.Pause())
	c := i.nic.Counters()
	for r := range nic.NumDropReasons {
		drop(&s.Port, r.String(), c.TxDrops[r]+c.RxDrops[r])
	}
	s.QueueBytes, s.PeakBytes = i.nic.Queued(), c.HostPeak
	s.PausesTx = c.PauseSent
	for _, a := range i.Spec.Addrs {
		s.Addresses = append(s.Addresses, a.String())
	}
	s.KernelRoCE = kernelRoCE(&c)
	if i.hca != nil {
		s.RDMA = rdma(i.hca)
	}
	return s
}

// kernelRoCE is what the NIC did to and for the kernel's RoCE.
func kernelRoCE(c *nic.Counters) map[string]uint64 {
	var m map[string]uint64
	for _, x := range []struct {
		name string
		n    uint64
	}{{"rewritten", c.Rewritten}, {"ecn_marked", c.ECNMarked}, {"cnp_sent", c.CNPSent}, {"cnp_received", c.CNPReceived}, {"cnp_unknown_flow", c.CNPUnknownFlow}} {
		if x.n != 0 {
			if m == nil {
				m = map[string]uint64{}
			}
			m[x.name] = x.n
		}
	}
	return m
}

func rdma(d *hca.Device) *status.RDMA {
	s := &status.RDMA{Device: d.Name(), ActiveMTU: 128 << d.ActiveMTU(), QPs: d.QPs(), Counters: map[string]uint64{}}
	for i, g := range d.GIDs() {
		if g.Valid {
			s.GIDs = append(s.GIDs, status.GID{Index: i, GID: netip.AddrFrom16(g.GID).String(), Type: "RoCE v2"})
		}
	}
	c := d.Counters()
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Uint64 {
			if n := v.Field(i).Uint(); n != 0 {
				s.Counters[snake(v.Type().Field(i).Name)] = n
			}
		}
	}
	for r := range hca.NumDropReasons {
		if n := c.Dropped[r]; n != 0 {
			s.Counters["dropped_"+strings.ReplaceAll(r.String(), " ", "_")] = n
		}
	}
	return s
}

// snake turns a Go name into the form that counters have outside: TxSeqNaks
// into tx_seq_naks, CNPSent into cnp_sent.
func snake(s string) string {
	var b strings.Builder
	r := []rune(s)
	for i, c := range r {
		plural := i+1 < len(r) && r[i+1] == 's' && (i+2 == len(r) || unicode.IsUpper(r[i+2])) // MADsSent, SMPs
		if unicode.IsUpper(c) && i > 0 && (unicode.IsLower(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1]) && !plural) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// Check verifies that nothing was lost without being counted: every switch
// accounts for its frames, and of the frames that were put on wires each was
// delivered, dropped with a reason or is still in flight. The caller holds the
// engine.
func (f *Fabric) Check() []string {
	var bad []string
	for _, sw := range f.switches {
		if sw.eth == nil {
			continue
		}
		if err := sw.eth.Conservation(); err != nil {
			bad = append(bad, fmt.Sprintf("switch %s: %v", sw.Spec.Name, err))
		}
	}
	bad = append(bad, f.checkIB()...)
	for _, n := range f.nodes {
		for _, i := range n.ifs {
			if err := i.nic.Conservation(); err != nil {
				bad = append(bad, err.Error())
			}
		}
	}
	for i := range f.Spec.Links {
		l := &f.Spec.Links[i]
		for _, p := range f.local(l) {
			if s := checkWire(p); s != "" {
				bad = append(bad, s)
			}
		}
	}
	return bad
}
