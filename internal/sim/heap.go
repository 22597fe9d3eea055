package sim

// A 4-ary heap: half the depth of a binary one, and the four children of a
// node share two cache lines. The queue is the hot spot of a virtual run.

func before(x, y *entry) bool { return x.t < y.t || x.t == y.t && x.key < y.key }

func (e *Engine) push(x entry) {
	e.heap = append(e.heap, x)
	h := e.heap
	i := len(h) - 1
	for i > 0 {
		p := (i - 1) >> 2
		if !before(&x, &h[p]) {
			break
		}
		h[i] = h[p]
		i = p
	}
	h[i] = x
}

func (e *Engine) pop() entry {
	h := e.heap
	top := h[0]
	n := len(h) - 1
	x := h[n]
	h = h[:n]
	e.heap = h
	if n == 0 {
		return top
	}
	i := 0
	for {
		c := i<<2 + 1
		if c >= n {
			break
		}
		m := c
		for k := c + 1; k < c+4 && k < n; k++ {
			if before(&h[k], &h[m]) {
				m = k
			}
		}
		if !before(&h[m], &x) {
			break
		}
		h[i] = h[m]
		i = m
	}
	h[i] = x
	return top
}
