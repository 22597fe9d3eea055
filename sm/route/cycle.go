package route

// cycle returns the edges of a cycle of turns, or nil. Of the edges that are
// missing in the order of Kahn (1962) each has another before it: going back comes round.
func (c *turns) cycle(has func(turn int32) bool) []int32 {
	_, into := c.kahn(has)
	for a, n := range into {
		if n > 0 {
			return c.back(int32(a), into, has)
		}
	}
	return nil
}

// kahn returns the order and by edge the turns into it from edges not in order.
func (c *turns) kahn(has func(turn int32) bool) (order, into []int32) {
	into = make([]int32, len(c.g.edges))
	each := func(a int32, f func(b int32)) {
		turn, b, n := c.after(a)
		for i := range n {
			if has(turn + i) {
				f(b + i)
			}
		}
	}
	for a := range c.g.edges {
		each(int32(a), func(b int32) { into[b]++ })
	}
	order = make([]int32, 0, len(into))
	for a, n := range into {
		if n == 0 {
			order = append(order, int32(a))
		}
	}
	for i := 0; i < len(order); i++ {
		each(order[i], func(b int32) {
			if into[b]--; into[b] == 0 {
				order = append(order, b)
			}
		})
	}
	return order, into
}

// back finds a cycle among edges that all have a turn into them.
func (c *turns) back(a int32, into []int32, has func(turn int32) bool) []int32 {
	seen := make([]int32, len(into)) // place in path, from 1
	var path []int32
	for seen[a] == 0 {
		path = append(path, a)
		seen[a] = int32(len(path))
		u := c.tail(a)
		for i := c.g.first[u]; i < c.g.first[u+1]; i++ {
			if in := c.g.rev[i]; into[in] > 0 && has(c.of(in, a)) {
				a = in
				break
			}
		}
	}
	path = path[seen[a]-1:]
	for i, k := 0, len(path)-1; i < k; i, k = i+1, k-1 {
		path[i], path[k] = path[k], path[i]
	}
	return path
}
