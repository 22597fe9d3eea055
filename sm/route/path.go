package route

// Path calls f for every channel between switches that a packet to dlid takes
// from a switch, first to last; the subnet manager finds the least MTU and rate
// so. It tells whether the path ends at port 0 of a switch or at an end that
// has the LID. F must not be nil.
func (t *Tables) Path(s *Subnet, sw int, dlid uint16, f func(Channel)) bool {
	for range s.Switches {
		p := t.port(sw, dlid)
		if p == 0 {
			w := &s.Switches[sw]
			return owns(w.LID, w.LMC, dlid)
		}
		if p > s.Switches[sw].Ports {
			return false
		}
		l := s.Link(sw, int(p))
		if l.End >= 0 {
			e := &s.Ends[l.End]
			return owns(e.LID, e.LMC, dlid)
		}
		if l.Switch < 0 {
			return false
		}
		f(Channel{sw, p})
		sw = int(l.Switch)
	}
	return false
}

func owns(base uint16, lmc uint8, lid uint16) bool {
	return base != 0 && lid >= base && int(lid) < int(base)+1<<(lmc&7)
}
