package fabric

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/verbs"
	"cnuas/internal/sim"
	"cnuas/internal/topology"
	"cnuas/internal/wire"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a table with the file of that name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs from the golden table (go test -update rewrites it)\ngot:\n%s\nwant:\n%s", name, got, want)
	}
}

// flow is a sender that writes messages into a buffer of its own at a receiver.
type flow struct {
	from, to *verbs.Program
	src, dst *verbs.Buffer
	cq       *verbs.CQ
	qp       *verbs.QP
	n, size  int

	done   int
	status ring.CQE // last
	first  sim.Time
	end    sim.Time
}

// world is a fabric in virtual time with its flows.
type world struct {
	t     *testing.T
	f     *Fabric
	flows []*flow
}

func build(t *testing.T, toml string) *world {
	t.Helper()
	s, problems := topology.Parse("test.toml", []byte(toml))
	if s == nil {
		t.Fatal(problems)
	}
	f, err := Build(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, f: f}
	w.announce()
	return w
}

// announce lets every host send a gratuitous ARP, as kernels do before their
// HCAs talk: switches learn where everybody is instead of flooding.
func (w *world) announce() {
	for _, n := range w.f.nodes {
		for _, i := range n.ifs {
			ip := i.Spec.Addrs[0].Addr().As4()
			m := wire.ARPFields{Op: 1, SenderMAC: i.Spec.MAC, SenderIP: ip, TargetIP: ip}
			fr := w.f.Pool.Get()
			b := fr.Buf(wire.EthernetLen + wire.ARPLen)
			copy(b, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
			copy(b[6:], i.Spec.MAC[:])
			b[12], b[13] = wire.EtherTypeARP>>8, wire.EtherTypeARP&0xff
			m.Encode(wire.ARP(b[wire.EthernetLen:]))
			fr.WireLen()
			fr.Meta.Host = true
			i.nic.FromHost(fr)
		}
	}
	w.f.Engine.RunUntil(100 * sim.Microsecond)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// add connects two nodes and posts n writes of size bytes, all at once.
func (w *world) add(from, to string, n, size int) *flow {
	w.t.Helper()
	a, b := w.f.Node(from).ifs[0], w.f.Node(to).ifs[0]
	fl := &flow{n: n, size: size}
	fl.from, fl.to = must(verbs.Open(a.hca, n*size+1<<16)), must(verbs.Open(b.hca, n*size+1<<16))
	all := hca.AccessLocalWrite | hca.AccessRemoteWrite | hca.AccessRemoteRead
	fl.src, fl.dst = must(fl.from.Buffer(n*size, all)), must(fl.to.Buffer(n*size, all))
	rng := rand.New(rand.NewPCG(uint64(len(w.flows)), 1))
	for i := range fl.src.B {
		fl.src.B[i] = byte(rng.Uint32())
	}
	fl.cq = must(fl.from.NewCQ(2*n, func() { fl.poll(w.f.Engine.Now()) }))
	rcq := must(fl.to.NewCQ(16, nil))
	c := hca.QPCap{MaxSendWR: uint32(n + 1), MaxRecvWR: 16, MaxSendSGE: 1, MaxRecvSGE: 1}
	fl.qp = must(fl.from.NewQP(fl.cq, fl.cq, c, true))
	peer := must(fl.to.NewQP(rcq, rcq, c, true))
	there, ok := w.f.NextHop(a, b)
	back, ok2 := w.f.NextHop(b, a)
	if !ok || !ok2 {
		w.t.Fatalf("no way between %s and %s", from, to)
	}
	if err := verbs.Connect(fl.qp, peer, verbs.Path{MAC: [2][6]byte{back, there}}); err != nil {
		w.t.Fatal(err)
	}
	fl.cq.Arm(false)
	for i := range n {
		err := fl.qp.Post(&ring.Send{ID: uint64(i), Opcode: ring.OpRDMAWrite, Flags: ring.FlagSignaled,
			SGEs: []ring.SGE{fl.src.SGE(i*size, size)}, RemoteAddr: fl.dst.Addr + uint64(i*size), RKey: fl.dst.MR.RKey()})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	w.flows = append(w.flows, fl)
	return fl
}

func (fl *flow) poll(now sim.Time) {
	var wc [64]ring.CQE
	for {
		n := fl.cq.Poll(wc[:])
		if n == 0 {
			break
		}
		fl.done += n
		fl.status = wc[n-1]
		fl.end = now
	}
	fl.cq.Arm(false)
}

// run rings all doorbells and lets the fabric run until nothing happens.
func (w *world) run(limit sim.Time) {
	for _, fl := range w.flows {
		fl.first = w.f.Engine.Now()
		fl.qp.Doorbell()
	}
	for {
		next, ok := w.f.Engine.Next()
		if !ok || next > limit {
			break
		}
		if w.finished() {
			// The rest is acknowledgements, pauses and timers that find
			// nothing to do.
			w.f.Engine.RunUntil(w.f.Engine.Now() + 10*sim.Millisecond)
			break
		}
		w.f.Engine.RunSome(limit, 10000)
	}
	if bad := w.f.Check(); len(bad) > 0 {
		w.t.Errorf("conservation: %s", strings.Join(bad, "; "))
	}
	for _, fl := range w.flows {
		if fl.done == fl.n && fl.status.Status == 0 && !bytes.Equal(fl.src.B, fl.dst.B) {
			w.t.Error("the receiver's memory differs from the sender's")
		}
	}
	if n := w.f.Pool.Live(); n != 0 {
		w.t.Errorf("%d frames are still alive", n)
	}
}

func (w *world) finished() bool {
	for _, fl := range w.flows {
		if fl.done < fl.n {
			return false
		}
	}
	return true
}

// table is what a golden file holds: what every flow got, and every counter of
// the fabric that is not zero.
func (w *world) table() string {
	var b strings.Builder
	for i, fl := range w.flows {
		gb := float64(fl.n*fl.size) * 8 / (fl.end - fl.first).Seconds() / 1e9
		fmt.Fprintf(&b, "flow %d: %d of %d messages, status %d, at %d ps, %.4f Gb/s\n", i, fl.done, fl.n, fl.status.Status, fl.end, gb)
	}
	s := w.f.Snapshot()
	for _, n := range s.Nodes {
		for _, x := range n.Interfaces {
			fmt.Fprintf(&b, "%s: tx %d/%d rx %d/%d pauses_rx %v paused %.9f\n", x.Name, x.TxFrames, x.TxBytes, x.RxFrames, x.RxBytes, x.PausesRx, x.PausedSecs)
			if x.RDMA != nil {
				fmt.Fprintf(&b, "%s:%s: %v\n", n.Name, x.RDMA.Device, x.RDMA.Counters)
			}
		}
	}
	for _, sw := range s.Switches {
		fmt.Fprintf(&b, "%s: buffer peak %d used %d\n", sw.Name, sw.PeakBytes, sw.UsedBytes)
		for _, p := range sw.Ports {
			fmt.Fprintf(&b, "%s: tx %d/%d rx %d/%d pauses_tx %v ecn %d peak %d drops %v\n", p.Name, p.TxFrames, p.TxBytes, p.RxFrames, p.RxBytes, p.PausesTx, p.ECNMarks, p.PeakBytes, p.Drops)
		}
	}
	fmt.Fprintf(&b, "events %d, now %d ps\n", s.Engine.Events, w.f.Engine.Now())
	return b.String()
}
