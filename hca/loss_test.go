package hca_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"testing"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/verbs"
	"cnuas/internal/sim"
)

var update = flag.Bool("update", false, "write testdata anew")

// lossRun sends a mixture of operations both ways over a link that loses
// frames, verifies every byte, and returns what the devices counted.
func lossRun(t *testing.T, loss float64, seed uint64, mtu uint8, ops int) [2]hca.Counters {
	t.Helper()
	p := newPair(t, seed, nil, hca.Config{})
	x := p.connect(connOpt{size: 8 << 20, depth: 64, path: verbs.Path{MTU: mtu, Timeout: 8, RdAtomic: 4, PSN: [2]uint32{0xffff00, 0xfffff0}, MinRNRTimer: 1}})
	for _, q := range p.port {
		q.SetLoss(loss)
	}
	rnd := p.e.NewProc().NewRand(7)
	sizes := []int{0, 1, 64, 700, 4096, 4097, 20000, 70000}
	type want struct {
		name string
		side int
		at   int // in the buffer of side
		data []byte
	}
	// Each end uses its own quarter of a buffer as source (0), target of the
	// peer's writes (1), of its own reads (2) and of sends (3).
	const quarter = 2 << 20
	var (
		wants  []want
		adds   uint64
		posted [2]int
		used   [2][4]int
		seen   [2][2]int // completions: send, receive
		recvs  [2]int
		late   func() // posts a receive after its send
	)
	take := func(side, q, n int) int {
		at := used[side][q]
		used[side][q] += (n + 7) &^ 7
		if used[side][q] > quarter {
			t.Fatalf("the quarter %d is used up", q)
		}
		return q*quarter + at
	}
	for i := range x {
		fill(x[i].buf.B[:quarter], uint32(seed)+uint32(i))
		clear(x[i].buf.B[quarter:])
	}
	counter := take(1, 0, 8) // what atomics add to
	binary.NativeEndian.PutUint64(x[1].buf.B[counter:], 0)
	poll := func() {
		for i := range x {
			for _, c := range x[i].poll() {
				if c.Status != 0 {
					t.Fatalf("loss %g seed %d: end %d: completion %+v", loss, seed, i, c)
				}
				if c.Opcode >= ring.WCRecv {
					if c.ID != uint64(seen[i][1]) {
						t.Fatalf("end %d: receive %d completed when %d was due", i, c.ID, seen[i][1])
					}
					seen[i][1]++
				} else {
					if c.ID != uint64(seen[i][0]) {
						t.Fatalf("end %d: request %d completed when %d was due", i, c.ID, seen[i][0])
					}
					seen[i][0]++
				}
			}
		}
	}
	for n := 0; n < ops; n++ {
		side := int(rnd.Uint32() & 1)
		size := sizes[rnd.IntN(len(sizes))]
		a, b := x[side], x[1-side]
		w := ring.Send{Opcode: rnd.Uint32N(7), ID: uint64(posted[side]), Flags: ring.FlagSignaled, RKey: b.buf.MR.RKey()}
		if rnd.Uint32()&3 == 0 {
			w.Flags |= ring.FlagFence
		}
		switch w.Opcode {
		case ring.OpRDMARead:
			at, from := take(side, 2, size), rnd.IntN(quarter-size)
			if from&^7 == counter&^7 || from == 0 {
				from = 64
			}
			w.RemoteAddr, w.SGEs = b.buf.Addr+uint64(from), []ring.SGE{a.buf.SGE(at, size)}
			wants = append(wants, want{"read", side, at, append([]byte{}, b.buf.B[from:from+size]...)})
			if 1-side == 1 && from < counter+8 && from+size > counter {
				wants = wants[:len(wants)-1] // the counter changes
			}
		case ring.OpCompareSwap, ring.OpFetchAdd:
			if side == 1 {
				n--
				continue
			}
			w.Opcode, w.CompareAdd, w.RemoteAddr = ring.OpFetchAdd, uint64(n), b.buf.Addr+uint64(counter)
			at := take(side, 2, 8)
			w.SGEs = []ring.SGE{a.buf.SGE(at, 8)}
			wants = append(wants, want{"atomic", side, at, binary.NativeEndian.AppendUint64(nil, adds)})
			adds += uint64(n)
		default:
			from := rnd.IntN(quarter - size)
			w.SGEs = []ring.SGE{a.buf.SGE(from, size)}
			at := take(1-side, 1, size)
			data := append([]byte{}, a.buf.B[from:from+size]...)
			if w.Opcode == ring.OpSend || w.Opcode == ring.OpSendImm || w.Opcode == ring.OpRDMAWriteImm {
				post := func() {
					if err := b.qp.PostRecv(uint64(recvs[1-side]), b.buf.SGE(at, size)); err != nil {
						t.Fatal(err)
					}
					recvs[1-side]++
				}
				if rnd.Uint32()&7 == 0 {
					late = post // RNR
				} else {
					post()
				}
			}
			if w.Opcode <= ring.OpRDMAWriteImm {
				w.RemoteAddr = b.buf.Addr + uint64(at)
			}
			if side == 1 && from < counter+8 && from+size > counter {
				break
			}
			wants = append(wants, want{fmt.Sprint("op ", w.Opcode), 1 - side, at, data})
		}
		for a.qp.PostSend(&w) != nil {
			p.run(20 * sim.Microsecond)
			poll()
		}
		posted[side]++
		if late != nil {
			p.run(30 * sim.Microsecond)
			late()
			late = nil
		}
	}
	for i := 0; i < 20000 && (seen[0][0] < posted[0] || seen[1][0] < posted[1]); i++ {
		p.run(100 * sim.Microsecond)
		poll()
	}
	for i := range x {
		if seen[i] != [2]int{posted[i], recvs[i]} {
			c := p.dev[i].Counters()
			t.Fatalf("loss %g seed %d: end %d: completions %v of %d requests and %d receives at %v: %+v", loss, seed, i, seen[i], posted[i], recvs[i], p.e.Now(), c)
		}
	}
	for _, w := range wants {
		if !bytes.Equal(x[w.side].buf.B[w.at:w.at+len(w.data)], w.data) {
			t.Fatalf("loss %g seed %d: %s of %d bytes to end %d: data differ", loss, seed, w.name, len(w.data), w.side)
		}
	}
	if got := binary.NativeEndian.Uint64(x[1].buf.B[counter:]); got != adds {
		t.Fatalf("loss %g seed %d: atomics added up to %d, want %d", loss, seed, got, adds)
	}
	for _, q := range p.port {
		q.SetLoss(0)
	}
	p.drain()
	return [2]hca.Counters{p.dev[0].Counters(), p.dev[1].Counters()}
}

