//go:build conformance

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// How the output of an infiniband-diags program is compared with that of the
// same program on the same fabric under ibsim, which testdata/ft2x2x8 has.
type compare int

const (
	// asText compares line by line.
	asText compare = iota
	// asRecords compares as a set of records: their order is that of discovery.
	asRecords
	// asFields compares the names of fields and their order. The values are those
	// of ibsim's devices: capabilities, sizes of tables.
	asFields
)

// own lists what ibsim's devices say of themselves in another way than ours,
// and what depends on the path of discovery or on the day.
var own = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`DR path slid \d+; dlid \d+; [\d,]+`), "DR path"},
	{regexp.MustCompile(`(?m)^#.*\n`), ""}, // headings, with dates
	{regexp.MustCompile(`\n\*\*\* WARNING \*\*\*.*\n`), ""},
	{regexp.MustCompile(`(?m)^(vendid|devid|sysimgguid)=.*\n`), ""},
	{regexp.MustCompile(` \((Could be [^)]*| )\)`), ""}, // by what both ends support
	{regexp.MustCompile(`(?m)[ \t]+$`), ""},
	{regexp.MustCompile(`\[0xc000-0x[0-9a-f]+\]`), "[0xc000-]"}, // capacity
}

func normalise(s string) string {
	for _, r := range own {
		s = r.re.ReplaceAllString(s, r.to)
	}
	return strings.Trim(s, "\n")
}

// record begins a record of a listing; a blank line does so too.
var record = regexp.MustCompile(`^(Switch|Ca|CA|Unicast|Multicast|Router|Rt|SW)\b`)

func splitRecords(s string) (l []string) {
	var cur []string
	flush := func() {
		if len(cur) > 0 {
			l = append(l, strings.Join(cur, "\n"))
		}
		cur = nil
	}
	for _, line := range strings.Split(s, "\n") {
		if line == "" || record.MatchString(line) {
			flush()
		}
		if line != "" {
			cur = append(cur, line)
		}
	}
	flush()
	slices.Sort(l)
	return l
}

var fieldName = regexp.MustCompile(`^\s*([A-Za-z][A-Za-z0-9 /_]*?)[.:]`)

func fieldNames(s string) (l []string) {
	for _, line := range strings.Split(s, "\n") {
		if m := fieldName.FindStringSubmatch(line); m != nil {
			l = append(l, m[1])
		}
	}
	return l
}

// golden reads an expectation.
func golden(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "ft2x2x8", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// matches compares got with want, in which <N> stands for any number.
func matches(how compare, got, want string) bool {
	if how == asFields {
		return slices.Equal(fieldNames(got), fieldNames(want))
	}
	g, w := strings.Split(normalise(got), "\n"), strings.Split(normalise(want), "\n")
	if how == asRecords {
		g, w = splitRecords(normalise(got)), splitRecords(normalise(want))
	}
	if len(g) != len(w) {
		return false
	}
	for i := range g {
		if g[i] == w[i] {
			continue
		}
		re := strings.ReplaceAll(regexp.QuoteMeta(w[i]), "<N>", `\d+`)
		if !strings.Contains(w[i], "<N>") || !regexp.MustCompile("^"+re+"$").MatchString(g[i]) {
			return false
		}
	}
	return true
}

// TestMatches: the comparison itself notices what it has to.
func TestMatches(t *testing.T) {
	tests := []struct {
		how       compare
		got, want string
		ok        bool
	}{
		{asText, "a 1\n", "a 1", true},
		{asText, "a 1", "a 2", false},
		{asText, "a 17", "a <N>", true},
		{asText, "a x", "a <N>", false},
		{asText, "a", "a\nb", false},
		{asText, "# of today\na", "# of then\na", true},
		{asRecords, "Ca : 2\nCa : 1", "Ca : 1\nCa : 2", true},
		{asRecords, "Ca : 2\nCa : 3", "Ca : 1\nCa : 2", false},
		{asRecords, "Switch A\n[1] x\n[2] y\n\nSwitch B", "Switch B\nSwitch A\n[1] x\n[2] y", true},
		{asRecords, "Switch A\n[2] y\n[1] x", "Switch A\n[1] x\n[2] y", false},
		{asFields, "Lid:....3\nLMC:...1", "Lid:.....4\nLMC:...0", true},
		{asFields, "Lid:....3", "Lid:.....4\nLMC:...0", false},
	}
	for _, tt := range tests {
		if got := matches(tt.how, tt.got, tt.want); got != tt.ok {
			t.Errorf("matches(%d, %q, %q) = %v", tt.how, tt.got, tt.want, got)
		}
	}
}
