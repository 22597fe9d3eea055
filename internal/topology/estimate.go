package topology

import (
	"fmt"
	"math"
)

// What one engine thread keeps in real time, measured with stock programs on
// two shared cores: 25 Gb/s of packets of 4 KiB (40 Gb/s when messages are
// 64 KiB), and 1.5 million packets per second however small.
const (
	budgetRate    = 25_000_000_000 // bits per second
	budgetPackets = 1_500_000      // per second
)

// ibHeaders are the bytes around the payload of most InfiniBand packets: LRH 8,
// BTH 12, ICRC 4, VCRC 2 (IBTA Vol 1 §5.2).
const ibHeaders = 26

// LoadEstimate is what a fabric asks of the machine. The engine is one thread that
// copies every byte once in and once out, so what counts is the sum of what
// all hosts receive.
type LoadEstimate struct {
	PairRate  int64   // bits/s that one pair of hosts can move: the second-fastest node's link
	AllRate   int64   // bits/s if every node receives at link rate
	FrameHops float64 // frames per second times devices passed, if every node sends full frames at link rate
	Budget    int64   // bits/s that the machine keeps at the packet size of the fabric
	Scale     int     // proposed clock scale for one pair at link rate; 1: none needed
	AllScale  int     // the same for all nodes at once
}

// Load estimates what the fabric asks of the machine.
func (s *Spec) Load() LoadEstimate {
	var l LoadEstimate
	var fastest [2]int64
	packet := 4096
	hops := s.hops()
	for _, n := range s.Nodes {
		rate := int64(0)
		for _, f := range n.Interfaces {
			link := s.Links[f.Link]
			rate = max(rate, link.Rate)
			l.AllRate += link.Rate
			frame := float64(f.MTU + etherExtra + etherGap)
			l.FrameHops += float64(link.Rate) / 8 / frame * hops
			if m := RDMAMTU(f.MTU); m > 0 {
				packet = min(packet, m)
			} else {
				packet = min(packet, f.MTU)
			}
		}
		for _, p := range n.IBPorts {
			if p.Link >= 0 {
				link := s.Links[p.Link]
				rate = max(rate, link.Rate)
				l.AllRate += link.Rate
				l.FrameHops += float64(link.Rate) / 8 / float64(link.IB.MTU+ibHeaders) * hops
				packet = min(packet, link.IB.MTU)
			}
		}
		fastest[1] = max(fastest[1], min(fastest[0], rate))
		fastest[0] = max(fastest[0], rate)
	}
	l.PairRate = fastest[1]
	l.Budget = min(budgetRate, int64(budgetPackets*packet*8))
	l.Scale = scaleFor(l.PairRate, l.Budget)
	l.AllScale = scaleFor(l.AllRate, l.Budget)
	return l
}

// scaleFor is the least whole scale at which the budget covers the rate.
func scaleFor(rate, budget int64) int {
	return max(1, int(math.Ceil(float64(rate)/float64(budget))))
}

// hops is the number of devices that a frame passes on the longest of the
// shortest ways between two nodes, the receiver included: 1 with no switch, 2
// with one, more where switches are in tiers.
func (s *Spec) hops() float64 {
	const maxStarts = 64 // switches with hosts to look from: a tree of 10,000 looks the same from each
	edge := make([]bool, len(s.Switches))
	for _, l := range s.Links {
		if l.A.Node >= 0 && l.B.Switch >= 0 {
			edge[l.B.Switch] = true
		} else if l.B.Node >= 0 && l.A.Switch >= 0 {
			edge[l.A.Switch] = true
		}
	}
	most := -1
	dist := make([]int, len(s.Switches))
	starts := 0
	for i := range s.Switches {
		if !edge[i] || starts == maxStarts {
			continue
		}
		starts++
		s.distances([]int{i}, dist, false)
		for j, d := range dist {
			if edge[j] {
				most = max(most, d)
			}
		}
	}
	return float64(most + 2)
}

// String tells the load in one line.
func (l LoadEstimate) String() string {
	s := fmt.Sprintf("one pair at link rate moves %.3g Gb/s, this engine keeps about %.3g Gb/s", float64(l.PairRate)/1e9, float64(l.Budget)/1e9)
	if l.Scale > 1 {
		s += fmt.Sprintf(": NOT FAITHFUL in real time, use --scale %d", l.Scale)
	}
	return s
}
