package topology

// join finds the other end of each port and checks that both ends say the same.
func (n *ibnet) join() {
	for _, b := range n.blocks {
		for _, p := range b.ports {
			if len(n.r.problems.Errors()) >= maxIBNetProblems {
				return
			}
			n.joinPort(p)
		}
	}
}

func (n *ibnet) joinPort(p *ibnetPort) {
	b := p.of
	to := n.byID[p.peer]
	if to == nil {
		n.errorf(p.line, "add its block, or remove the line", "there is no %q", p.peer)
		return
	}
	q := to.at[p.peerNum]
	switch {
	case q == nil:
		n.errorf(p.line, "add the line below "+to.id+", or remove this one", "%q does not list port %d, which this line leads to", to.id, p.peerNum)
		return
	case q.peer != b.id || q.peerNum != p.num:
		n.errorf(p.line, "correct one of the two lines", "port %d of %q leads to port %d of %q, says line %d, and not here", p.peerNum, to.id, q.peerNum, q.peer, q.line)
		return
	}
	p.other = q
	if p.width > 0 && q.width > 0 && (p.width != q.width || p.speed != q.speed) {
		if p.line > q.line {
			n.errorf(p.line, "make both ends equal", "the link is %dx%s here and %dx%s in line %d", p.width, p.speed, q.width, q.speed, q.line)
		}
		return
	}
	if p.width == 0 {
		p.width, p.speed = q.width, q.speed
	}
	if p.guid == 0 {
		p.guid = q.peerGUID
	} else if q.peerGUID != 0 && q.peerGUID != p.guid {
		n.errorf(p.line, "make them equal", "port GUID %v is %v in line %d", p.guid, q.peerGUID, q.line)
	}
}

// fillGUIDs gives GUIDs to HCAs and ports that the file leaves open. Ports of
// an HCA follow its own number, as the vendors' do.
func (n *ibnet) fillGUIDs() {
	taken := map[GUID]bool{}
	for _, b := range n.blocks {
		taken[b.self.GUID] = true
		for _, p := range b.ports {
			taken[p.guid] = true
		}
	}
	hcas := 0
	for _, b := range n.blocks {
		if b.kind == 'S' {
			continue
		}
		hcas++
		base := guidImported | GUID(hcas)<<8
		if b.self.GUID == 0 {
			b.self.GUID = base
		}
		b.guids = make([]GUID, b.self.NumPorts)
		for i := range b.guids {
			g := b.self.GUID + GUID(i+1)
			if p := b.at[i+1]; p != nil && p.guid != 0 {
				g = p.guid
			} else if taken[g] || g == 0 || g == 1<<64-1 {
				g = base + GUID(i+1)
			}
			taken[g] = true
			b.guids[i] = g
		}
		if b.self.SystemGUID == 0 {
			b.self.SystemGUID = b.self.GUID
		}
	}
}
