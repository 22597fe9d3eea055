package topology

import "testing"

func TestStacks(t *testing.T) {
	for _, c := range []struct {
		stack                     Stack
		valid, kernel, rdma, roce bool
	}{
		{StackSoft, true, false, true, true},
		{StackRXE, true, true, true, true},
		{StackSIW, true, true, true, false},
		{StackNone, true, false, false, false},
		{"", false, false, false, false},
		{"RXE", false, false, false, false},
	} {
		if got, err := parseStack(string(c.stack)); (err == nil) != c.valid || c.valid && got != c.stack {
			t.Errorf("%q: %q, %v", c.stack, got, err)
		}
		if k, r, o := c.stack.Kernel(), c.stack.RDMA(), c.stack.RoCE(); k != c.kernel || r != c.rdma || o != c.roce {
			t.Errorf("%q: kernel %v, RDMA %v, RoCE %v", c.stack, k, r, o)
		}
	}
}

// A Spec made by hand with a stack that is none does not pass.
func TestValidateStack(t *testing.T) {
	s := mustParse(t, "[generate]\ntype = 'star'\nhosts = 2\n[defaults]\nnode = { stack = 'rxe' }")
	if s.Nodes[1].Stack != StackRXE {
		t.Errorf("the default is not taken: %q", s.Nodes[1].Stack)
	}
	if s.Nodes[0].Stack = "roxie"; s.Validate() == nil {
		t.Error("an unknown stack is valid")
	}
}
