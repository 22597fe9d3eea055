package daemon

import (
	"strings"
	"testing"

	"cnuas/internal/status"
)

func TestManagementInVerdict(t *testing.T) {
	for _, c := range []struct {
		name string
		m    *status.Management
		want string
	}{
		{"none", nil, ""},
		{"traffic", &status.Management{TxFrames: 5, RxFrames: 7}, ""},
		{"lost at the ring", &status.Management{Ring: status.Ring{TxDropped: 3}}, "lost 3 frames from and 0 for h1's kernel"},
		{"not taken", &status.Management{Ring: status.Ring{RxDropped: 2}}, "lost 0 frames from and 2 for h1's kernel"},
	} {
		s := &status.Fabric{Scale: 1, Nodes: []status.Node{{Name: "h1", Management: c.m}}}
		judge(s, activity{}, nil)
		if s.Verdict.Faithful != (c.want == "") || !strings.Contains(s.Verdict.String(), c.want) {
			t.Errorf("%s: %s", c.name, s.Verdict)
		}
	}
}
