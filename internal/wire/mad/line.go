package mad

import (
	"fmt"
	"strings"
)

// Line describes a MAD in one line, without a newline: class, method,
// attribute, modifier, status, directed route, and the attribute where the MAD
// carries one.
func Line(p Packet) string {
	if !p.Valid() {
		return fmt.Sprintf("MAD of %d bytes", len(p))
	}
	var s strings.Builder
	c := p.Class()
	fmt.Fprintf(&s, "%v%v(%s)", c, p.Method(), AttrName(c, p.Attr()))
	if m := p.Modifier(); m != 0 {
		fmt.Fprintf(&s, " mod %#x", m)
	}
	fmt.Fprintf(&s, " tid %#x", p.TID())
	if st := p.Status(); st != 0 {
		fmt.Fprintf(&s, " status %v", st)
	}
	if c == ClassSubnDirected {
		lineDirected(&s, SMP(p))
	}
	if c.Subn() {
		if k := SMP(p).MKey(); k != 0 {
			fmt.Fprintf(&s, " mkey %#x", k)
		}
	}
	if c.HasRMPP() {
		lineRMPP(&s, RMPP(p))
	}
	if c == ClassSubnAdm {
		a := SA(p)
		if m := a.ComponentMask(); m != 0 {
			fmt.Fprintf(&s, " mask %#x", m)
		}
		if n := a.AttributeOffset(); n != 0 {
			fmt.Fprintf(&s, " offset %d", n)
		}
	}
	if c.HasOUI() {
		fmt.Fprintf(&s, " oui %06x", Vendor(p).OUI())
	}
	if t := attrText(p); t != "" {
		s.WriteString(": " + t)
	}
	return s.String()
}

func lineDirected(s *strings.Builder, p SMP) {
	dir := ""
	if p.Returning() {
		dir = " back"
	}
	fmt.Fprintf(s, "%s hop %d/%d path 0", dir, p.HopPointer(), p.HopCount())
	for _, x := range p.Path() {
		fmt.Fprintf(s, ",%d", x)
	}
	if l := p.DrSLID(); l != 0xffff {
		fmt.Fprintf(s, " drslid %d", l)
	}
	if l := p.DrDLID(); l != 0xffff {
		fmt.Fprintf(s, " drdlid %d", l)
	}
}

func lineRMPP(s *strings.Builder, r RMPP) {
	if !r.Active() {
		return
	}
	f := r.Fields()
	fmt.Fprintf(s, " rmpp %v seg %d", f.Type, f.Data1)
	for _, x := range []struct {
		f RMPPFlags
		n string
	}{{RMPPFirst, "first"}, {RMPPLast, "last"}} {
		if f.Flags&x.f != 0 {
			s.WriteString(" " + x.n)
		}
	}
	switch f.Type {
	case RMPPData:
		fmt.Fprintf(s, " len %d", f.Data2)
	case RMPPAck:
		fmt.Fprintf(s, " window %d", f.Data2)
	default:
		fmt.Fprintf(s, " status %d", f.Status)
	}
}

// attrText describes the attribute of p, unless it only asks for it.
func attrText(p Packet) string {
	if p.Method() == MethodGet && p.Class() != ClassSubnAdm && p.Class() != ClassPerf {
		return ""
	}
	a := New(p.Class(), p.Attr())
	if r := RMPP(p); a == nil || p.Class().HasRMPP() && r.Active() && (r.Type() != RMPPData || r.Segment() > 1) {
		return ""
	}
	if !Decode(a, p.Data()) {
		return ""
	}
	return Summary(a)
}

// Summary says of an attribute what matters most: of the ones with many fields
// less than Text.
func Summary(a Attribute) string {
	switch a := a.(type) {
	case *NodeInfo:
		return fmt.Sprintf("%v %d ports node %v port %v by port %d", a.NodeType, a.NumPorts, a.NodeGUID, a.PortGUID, a.LocalPortNum)
	case *NodeDescription:
		return fmt.Sprintf("%q", a.String())
	case *SwitchInfo:
		s := fmt.Sprintf("lids to %d of %d, multicast %d, life %d", a.LinearFDBTop, a.LinearFDBCap, a.MulticastFDBCap, uint8(a.LifeTimeValue))
		if a.PortStateChange {
			s += " state change"
		}
		return s
	case *PortInfo:
		return a.summary()
	case *LinearForwarding:
		n := len(a.Port)
		for n > 0 && a.Port[n-1] == 0xff {
			n--
		}
		return fmt.Sprintf("%x", a.Port[:n])
	case *Notice:
		if d := NewTrapData(a.TrapNumber); a.IsGeneric && d != nil {
			Decode(d, a.DataDetails[:])
			return fmt.Sprintf("trap %v from %d: %s", a.TrapNumber, a.IssuerLID, Text(d))
		}
	}
	return Text(a)
}

func (a *PortInfo) summary() string {
	speed := a.LinkSpeedActive.String()
	if a.LinkSpeedExtActive != 0 {
		speed = a.LinkSpeedExtActive.String()
	}
	s := fmt.Sprintf("lid %d/%d sm %d %v/%v %v %s mtu %v of %v vls %v of %v cap %#x", a.LID, a.LMC, a.MasterSMLID, a.PortState,
		a.PortPhysicalState, a.LinkWidthActive, speed, a.NeighborMTU, a.MTUCap, a.OperationalVLs, a.VLCap, uint32(a.CapabilityMask))
	if a.ClientReregister {
		s += " reregister"
	}
	return s
}

// String is the text without its padding.
func (a *NodeDescription) String() string {
	s, _, _ := strings.Cut(string(a.NodeString[:]), "\x00")
	return s
}

// SetString sets the text, cut to 64 bytes.
func (a *NodeDescription) SetString(s string) {
	a.NodeString = [64]byte{}
	copy(a.NodeString[:], s)
}