func TestLoss(t *testing.T) {
	for _, loss := range []float64{0, 0.001, 0.01, 0.05} {
		for seed := range uint64(6) {
			mtu := uint8(1 + seed%5)
			c := lossRun(t, loss, seed, mtu, 200)
			if lost := c[0].Retransmitted + c[1].Retransmitted; loss >= 0.01 && lost == 0 {
				t.Errorf("loss %g seed %d: nothing was retransmitted", loss, seed)
			}
			if loss == 0 && (c[0].TxSeqNaks+c[1].TxSeqNaks+c[0].Timeouts+c[1].Timeouts+c[0].ImpliedNaks+c[1].ImpliedNaks+c[0].Duplicates+c[1].Duplicates) != 0 {
				t.Errorf("seed %d: without loss: %+v", seed, c)
			}
		}
	}
}

// TestLossGolden: two runs of a scenario are the same, and the same as ever.
func TestLossGolden(t *testing.T) {
	table := func() []byte {
		var b bytes.Buffer
		fmt.Fprintln(&b, "loss seed | requests acks responses | resent timeouts seqnak implied rnr dup ooo")
		for _, loss := range []float64{0.001, 0.01, 0.05} {
			for seed := range uint64(2) {
				c := lossRun(t, loss, seed+100, 3, 120)
				s := func(f func(*hca.Counters) uint64) uint64 { return f(&c[0]) + f(&c[1]) }
				fmt.Fprintln(&b, loss, seed, "|",
					s(func(c *hca.Counters) uint64 { return c.TxRequests }), s(func(c *hca.Counters) uint64 { return c.TxAcks }),
					s(func(c *hca.Counters) uint64 { return c.TxResponses }), "|", s(func(c *hca.Counters) uint64 { return c.Retransmitted }),
					s(func(c *hca.Counters) uint64 { return c.Timeouts }), s(func(c *hca.Counters) uint64 { return c.TxSeqNaks }),
					s(func(c *hca.Counters) uint64 { return c.ImpliedNaks }), s(func(c *hca.Counters) uint64 { return c.RNRWaits }),
					s(func(c *hca.Counters) uint64 { return c.Duplicates }), s(func(c *hca.Counters) uint64 { return c.OutOfSequence }))
			}
		}
		return b.Bytes()
	}
	one, two := table(), table()
	if !bytes.Equal(one, two) {
		t.Fatalf("two runs differ:\n%s\n%s", one, two)
	}
	const file = "testdata/loss.txt"
	if *update {
		os.MkdirAll("testdata", 0o777)
		if err := os.WriteFile(file, one, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one, want) {
		t.Errorf("got\n%s\nwant\n%s", one, want)
	}
}

// TestNoLink: a queue pair whose port has no link gives up when its retries are
// used up, whether it had anything outstanding or not, and however it learns of
// the link; with the link back in time it goes on.
func TestNoLink(t *testing.T) {
	for _, c := range []struct {
		name   string
		down   sim.Time // before the work request is posted if 0
		up     sim.Time // 0: stays down
		status hca.Status
	}{
		{"down before", 0, 0, hca.StatusRetryExcErr},
		{"down under way", 3 * sim.Microsecond, 0, hca.StatusRetryExcErr},
		{"back in time", 0, 100 * sim.Millisecond, hca.StatusSuccess},
		{"down under way and back", 3 * sim.Microsecond, 100 * sim.Millisecond, hca.StatusSuccess},
	} {
		p := newPair(t, 1, nil, hca.Config{})
		ends := p.connect(connOpt{size: 1 << 20, depth: 32})
		a, b := ends[0], ends[1]
		start := p.e.Now()
		if c.down == 0 {
			p.port[0].SetUp(false)
		}
		w := &ring.Send{Opcode: ring.OpRDMAWrite, Flags: ring.FlagSignaled, SGEs: []ring.SGE{a.buf.SGE(0, 1<<20)},
			RemoteAddr: b.buf.Addr, RKey: b.buf.MR.RKey()}
		if err := a.qp.PostSend(w); err != nil {
			t.Fatal(err)
		}
		if c.down != 0 {
			p.e.RunUntil(start + c.down)
			p.port[0].SetUp(false)
		}
		if c.up != 0 {
			p.e.RunUntil(start + c.up)
			p.port[0].SetUp(true)
		}
		p.e.RunUntil(start + 10*sim.Second)
		var wc [4]ring.CQE
		if n := a.cq.Poll(wc[:]); n != 1 || hca.Status(wc[0].Status) != c.status {
			t.Errorf("%s: %d completions, status %d, want %d", c.name, n, wc[0].Status, c.status)
		}
		if n := p.pool.Live(); n != 0 {
			t.Errorf("%s: %d frames alive", c.name, n)
		}
	}
}
