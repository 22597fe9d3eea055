//go:build conformance

package conformance

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write the tables into docs/MODBUS.md")

// clients with their cases.
var clients = []struct {
	name  string
	cases []kase
}{
	{"mbpoll", mbpollCases},
	{"libmodbus", libmodbusCases},
	{"pymodbus", pymodbusCases},
	{"raw", rawCases},
}

// results of the cases that have run, by client and number.
var results = struct {
	sync.Mutex
	m map[string]string
}{m: map[string]string{}}

func record(client string, i int, ok bool) {
	results.Lock()
	defer results.Unlock()
	results.m[fmt.Sprint(client, i)] = map[bool]string{true: "pass", false: "FAIL"}[ok]
}

// table is that of docs/MODBUS.md: row by row, who asks what and gets what.
func table(result func(client string, i int) string) string {
	var b strings.Builder
	b.WriteString("| case | client | expected | result |\n|---|---|---|---|\n")
	esc := strings.NewReplacer("|", "\\|").Replace
	for _, r := range rows {
		fmt.Fprintf(&b, "| **%s** | | %s | |\n", r.name, r.text)
		for _, c := range clients {
			for i, k := range c.cases {
				if k.row == r.name {
					fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s |\n", esc(short(k.do)), c.name, esc(short(k.want)), result(c.name, i))
				}
			}
		}
	}
	return b.String()
}

// reportTable is who has reported what, and where it is tested here.
func reportTable() string {
	var b strings.Builder
	b.WriteString("| reported as | robust if | test |\n|---|---|---|\n")
	for _, x := range reports {
		fmt.Fprintf(&b, "| %s | %s | `%s` |\n", x.report, x.text, x.test)
	}
	return b.String()
}

// TestEveryRowIsChecked: no requirement without a client, no case without a
// requirement.
func TestEveryRowIsChecked(t *testing.T) {
	seen := map[string]int{}
	for _, c := range clients {
		for _, k := range c.cases {
			seen[k.row]++
		}
	}
	for _, r := range rows {
		if seen[r.name] == 0 {
			t.Errorf("nothing checks %q", r.name)
		}
		delete(seen, r.name)
	}
	for name := range seen {
		t.Errorf("cases of %q, which is no row", name)
	}
}

// TestMain writes the tables when all cases have run.
func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "12") // they wait for wires, not for cores
	code := m.Run()
	if *update {
		written := func(client string, i int) string {
			if r := results.m[fmt.Sprint(client, i)]; r != "" {
				return r
			}
			code = 1
			return "NOT RUN"
		}
		if err := splice(table(written), reportTable(), true); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// TestTable: the tables in docs/MODBUS.md are those of the tests, and say "pass"
// of every case, which the tests of the clients hold them to.
func TestTable(t *testing.T) {
	if *update {
		return
	}
	if err := splice(table(func(string, int) string { return "pass" }), reportTable(), false); err != nil {
		t.Error(err)
	}
}

// splice writes the tables into docs/MODBUS.md, or compares.
func splice(cases, reports string, write bool) error {
	const file = "../../docs/MODBUS.md"
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	s := string(b)
	for _, x := range []struct{ name, text string }{{"cases", cases}, {"reports", reports}} {
		begin, end := "<!-- "+x.name+": written by go test -tags conformance ./modbus/conformance -update -->\n", "<!-- end of "+x.name+" -->\n"
		head, rest, ok := strings.Cut(s, begin)
		old, tail, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			return fmt.Errorf("%s has no place for the table: %q to %q", file, begin, end)
		}
		if !write && old != x.text {
			return fmt.Errorf("the table of %s in %s is not that of the tests; run with -update", x.name, file)
		}
		s = head + begin + x.text + end + tail
	}
	if !write {
		return nil
	}
	return os.WriteFile(file, []byte(s), 0o644)
}
