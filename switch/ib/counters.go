package ib

import "fmt"

// DropReason says why the switch dropped a packet. Ports have more detail in
// their counters.
type DropReason uint8

// The reasons. Names in String are stable: counters and captures show them.
const (
	DropNoDestination DropReason = iota // no entry for the LID
	DropLooping                         // would leave by the port by which it came
	DropVLMapping                       // SL2VL says so
	DropRefused                         // by the output port: not active, too long, wrong P_Key
	DropVL15Full                        // more SMPs wait for an output than it holds
	DropLinkDown                        // waited for a port whose link went down
	DropNotForUs                        // to the switch's own port, but not for its agents
	NumDropReasons
)

var dropNames = [NumDropReasons]string{
	"no_destination", "looping", "vl_mapping", "refused", "vl15_full", "link_down", "not_for_us",
}

// String returns the reason as counters show it.
func (r DropReason) String() string {
	if r < NumDropReasons {
		return dropNames[r]
	}
	return fmt.Sprintf("drop_%d", uint8(r))
}

// Totals are counters of the whole switch, in packets.
type Totals struct {
	In        uint64 // came by a port, VL15 as well
	Out       uint64 // left, or were too old when they could have
	ToAgent   uint64 // ended here
	FromAgent uint64 // began here: answers, and directed-route SMPs that go on
	Copies    uint64 // that multicast added
	Queued    uint64 // wait now
	Marked    uint64 // FECN was set here
	Drops     [NumDropReasons]uint64
}

// Dropped is the sum of all drops.
func (t Totals) Dropped() (n uint64) {
	for _, d := range t.Drops {
		n += d
	}
	return n
}

// Totals returns a copy of the counters.
func (s *Switch) Totals() Totals { return s.count }

// QueueBytes is what waits to leave by a port on a lane, in bytes.
func (s *Switch) QueueBytes(port int, vl uint8) int64 { return s.out[port].lane[vl].bytes }

// Conservation checks that no packet was lost or made: in + from the agents +
// copies = out + to the agents + dropped + queued; and that the buffers hold
// what is queued. The error says what does not add up.
func (s *Switch) Conservation() error {
	t := s.count
	in, out := t.In+t.FromAgent+t.Copies, t.Out+t.ToAgent+t.Dropped()+t.Queued
	if in != out {
		return fmt.Errorf("switch %s: %d packets came in, %d are accounted for: %+v", s.cfg.Name, in, out, t)
	}
	held := 0
	for _, p := range s.ports[1:] {
		for vl := range uint8(15) {
			h, _ := p.Held(vl)
			held += h
		}
	}
	if t.Queued == 0 && held != 0 {
		return fmt.Errorf("switch %s: nothing is queued and %d blocks of buffer are held", s.cfg.Name, held)
	}
	return nil
}
