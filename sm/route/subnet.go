package route

// None stands for no switch or no end.
const None = -1

// Subnet is what the engines route: switches, ends, and the links between them
// that are up. Make it with AddSwitch, AddEnd and the Join functions; an engine
// does not change it.
type Subnet struct {
	Switches []Switch
	Ends     []End
	Links    []Link // of all switches: Links[Switch.First+port], port 0 unused
}

// Switch is a switch and its management port 0.
type Switch struct {
	GUID  uint64 // NodeGUID, the order of ties
	LID   uint16 // of port 0; 0: none yet, it is no destination
	LMC   uint8  // 0-7; not 0 only for an enhanced port 0
	Ports uint8  // external ports, numbered from 1; at most 254
	First int32  // index of port 0 in Subnet.Links
}

// End is a port of a channel adapter or router: a source and destination of
// paths that forwards nothing.
type End struct {
	GUID   uint64 // PortGUID, the order of ties
	LID    uint16 // base LID; 0: none yet
	LMC    uint8  // 0-7: it has the LIDs LID to LID+2^LMC-1
	Port   uint8  // port of the switch
	Switch int32  // index into Subnet.Switches; None: not at a switch
}

// Link is what a switch port is joined to.
type Link struct {
	Switch int32  // index of the switch at the other side, or None
	End    int32  // index of the end at the other side, or None
	Port   uint8  // port number of the switch at the other side
	Rate   uint32 // Mb/s, see LinkRate; only the ratios of rates matter
}

// Up tells whether anything is at the other side.
func (l *Link) Up() bool { return l.Switch >= 0 || l.End >= 0 }

// AddSwitch adds a switch without links and returns its index. Ports is the
// number of external ports, at most 254.
func (s *Subnet) AddSwitch(guid uint64, lid uint16, lmc uint8, ports int) int {
	s.Switches = append(s.Switches, Switch{GUID: guid, LID: lid, LMC: lmc, Ports: uint8(min(ports, 254)), First: int32(len(s.Links))})
	for range min(ports, 254) + 1 {
		s.Links = append(s.Links, Link{Switch: None, End: None})
	}
	return len(s.Switches) - 1
}

// AddEnd adds an end that is joined to nothing and returns its index.
func (s *Subnet) AddEnd(guid uint64, lid uint16, lmc uint8) int {
	s.Ends = append(s.Ends, End{GUID: guid, LID: lid, LMC: lmc, Switch: None})
	return len(s.Ends) - 1
}

// Link is the link at a port of a switch. The port must exist.
func (s *Subnet) Link(sw, port int) *Link { return &s.Links[int(s.Switches[sw].First)+port] }

// JoinSwitches puts a link between two switch ports. Rate is in Mb/s. A port
// that does not exist or is taken makes it return false and change nothing.
func (s *Subnet) JoinSwitches(a, aPort, b, bPort int, rate uint32) bool {
	if !s.free(a, aPort) || !s.free(b, bPort) || a == b && aPort == bPort {
		return false
	}
	*s.Link(a, aPort) = Link{Switch: int32(b), End: None, Port: uint8(bPort), Rate: rate}
	*s.Link(b, bPort) = Link{Switch: int32(a), End: None, Port: uint8(aPort), Rate: rate}
	return true
}

// JoinEnd puts a link between a switch port and an end, as JoinSwitches does.
func (s *Subnet) JoinEnd(end, sw, port int, rate uint32) bool {
	if end < 0 || end >= len(s.Ends) || s.Ends[end].Switch >= 0 || !s.free(sw, port) {
		return false
	}
	s.Ends[end].Switch, s.Ends[end].Port = int32(sw), uint8(port)
	*s.Link(sw, port) = Link{Switch: None, End: int32(end), Rate: rate}
	return true
}

func (s *Subnet) free(sw, port int) bool {
	return sw >= 0 && sw < len(s.Switches) && port >= 1 && port <= int(s.Switches[sw].Ports) && !s.Link(sw, port).Up()
}

// Cut takes away the link at a port of a switch, if one is there.
func (s *Subnet) Cut(sw, port int) {
	l := s.Link(sw, port)
	switch {
	case l.Switch >= 0:
		*s.Link(int(l.Switch), int(l.Port)) = Link{Switch: None, End: None}
	case l.End >= 0:
		s.Ends[l.End].Switch, s.Ends[l.End].Port = None, 0
	}
	*l = Link{Switch: None, End: None}
}

// CutSwitch takes away all links of a switch and its LID: it is as gone. The
// indexes of the others stay.
func (s *Subnet) CutSwitch(sw int) {
	for p := 1; p <= int(s.Switches[sw].Ports); p++ {
		s.Cut(sw, p)
	}
	s.Switches[sw].LID, s.Switches[sw].LMC = 0, 0
}

// Clone copies a subnet, so that one can be changed without the other.
func (s *Subnet) Clone() *Subnet {
	return &Subnet{
		Switches: append([]Switch(nil), s.Switches...),
		Ends:     append([]End(nil), s.Ends...),
		Links:    append([]Link(nil), s.Links...),
	}
}
