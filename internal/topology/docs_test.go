package topology

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cnuas/modbus/orv3"
)

// Every key that the loader knows is in the reference.
func TestReferenceNamesEveryKey(t *testing.T) {
	doc, err := os.ReadFile("../../docs/TOPOLOGY.md")
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	parse("all.toml", []byte(`
generate = { type = "star", hosts = 1, host_link = {}, fabric_link = {} }
defaults = { link = {}, node = {}, switch = {} }
tunnel = {}
rack = { segment = [{}], shelf = [{}], bmc = {} }
qos = { ecn = {}, scheduler = {} }
[[node]]
port = [{}]
[[switch]]
vlan_ip = {}
[[link]]
`), keys, nil)
	if len(keys) < 75 {
		t.Fatalf("only %d keys were asked for", len(keys))
	}
	for k := range keys {
		if !regexp.MustCompile("`[^`]*\\b" + k + "\\b[^`]*`").Match(doc) {
			t.Errorf("docs/TOPOLOGY.md does not mention `%s`", k)
		}
	}
}

// The first example of the reference is a topology.
func TestReferenceExample(t *testing.T) {
	doc, err := os.ReadFile("../../docs/TOPOLOGY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "```toml\n")
	text, _, _ := strings.Cut(rest, "```")
	if s := mustParse(t, text); len(s.Nodes) != 2 || len(s.Warnings) > 0 {
		t.Errorf("%+v", s)
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil {
					t.Errorf("%s: %s is not documented", name, d.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if ts, ok := s.(*ast.TypeSpec); ok && ts.Name.IsExported() && d.Doc == nil && ts.Doc == nil {
						t.Errorf("%s: %s is not documented", name, ts.Name)
					}
				}
			}
		}
	}
}

// The table of kinds in the reference is what the loader goes by.
func TestReferenceNamesEveryKind(t *testing.T) {
	doc, err := os.ReadFile("../../docs/TOPOLOGY.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, k := range orv3.Kinds() {
		if k.Role == orv3.RolePMM {
			continue // is in front of a shelf of another kind
		}
		x := shelfKindOf(k.Name)
		title, ranges := k.Title, rangesOf(x)
		if len(k.Map.Ranges) == 0 {
			ranges = "-"
		}
		if x.pmm != "" {
			ranges += "; PMM " + rangesOf(x.frontKind())
		}
		fmt.Fprintf(&want, "| `%s` | %s | %v | %s | %d |\n", k.Name, title, x.line, ranges, x.maxSlots)
	}
	if !strings.Contains(string(doc), want.String()) {
		t.Errorf("docs/TOPOLOGY.md has not this table of kinds:\n%s", want.String())
	}
	for _, p := range orv3.Profiles() {
		if !p.IsShelf && !strings.Contains(string(doc), "`"+p.Name+"`") {
			t.Errorf("docs/TOPOLOGY.md has not the profile `%s` of a %s", p.Name, p.Kind)
		}
	}
}
