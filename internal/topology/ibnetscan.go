package topology

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	ibnetHeader = regexp.MustCompile(`^(Switch|Ca|Hca|Rt|Router)\s+(\d{1,9})\s+"([^"]*)"\s*(?:#\s*(.*))?$`)
	ibnetPortRE = regexp.MustCompile(`^\[(\d{1,9})\](?:\[ext \d+\])?(?:\(([0-9a-fA-F]{1,16})\))?\s*"([^"]*)"\[(\d{1,9})\](?:\[ext \d+\])?(?:\(([0-9a-fA-F]{1,16})\))?\s*(?:#\s*(.*))?$`)
	ibnetKey    = regexp.MustCompile(`^(vendid|devid|sysimgguid|switchguid|caguid|rtguid)=(?:0x)?([0-9a-fA-F]{1,16})(?:\(([0-9a-fA-F]{1,16})\))?\s*(?:#.*)?$`)
	ibnetIDRE   = regexp.MustCompile(`^[SHR]-([0-9a-fA-F]{16})$`)
	ibnetSpeed  = regexp.MustCompile(`^(\d{1,3})x(\S+)$`)
)

// scan reads the lines into blocks.
func (n *ibnet) scan(text string) {
	var next IBNode // what stands before the header
	var block *ibnetBlock
	for line := 1; text != "" && len(n.r.problems) < maxIBNetProblems; line++ {
		var s string
		s, text, _ = strings.Cut(text, "\n")
		s = strings.TrimSpace(s)
		switch {
		case s == "" || s[0] == '#' || strings.HasPrefix(s, "Chassis "):
		case s[0] == '[':
			n.port(line, s, block)
		case ibnetKey.MatchString(s):
			m := ibnetKey.FindStringSubmatch(s)
			v, _ := strconv.ParseUint(m[2], 16, 64)
			switch m[1] {
			case "vendid":
				next.VendorID = uint32(v) & 0xffffff
			case "devid":
				next.DeviceID = uint16(v)
			case "sysimgguid":
				next.SystemGUID = GUID(v)
			default:
				next.GUID = GUID(v)
			}
		default:
			m := ibnetHeader.FindStringSubmatch(s)
			if m == nil {
				n.errorf(line, `lines are Switch 8 "S-...", Ca 1 "H-...", [1] "S-..."[2], caguid=0x... and comments`, "cannot read %.60q", s)
				continue
			}
			block = n.header(line, m, next)
			next = IBNode{}
		}
	}
}

// header reads Switch 36 "S-0002c90200410998" # "MF0;sw1:IS5030/U1" enhanced port 0 lid 5 lmc 0.
func (n *ibnet) header(line int, m []string, self IBNode) *ibnetBlock {
	b := &ibnetBlock{line: line, kind: 'H', id: m[3], self: self, at: map[int]*ibnetPort{}}
	switch m[1] {
	case "Switch":
		b.kind = 'S'
	case "Rt", "Router":
		b.kind = 'R'
		n.r.warnf(n.key(line), "", "the router %q becomes a host: packets do not pass it", b.id)
	}
	b.self.NumPorts, _ = strconv.Atoi(m[2])
	if b.self.NumPorts < 1 || b.self.NumPorts > MaxIBPorts {
		n.errorf(line, "use 1 to "+strconv.Itoa(MaxIBPorts), "%q has %d ports", b.id, b.self.NumPorts)
		b.self.NumPorts = 1
	}
	if id := ibnetIDRE.FindStringSubmatch(b.id); id != nil {
		v, _ := strconv.ParseUint(id[1], 16, 64)
		if b.self.GUID != 0 && b.self.GUID != GUID(v) {
			n.errorf(line, "make them equal", "%q is not what the line above it says, GUID %v", b.id, b.self.GUID)
		}
		b.self.GUID = GUID(v)
	}
	if b.self.GUID == 1<<64-1 || b.self.SystemGUID == 1<<64-1 {
		n.errorf(line, "use another", "all ones is no device's GUID")
	}
	var rest string
	b.self.Desc, rest = ibnetDesc(m[4])
	if b.self.Desc == "" {
		b.self.Desc, _ = ibnetDesc(`"` + b.id + `"`)
	}
	if b.self.Desc == "" {
		b.self.Desc = m[1]
	}
	b.enhanced = strings.HasPrefix(rest, "enhanced port 0")
	if old := n.byID[b.id]; old != nil {
		n.errorf(line, "remove one", "%q stands in line %d already", b.id, old.line)
		return b
	}
	n.byID[b.id] = b
	n.blocks = append(n.blocks, b)
	return b
}

// ibnetDesc splits a comment into the description in quotes, which may itself
// contain quotes, and what follows it. Characters that are not printable become
// dots, as ibnetdiscover prints them.
func ibnetDesc(comment string) (desc, rest string) {
	from, to := strings.IndexByte(comment, '"'), strings.LastIndexByte(comment, '"')
	if from < 0 || to <= from {
		return "", comment
	}
	b := []byte(comment[from+1 : to])
	for i, c := range b {
		if c < ' ' || c > '~' {
			b[i] = '.'
		}
	}
	if len(b) > maxDesc {
		b = b[:maxDesc]
	}
	return string(b), strings.TrimSpace(comment[to+1:])
}

// port reads [1](10000f) "S-0000000000200001"[4] # lid 12 lmc 0 "L2" lid 3 4xSDR.
func (n *ibnet) port(line int, s string, b *ibnetBlock) {
	m := ibnetPortRE.FindStringSubmatch(s)
	switch {
	case m == nil:
		n.errorf(line, `write it as [1] "S-0000000000200001"[4] # 4xEDR`, "cannot read the port %.60q", s)
		return
	case b == nil:
		n.errorf(line, `put it below Switch 8 "..." or Ca 1 "..."`, "the port belongs to no device")
		return
	}
	p := &ibnetPort{line: line, of: b, peer: m[3]}
	p.num, _ = strconv.Atoi(m[1])
	p.peerNum, _ = strconv.Atoi(m[4])
	p.guid, p.peerGUID = ibnetGUID(m[2]), ibnetGUID(m[5])
	if p.num < 1 || p.num > b.self.NumPorts {
		n.errorf(line, "use 1 to "+strconv.Itoa(b.self.NumPorts), "%q has no port %d", b.id, p.num)
		return
	}
	if old := b.at[p.num]; old != nil {
		n.errorf(line, "remove one", "port %d of %q stands in line %d already", p.num, b.id, old.line)
		return
	}
	_, rest := ibnetDesc(m[6])
	for _, w := range strings.Fields(rest) {
		x := ibnetSpeed.FindStringSubmatch(w)
		if x == nil {
			continue
		}
		p.width, _ = strconv.Atoi(x[1])
		var err error
		if p.speed, err = parseSpeed(x[2]); err != nil || !slices.Contains(ibWidths, int64(p.width)) {
			n.errorf(line, "use a width of 1x, 2x, 4x, 8x or 12x and a speed of "+speedNames, "%q is no width and speed", w)
		}
		break
	}
	b.at[p.num] = p
	b.ports = append(b.ports, p)
}

func ibnetGUID(s string) GUID {
	v, _ := strconv.ParseUint(s, 16, 64) // 0 for ""
	return GUID(v)
}
