package bus

import (
	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// noise talks in bursts without listening: what it says is garbage, and so is
// what others say meanwhile.
type noise struct {
	*sender
	f     *fault
	line  rtu.Line
	burst sim.Time // begin of the burst
	over  bool
	timer sim.Timer
}

// noiseChunk bounds what is queued of a long burst.
const noiseChunk = 10 * sim.Millisecond

func (g *Segment) startNoise(f *fault) {
	n := &noise{sender: g.newSender("noise"), f: f, burst: f.From}
	n.noise = n
	n.scribe.init(n.sender)
	n.timer.Init(g.p, n, 0, 0)
	n.timer.Reset(f.From)
	g.noises = append(g.noises, n)
}

// HandleEvent implements sim.Handler; only the engine calls it.
func (n *noise) HandleEvent(now sim.Time, _ uint32, _ uint64) {
	g, f := n.g, n.f
	g.advance(now)
	if now >= f.Until {
		n.stop(now)
		g.rearm(now)
		return
	}
	if now >= n.burst+f.Burst {
		n.burst = now
	}
	if now == n.burst {
		n.line = g.last
	}
	stop := min(n.burst+f.Burst, f.Until)
	part := min(noiseChunk, stop-now)
	var b [noiseChunkChars]byte
	k := min(max(1, int(part/n.line.CharTime())), len(b))
	n.put(now, n.line, b[:k])
	next := n.end()
	if stop-next < n.line.CharTime() && f.Burst < f.Every { // no room for another one
		// Not at regular times, or it might miss every reply.
		next = max(next, n.burst+f.Every/2+sim.Time(f.rand.Int64N(int64(f.Every))))
		n.burst = next
	}
	n.timer.Reset(next)
	g.rearm(now)
}

// noiseChunkChars is enough for noiseChunk at 115200 baud; at higher rates the
// chunks are shorter.
const noiseChunkChars = 128

// stop ends the noise with the character that is on the wire.
func (n *noise) stop(now sim.Time) {
	n.over = true
	n.timer.Stop()
	n.cut(now)
	for i, o := range n.g.noises {
		if o == n {
			n.g.noises = append(n.g.noises[:i:i], n.g.noises[i+1:]...)
			break
		}
	}
	n.g.forget()
}
