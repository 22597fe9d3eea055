//go:build conformance

package e2e

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of programs into docs/TESTING.md")

// toolTable is the table of docs/TESTING.md: what is run, by program.
func toolTable() string {
	var order []string
	runs := map[string][]string{}
	for _, x := range append(append([]tool(nil), initTools...), smTools...) {
		_, run, ok := strings.Cut(x.run, ": ")
		if !ok {
			run = x.run
		}
		name, options, _ := strings.Cut(run, " ")
		if runs[name] == nil {
			order = append(order, name)
		}
		against := "content"
		switch {
		case x.golden != "" && x.how == asFields:
			against = "fields"
		case x.golden != "":
			against = "equal"
		case x.status < 0:
			against = "refusal"
		}
		if options == "" {
			options = "(none)"
		}
		runs[name] = append(runs[name], fmt.Sprintf("`%s` %s", options, against))
	}
	var b strings.Builder
	b.WriteString("| program | options, and what the output is checked for | pass |\n|---|---|---|\n")
	for _, name := range order {
		fmt.Fprintf(&b, "| %s | %s | yes |\n", name, strings.Join(runs[name], ", "))
	}
	return b.String()
}

// TestToolTable keeps the table in docs/TESTING.md true.
func TestToolTable(t *testing.T) {
	const file, begin, end = "../../docs/TESTING.md", "<!-- tools: written by go test -tags conformance ./internal/e2e -run TestToolTable -update -->\n", "<!-- end of tools -->\n"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table: %q to %q", file, begin, end)
	}
	want := toolTable()
	if *update {
		if err := os.WriteFile(file, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != want {
		t.Errorf("the table in %s is not that of the test; run with -update", file)
	}
}
