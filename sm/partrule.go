package sm

import (
	"net/netip"
	"strconv"
	"strings"

	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// item is name or name=value of a list.
type item struct {
	name, value token
	hasValue    bool
}

// items reads a list of them up to the end or a ':'. Commas between are
// optional before mgid=, as a new line there has the same meaning.
func (p *partParser) items(t []token) (l []item, rest []token) {
	for len(t) > 0 && t[0].s != ":" {
		switch t[0].s {
		case ",":
			t = t[1:]
			continue
		case "=":
			if len(l) > 0 && !l[len(l)-1].hasValue && len(t) > 1 && !strings.Contains(",:=", t[1].s) {
				l[len(l)-1].value, l[len(l)-1].hasValue = t[1], true
				t = t[2:]
				continue
			}
			p.errorf(t[0].line, "'=' without a name or value")
			t = t[1:]
			continue
		}
		l = append(l, item{name: t[0], value: token{line: t[0].line}})
		t = t[1:]
	}
	return l, t
}

func (p *partParser) rule(t []token) {
	q := Partition{Line: t[0].line}
	key := token{}
	if t[0].s == "=" && len(t) > 1 { // without a name
		key, t = t[1], t[2:]
	} else if t[0].s != ":" && t[0].s != "," {
		q.Name, t = t[0].s, t[1:]
		if len(t) > 1 && t[0].s == "=" {
			key, t = t[1], t[2:]
		}
	}
	defs, rest := p.items(t)
	if len(rest) == 0 {
		p.errorf(q.Line, "partition %q: ':' is missing behind the definition", q.Name)
		return
	}
	if key.s == "" && q.Name != "" && q.Name[0] >= '0' && q.Name[0] <= '9' { // a P_Key only
		q.Name, key = "", token{q.Name, q.Line}
	}
	switch {
	case key.s != "":
		v := p.number(key, "P_Key", 0xffff)
		if q.PKey = uint16(v) &^ fullMember; q.PKey == 0 && v != 0 {
			p.errorf(key.line, "partition %q: P_Key %s is not usable", q.Name, key.s)
			return
		}
	case strings.EqualFold(q.Name, "Default"):
		q.PKey = DefaultPKey
	}
	def := Limited
	for _, d := range defs {
		switch strings.ToLower(d.name.s) {
		case "ipoib":
			q.IPoIB = true
		case "indx0":
			q.Index0 = true
		case "defmember":
			if as, ok := membership(d.value.s); ok {
				def = as
			} else {
				p.errorf(d.name.line, "defmember is full, limited or both, not %q", d.value.s)
			}
		default:
			if !p.flag(&q.Group, d) {
				p.errorf(d.name.line, "unknown flag %q", d.name.s)
			}
		}
	}
	members, rest := p.items(rest[1:])
	if len(rest) > 0 {
		p.errorf(rest[0].line, "unexpected ':'; is a ';' missing?")
		return
	}
	for i := 0; i < len(members); i++ {
		if m := members[i]; strings.EqualFold(m.name.s, "mgid") {
			i = p.group(&q, members, i)
		} else {
			p.member(&q, m, def)
		}
	}
	p.file.Partitions = append(p.file.Partitions, q)
}

func membership(s string) (Membership, bool) {
	s = strings.ToLower(s)
	switch {
	case s == "":
	case strings.HasPrefix("full", s):
		return Full, true
	case strings.HasPrefix("limited", s):
		return Limited, true
	case strings.HasPrefix("both", s):
		return Both, true
	}
	return 0, false
}

func (p *partParser) member(q *Partition, it item, def Membership) {
	m := Member{As: def}
	if it.hasValue {
		as, ok := membership(it.value.s)
		if !ok {
			p.errorf(it.value.line, "a membership is full, limited or both, not %q", it.value.s)
		}
		m.As = as
	}
	switch strings.ToUpper(it.name.s) {
	case "NONE":
		return
	case "ALL":
		m.Who = MemberAll
	case "ALL_CAS":
		m.Who = MemberCAs
	case "ALL_SWITCHES":
		m.Who = MemberSwitches
	case "ALL_ROUTERS":
		m.Who = MemberRouters
	case "SELF":
		m.Who = MemberSelf
	default:
		g, err := strconv.ParseUint(it.name.s, 0, 64)
		if err != nil || g == 0 {
			p.errorf(it.name.line, "%q is no port GUID, ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS or SELF", it.name.s)
			return
		}
		m.GUID = wire.GUID(g)
	}
	q.Members = append(q.Members, m)
}

// group reads mgid=GID and the flags that follow; it returns the index of the
// last one.
func (p *partParser) group(q *Partition, l []item, i int) int {
	g := PartitionGroup{GroupFlags: q.Group}
	a, err := netip.ParseAddr(l[i].value.s)
	if err != nil || !a.Is6() || !a.IsMulticast() {
		p.errorf(l[i].name.line, "mgid=%s is no multicast GID", l[i].value.s)
	}
	for i+1 < len(l) && p.flag(&g.GroupFlags, l[i+1]) {
		i++
	}
	if err == nil && a.Is6() && a.IsMulticast() {
		g.MGID = a.As16()
		q.Groups = append(q.Groups, g)
	}
	return i
}

// flag reads a property of a group; false if it is none.
func (p *partParser) flag(g *GroupFlags, it item) bool {
	switch name := strings.ToLower(it.name.s); name {
	case "rate":
		if g.Rate = mad.Rate(p.number(it.value, name, 63)); g.Rate.Mbps() == 0 {
			p.errorf(it.name.line, "rate=%s is not defined", it.value.s)
		}
	case "mtu":
		if g.MTU = mad.MTU(p.number(it.value, name, 63)); g.MTU.Bytes() == 0 {
			p.errorf(it.name.line, "mtu=%s is not 1 to 5", it.value.s)
		}
	case "sl":
		g.SL = uint8(p.number(it.value, name, 15))
	case "scope":
		if v := p.number(it.value, name, 15); v == 0 {
			p.errorf(it.name.line, "scope=%s is not 1 to 15", it.value.s)
		} else {
			g.Scopes |= 1 << v
		}
	case "q_key":
		g.QKey = uint32(p.number(it.value, name, 1<<32-1))
	case "tclass":
		g.TClass = uint8(p.number(it.value, name, 255))
	case "flowlabel":
		g.FlowLabel = uint32(p.number(it.value, name, 1<<20-1))
	default:
		return false
	}
	return true
}

func (p *partParser) number(t token, what string, top uint64) uint64 {
	v, err := strconv.ParseUint(t.s, 0, 64)
	if err != nil || v > top {
		p.errorf(t.line, "%s=%s is no number up to %#x", what, t.s, top)
		return 0
	}
	return v
}
