package hca

// SwapMemory puts another Memory under a context, for tests that watch it.
func SwapMemory(c *Context, m Memory) { c.mem = m }
