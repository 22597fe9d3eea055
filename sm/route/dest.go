package route

import (
	"cmp"
	"fmt"
	"slices"
)

// maxLID is the highest unicast LID (IBTA Vol 1 §4.1.1).
const maxLID = 0xbfff

// dest is a destination: the LIDs of an end, or of a switch's port 0.
type dest struct {
	lid  uint16
	n    uint16 // LIDs
	sw   int32  // the switch that it is at
	port uint8  // of that switch; 0: the switch itself
}

func (d *dest) end() bool { return d.port != 0 }

// destinations lists what has a LID and a switch, in the order in which routes
// are given out. That is opensm's: ends first, those of the switches with most
// of them before others, by port within a switch; then the switches. Ties are
// broken by GUID. It also returns the highest LID.
func destinations(s *Subnet) (l []dest, top uint16, err error) {
	count := make([]int, len(s.Switches))
	for i := range s.Ends {
		if e := &s.Ends[i]; e.Switch >= 0 && e.LID != 0 {
			count[e.Switch]++
			l = append(l, dest{e.LID, 1 << (e.LMC & 7), e.Switch, e.Port})
		}
	}
	bySwitch := func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.Switches[a].GUID, s.Switches[b].GUID), cmp.Compare(a, b))
	}
	slices.SortFunc(l, func(a, b dest) int {
		return cmp.Or(cmp.Compare(count[b.sw], count[a.sw]), bySwitch(a.sw, b.sw), cmp.Compare(a.port, b.port))
	})
	ends := len(l)
	for i := range s.Switches {
		if w := &s.Switches[i]; w.LID != 0 {
			l = append(l, dest{w.LID, 1 << (w.LMC & 7), int32(i), 0})
		}
	}
	slices.SortFunc(l[ends:], func(a, b dest) int { return bySwitch(a.sw, b.sw) })
	for i := range l {
		top = max(top, l[i].lid+l[i].n-1)
	}
	return l, top, checkLIDs(l)
}

func checkLIDs(l []dest) error {
	var taken [maxLID + 1]bool
	for _, d := range l {
		if last := int(d.lid) + int(d.n) - 1; last > maxLID || d.lid%d.n != 0 {
			return fmt.Errorf("%w: 0x%x to 0x%x is not a range of %d LIDs", ErrLIDs, d.lid, last, d.n)
		}
		for i := range d.n {
			if taken[d.lid+i] {
				return fmt.Errorf("%w: 0x%x is given twice", ErrLIDs, d.lid+i)
			}
			taken[d.lid+i] = true
		}
	}
	return nil
}
