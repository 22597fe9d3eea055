package route

// mcast makes trees, one after the other. What it searched from a switch it
// keeps: a subnet with IPoIB has a group for each address, and few roots.
type mcast struct {
	s      *Subnet
	g      *graph
	rank   []int32    // by switch: its place by GUID
	dist   [][]uint16 // by switch with a member: hops to it
	tops   [][]int32  // by root: parent
	queue  []int32    // of the last search
	sum    []uint64   // by switch: hops to members
	near   []uint32   // by switch: members that it reaches
	at     []uint32   // by switch: members at it
	where  []int32    // switches with members
	parent []int32    // of the root: by switch the edge that leads to it
	masks  []PortMask // by switch
	on     []bool     // by switch: on the tree
}

func (m *mcast) init() {
	n := m.g.n
	m.rank = newRanking(m.s, make([]uint16, n)).pos
	m.dist, m.tops, m.queue = make([][]uint16, n), make([][]int32, n), make([]int32, 0, n)
	m.sum, m.near, m.at = make([]uint64, n), make([]uint32, n), make([]uint32, n)
	m.masks, m.on = make([]PortMask, n), make([]bool, n)
}

// place is the switch of a member, None if it is at none, and its port there.
func (m *mcast) place(x Member) (sw int32, port int) {
	if x.End < 0 {
		return x.Switch, 0
	}
	e := &m.s.Ends[x.End]
	return e.Switch, int(e.Port)
}

func (m *mcast) tree(g *Group) Tree {
	t := Tree{MLID: g.MLID, Root: m.root(g)}
	for _, x := range g.Members {
		if sw, port := m.place(x); m.reach(t.Root, sw) {
			m.masks[sw].Set(port)
		} else {
			t.Lost = append(t.Lost, x)
		}
	}
	for _, x := range g.Senders {
		if sw, _ := m.place(x); !m.reach(t.Root, sw) {
			t.Lost = append(t.Lost, x)
		}
	}
	for u := range m.on {
		if m.on[u] {
			t.Ports = append(t.Ports, SwitchPorts{u, m.masks[u]})
			m.on[u], m.masks[u] = false, PortMask{}
		}
	}
	return t
}

// reach puts the path from the root to a switch on the tree.
func (m *mcast) reach(root int, sw int32) bool {
	if root < 0 || sw < 0 || m.parent[sw] == None && int(sw) != root {
		return false
	}
	for !m.on[sw] {
		m.on[sw] = true
		if int(sw) == root {
			break
		}
		e := &m.g.edges[m.parent[sw]]
		m.masks[sw].Set(int(e.back))
		sw = int32(m.g.edges[m.g.rev[m.parent[sw]]].to)
		m.masks[sw].Set(int(e.port))
	}
	return true
}

// root finds the root of a group and fills parent by a search from it, None
// where it reaches nothing. Switches that reach more members come first.
func (m *mcast) root(g *Group) int {
	clear(m.at)
	clear(m.sum)
	clear(m.near)
	m.where = m.where[:0]
	for _, l := range [][]Member{g.Members, g.Senders} {
		for _, x := range l {
			if sw, _ := m.place(x); sw >= 0 {
				if m.at[sw]++; m.at[sw] == 1 {
					m.where = append(m.where, sw)
				}
			}
		}
	}
	for _, w := range m.where {
		if m.dist[w] == nil {
			m.dist[w] = make([]uint16, m.g.n)
			m.queue = m.g.bfs(int(w), m.dist[w], m.queue)
		}
		for u, d := range m.dist[w] {
			if d != far {
				m.sum[u] += uint64(d) * uint64(m.at[w])
				m.near[u] += m.at[w]
			}
		}
	}
	root := None
	for u := range m.g.n {
		if m.near[u] > 0 && (root == None || m.before(u, root)) {
			root = u
		}
	}
	if root != None {
		m.search(int32(root))
	}
	return root
}

func (m *mcast) before(a, b int) bool {
	switch {
	case m.near[a] != m.near[b]:
		return m.near[a] > m.near[b]
	case m.sum[a] != m.sum[b]:
		return m.sum[a] < m.sum[b]
	}
	return m.rank[a] < m.rank[b]
}

// search fills parent in the order of hops from the root. Of two switches that
// reach a third, the one that was itself reached first has it; it goes through
// its edges by port.
func (m *mcast) search(root int32) {
	m.parent = m.tops[root]
	if m.parent != nil {
		return
	}
	m.parent = make([]int32, m.g.n)
	m.tops[root] = m.parent
	for i := range m.parent {
		m.parent[i] = None
	}
	m.queue = append(m.queue[:0], root)
	for i := 0; i < len(m.queue); i++ {
		u := m.queue[i]
		for e := m.g.first[u]; e < m.g.first[u+1]; e++ {
			if v := m.g.edges[e].to; v != root && m.parent[v] == None {
				m.parent[v] = e
				m.queue = append(m.queue, v)
			}
		}
	}
}
