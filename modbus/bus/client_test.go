package bus

import (
	"bytes"
	"testing"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// client is what a library does: it sends, reads as many bytes as the reply
// should have, or until its timeout, and counts what was no good reply. It
// forgets what came before it sends the next request.
type client struct {
	p     *sim.Proc
	m     *Master
	want  []byte // the reply
	got   []byte
	bad   bool // a character had an error
	sent  int
	good  int
	wrong int // replies that were not it
	none  int // timeouts
	left  int
	over  bool // the request in hand is done
}

const (
	opNext = iota
	opTimeout
)

func (c *client) ReceiveChars(now sim.Time, l []rtu.Char) {
	if c.over {
		return
	}
	for _, x := range l {
		if len(c.got) == len(c.want) {
			break // it reads no more than that
		}
		c.got = append(c.got, x.Byte)
		c.bad = c.bad || x.Err != 0
	}
	if len(c.got) < len(c.want) {
		return
	}
	if !c.bad && bytes.Equal(c.got, c.want) {
		c.good++
	} else {
		c.wrong++
	}
	c.over = true
}

func (c *client) HandleEvent(now sim.Time, op uint32, _ uint64) {
	if op == opTimeout {
		if !c.over {
			c.over = true
			c.none++
		}
		c.p.At(now+20*ms, c, opNext, 0)
		return
	}
	if c.left == 0 {
		return
	}
	c.left--
	c.sent++
	c.got, c.bad, c.over = c.got[:0], false, false
	c.m.Purge()
	c.m.Send(at19200, read(5, 1, 10))
	c.p.At(now+80*ms, c, opTimeout, 0)
}

// What a client counts as errors is what the segment counts for its master.
func TestClientsErrorsAreOurs(t *testing.T) {
	for _, f := range []Fault{
		{},
		{Kind: BitErrors, Prob: 0.0005},
		{Kind: BitErrors, Prob: 0.003},
		{Kind: BitErrors, Prob: 0.002, Station: "m"},
		{Kind: BitErrors, Prob: 0.002, Station: "s5"},
		{Kind: Drop, Prob: 0.01},
		{Kind: WrongCRC, Prob: 0.3},
		{Kind: Silent, Prob: 0.3},
		{Kind: Late, Delay: 40 * ms, Prob: 0.5}, // within the timeout
		{Kind: Noise},
		{Kind: Noise, Burst: 5 * ms, Every: 200 * ms},
		{Kind: Noise, Burst: 200 * sim.Microsecond, Every: 30 * ms},
	} {
		x := newScene(Config{}, MasterConfig{})
		c := &client{p: x.e.NewProc(), left: 1000}
		x.m.r, c.m = c, x.m
		w := rtu.NewSlave(5, newRegs(), rtu.Options{})
		c.want = w.Serve(0, read(5, 1, 10), nil)
		if f.Kind != 0 {
			x.inject(t, f)
		}
		c.p.At(0, c, opNext, 0)
		x.at(200 * sim.Second)
		n := x.g.Counters()
		m := n.Masters[0]
		if c.sent != 1000 || c.good+c.wrong+c.none != 1000 {
			t.Fatalf("%v: the client is wrong: %+v", f.Kind, c)
		}
		if f.Kind != 0 && f.Kind != Late && (c.good == 0 || c.wrong+c.none == 0) {
			t.Errorf("%+v: %d good, %d wrong, %d without a reply: the fault shows nothing", f, c.good, c.wrong, c.none)
		}
		ours := m.BadRequests + m.Unanswered + m.BadReplies
		if ours != uint64(c.wrong+c.none) || m.Replies != uint64(c.good) || m.Requests+m.BadRequests != 1000 {
			t.Errorf("%+v: the client has %d good, %d wrong and %d without a reply; we have %d good, %d bad requests, %d unanswered, %d bad replies",
				f, c.good, c.wrong, c.none, m.Replies, m.BadRequests, m.Unanswered, m.BadReplies)
		}
	}
}
