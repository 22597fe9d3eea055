package daemon

import (
	"cnuas/internal/fabric"
	"cnuas/internal/frame"
	"cnuas/internal/host"
	"cnuas/internal/nic"
	"cnuas/internal/realtime"
	"cnuas/internal/wire"
)

// batchFrames bounds what is read from one TAP in a turn, so that a node that
// floods does not delay the others.
const batchFrames = 64

// readAhead is how many bytes of the kernel's frames the NIC holds before more
// are read from the TAP, unless a pause is what holds them: they are then read
// on, up to the NIC's buffer, so that other priorities can pass. Frames that
// wait in the TAP's ring cost nothing; thousands of them in the NIC no longer
// fit into the caches.
const readAhead = 256 << 10

// kernel joins a node's kernel, behind its TAP, to the node's NIC. It is the
// NIC's Host and the loop's Poller; the engine's thread calls it.
type kernel struct {
	tap  *host.TAP
	nic  *nic.NIC
	pool *frame.Pool
	loop *realtime.Loop
	cur  *frame.Frame
	tmp  []byte // where a frame in pieces is put together

	unwritten uint64 // frames that the kernel did not take
	ring
}

func newKernel(t *host.TAP, i *fabric.Interface, f *fabric.Fabric, l *realtime.Loop) *kernel {
	k := &kernel{tap: t, nic: i.NIC(), pool: f.Pool, loop: l, tmp: make([]byte, 0, t.MTU()+64), ring: ring{dev: t}}
	k.nic.SetHost(k)
	return k
}

// discard throws away what the kernel sent before the fabric ran: the link was
// not up yet. It is noise of interfaces that come up, which a switch floods.
func (k *kernel) discard() {
	b := make([]byte, k.tap.MTU()+64)
	for {
		if n, err := k.tap.Read(b); n == 0 || err != nil {
			return
		}
	}
}

// Readable implements realtime.Poller.
func (k *kernel) Readable() {
	if k.nic.Queued() > readAhead && k.nic.Pause().Paused() == 0 {
		return
	}
	if _, err := k.tap.ReadBatch(k, batchFrames); err != nil {
		// The interface is gone: somebody deleted it. The loop would be told
		// again and again.
		k.loop.RemoveFD(k.tap.FD())
	}
}

// Buffer implements host.Sink.
func (k *kernel) Buffer(n int) []byte {
	k.cur = k.pool.Get()
	return k.cur.Buf(n)
}

// Frame implements host.Sink.
func (k *kernel) Frame(n int) bool {
	f := k.cur
	k.cur = nil
	f.Data = f.Data[:n]
	f.WireLen()
	f.Meta.Host = true
	k.nic.FromHost(f)
	if !k.nic.Accepts() {
		// Back-pressure: what the kernel sends from now on waits in the TAP's
		// ring, which is long; nothing is dropped.
		k.loop.EnableFD(k.tap.FD(), false)
		return false
	}
	return true
}

// Unused implements host.Sink.
func (k *kernel) Unused() {
	k.pool.Put(k.cur)
	k.cur = nil
}

// Deliver implements nic.Host.
func (k *kernel) Deliver(f *frame.Frame) {
	if !k.write(f) {
		k.unwritten++
	}
	k.pool.Put(f)
}

// write gives the kernel a frame, which the caller keeps.
func (k *kernel) write(f *frame.Frame) bool {
	b := f.Data
	if len(f.Pay) > 0 || f.Meta.ICRCDeferred {
		k.tmp = f.AppendTo(k.tmp[:0])
		b = k.tmp
	}
	return k.tap.Write(b)
}

// Resume implements nic.Host.
func (k *kernel) Resume() { k.loop.EnableFD(k.tap.FD(), true) }

// LinkChanged implements nic.Host: the kernel sees the carrier.
func (k *kernel) LinkChanged(up bool) { k.carrier(up) }

// toHCA tells whether a received frame will be taken by the node's HCA, so
// that the kernel would not see it.
func toHCA(f *frame.Frame, mac [6]byte) bool {
	return f.Parse() && f.Meta.Layers.RoCE && len(f.Data) >= wire.EthernetLen && ([6]byte(f.Data[:6]) == mac || f.Data[0]&1 != 0)
}
