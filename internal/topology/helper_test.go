package topology

import (
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var compareNetip = cmp.Options{
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b }),
	cmp.Transformer("nil", func(p []netip.Prefix) string {
		var b strings.Builder
		for _, x := range p {
			b.WriteString(x.String() + " ")
		}
		return b.String()
	}),
}

var scalarList = regexp.MustCompile(`\[\n([^\[\]{}]*?)\n *\]`)

// compactLists puts lists of numbers and strings on one line.
func compactLists(b []byte) []byte {
	b = scalarList.ReplaceAllFunc(b, func(m []byte) []byte {
		return []byte("[" + strings.Join(strings.Fields(string(m[1:len(m)-1])), " ") + "]")
	})
	return append(b, '\n')
}

// mustParse parses a topology that must have no error.
func mustParse(t *testing.T, text string) *Spec {
	t.Helper()
	s, ps := Parse("test.toml", []byte(text))
	if s == nil {
		t.Fatalf("problems:\n%v", ps)
	}
	if err := s.Validate(); err != nil {
		t.Fatalf("not valid: %v", err)
	}
	return s
}
