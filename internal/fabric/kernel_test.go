package fabric

import (
	"testing"

	"cnuas/hca"
	"cnuas/internal/frame"
	"cnuas/internal/nic"
	"cnuas/internal/sim"
	"cnuas/internal/topology"
	"cnuas/internal/wire"
)

// kernel stands in for a kernel with rdma_rxe behind a NIC: it speaks RoCEv2 in
// whole frames, sends TOS 0, and knows neither CE marks nor CNPs.
type kernel struct {
	f    *Fabric
	nic  *nic.NIC
	hca  *hca.Device
	cnps int // that reached it
}

// kernels gives every rxe node of the world such a kernel.
func (w *world) kernels() {
	for _, n := range w.f.nodes {
		if n.Spec.Stack != topology.StackRXE {
			continue
		}
		for _, i := range n.ifs {
			k := &kernel{f: w.f, nic: i.nic}
			k.hca = hca.New(w.f.Engine, w.f.Pool, nil, hca.Config{Name: "rxe_k", MAC: i.Spec.MAC, MTU: i.Spec.MTU, KeySeed: [32]byte{1, i.Spec.MAC[4]}})
			for g, gid := range GIDs(i.Spec) {
				k.hca.SetGID(g, hca.GIDEntry{GID: gid, Valid: true})
			}
			k.hca.SetKick(k.send)
			i.nic.SetHost(k)
			i.hca = k.hca
		}
	}
}

// whole makes one piece of a frame, as a TAP does, with the given TOS.
func (k *kernel) whole(f *frame.Frame, tos uint8) *frame.Frame {
	b := f.AppendTo(nil)
	k.f.Pool.Put(f)
	g := k.f.Pool.Get()
	copy(g.Buf(len(b)), b)
	g.WireLen()
	g.Parse()
	if ip := g.Data[g.Meta.Layers.L3:]; g.Meta.Layers.EtherType == wire.EtherTypeIPv4 {
		wire.IPv4(ip).UpdateTOS(tos)
	} else {
		wire.IPv6(ip).SetTrafficClass(tos)
	}
	g.Meta.Parsed = false
	return g
}

func (k *kernel) send() {
	for {
		any := false
		for p := range 8 {
			if k.hca.Ready()&(1<<p) == 0 {
				continue
			}
			if f := k.hca.Next(p); f != nil {
				any = true
				k.nic.FromHost(k.whole(f, 0))
			}
		}
		if !any {
			return
		}
	}
}

func (k *kernel) Deliver(f *frame.Frame) {
	f.Parse()
	if !f.Meta.Layers.RoCE {
		k.f.Pool.Put(f)
		return
	}
	if wire.BTH(f.Data[f.Meta.Layers.L4+wire.UDPLen:]).Opcode() == wire.CNP {
		k.cnps++
	}
	k.hca.Receive(k.whole(f, 0))
}
func (k *kernel) Resume()          {}
func (k *kernel) LinkChanged(bool) {}

func mixed(stacks ...string) string {
	s := "name = \"t\"\nseed = 7\n[qos]\n[qos.ecn]\npriorities = [3]\nkmin = \"30KB\"\nkmax = \"120KB\"\npmax = 0.2\n[[switch]]\nname = \"s1\"\n"
	for i, k := range stacks {
		n := string(rune('1' + i))
		s += "[[node]]\nname = \"h" + n + "\"\nstack = \"" + k + "\"\n[[link]]\na = \"h" + n + ":eth0\"\nb = \"s1:" + n + "\"\nrate = \"10Gbps\"\n"
	}
	return s
}

// Two HCAs write to a kernel through a switch that marks: the NIC of the kernel
// node tells them, and every packet of the kernel is in the lossless priority
// with its ICRC right.
func TestKernelNotifies(t *testing.T) {
	w, table := twice(t, func() *world {
		w := build(t, mixed("rxe", "soft", "soft"))
		w.kernels()
		w.add("h2", "h1", 64, 65536)
		w.add("h3", "h1", 64, 65536)
		w.run(20 * sim.Second)
		return w
	})
	golden(t, "kernel-notifies", table)
	c := w.f.Node("h1").ifs[0].nic.Counters()
	got := uint64(0)
	for i, h := range []string{"h2", "h3"} {
		d := w.f.Node(h).ifs[0].hca.Counters()
		if d.CNPReceived == 0 || d.Dropped != [hca.NumDropReasons]uint64{} {
			t.Errorf("%s: %+v", h, d)
		}
		got += d.CNPReceived
		if fl := w.flows[i]; fl.done != fl.n || fl.status.Status != 0 {
			t.Errorf("flow %d: %d of %d", i, fl.done, fl.n)
		}
	}
	if c.CNPSent != got || c.ECNMarked == 0 || c.CNPUnknownFlow > c.ECNMarked/10 {
		t.Errorf("%d CNPs arrived; %+v", got, c)
	}
	if k := w.f.Node("h1").ifs[0].hca.Counters(); k.Dropped != [hca.NumDropReasons]uint64{} || k.ECNMarked != 0 {
		t.Errorf("the kernel dropped: %+v", k)
	}
	if c.Rewritten != c.TxHost[3].Frames || c.TxHost[6].Frames != c.CNPSent {
		t.Errorf("%d rewritten, sent %v", c.Rewritten, c.TxHost)
	}
	s := w.f.Snapshot().Nodes[0].Interfaces[0].KernelRoCE
	if s["cnp_sent"] != got || s["rewritten"] != c.Rewritten || s["ecn_marked"] != c.ECNMarked {
		t.Errorf("status %v", s)
	}
}

// Kernels as senders: their packets are ECN-capable and marked, and the CNPs of
// the HCA end in their NICs.
func TestKernelIsNotified(t *testing.T) {
	w, table := twice(t, func() *world {
		w := build(t, mixed("soft", "rxe", "rxe"))
		w.kernels()
		w.add("h2", "h1", 64, 65536)
		w.add("h3", "h1", 64, 65536)
		w.run(20 * sim.Second)
		return w
	})
	golden(t, "kernel-is-notified", table)
	sent := w.f.Node("h1").ifs[0].hca.Counters().CNPSent
	got := uint64(0)
	for _, h := range []string{"h2", "h3"} {
		i := w.f.Node(h).ifs[0]
		c := i.nic.Counters()
		got += c.CNPReceived
		if d := i.hca.Counters(); d.CNPReceived != 0 || d.Dropped != [hca.NumDropReasons]uint64{} || c.Rewritten == 0 {
			t.Errorf("%s: %+v, %+v", h, d, c)
		}
	}
	if sent == 0 || got != sent {
		t.Errorf("%d CNPs sent, %d received", sent, got)
	}
	for i, fl := range w.flows {
		if fl.done != fl.n || fl.status.Status != 0 {
			t.Errorf("flow %d: %d of %d", i, fl.done, fl.n)
		}
	}
	if d, _, marks := total(w); d != 0 || marks == 0 {
		t.Errorf("%d drops, %d marks", d, marks)
	}
}
