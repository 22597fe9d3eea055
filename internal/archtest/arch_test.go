// Package archtest holds the rules that keep the tree in layers and the
// simulated part of it deterministic. It has tests only.
package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "cnuas/"

// pure are the packages in which time is an argument: they run the same under
// the virtual and the wall clock, and two runs give the same bytes.
var pure = []string{
	"internal/sim", "internal/wire", "internal/wire/mad", "internal/frame", "internal/link", "internal/qdisc", "internal/nic",
	"internal/ibport", "internal/ibport/ibtest", "internal/ibagent", "switch/ib",
	"internal/tunnel", "internal/tunnel/datagram", "internal/ipoib",
	"switch", "switch/ether", "switch/ideal", "hca", "hca/ring", "hca/verbs", "hca/transport", "hca/cc", "hca/mad", "hca/cm",
	"sm", "sm/sa", "sm/smtest",
	"sm/route",
	"modbus/rtu", "modbus/bus", "modbus/orv3",
}

// layers: an import may only point to a layer below (a smaller number), or to
// the same package tree. What is not listed may import anything but the top.
var layers = map[string]int{
	"internal/sim":        0,
	"internal/wire":       0,
	"internal/frame":      1,
	"internal/link":       2,
	"internal/qdisc":      2,
	"internal/nic":        3,
	"switch":              3,
	"switch/ether":        4,
	"internal/ibport":     3,
	"internal/ibagent":    4,
	"internal/tunnel":     4,
	"internal/tunnel/udp": 6,
	"switch/ib":           5,
	"hca":                 5, // above the InfiniBand agents, which it shares with switch/ib
	"hca/cc":              0, // of HCAs and of NICs that stand in for a kernel
	"internal/capture":    4,
	"internal/dissect":    5,
	"internal/topology":   4,
	"modbus/rtu":          1, // time is sim's
	"modbus/bus":          2,
	"modbus/orv3":         2,
	"modbus/pty":          3,
	"modbus/port":         3,
	"modbus/usbredir":     3,
	"modbus/ftdi":         3,
	"internal/rack":       6,
	"sm/route":            0, // a subnet is its argument
	"sm":                  4,
	"sm/smtest":           5, // builds fabrics of topologies
	"hca/uverbs":          5,
	"internal/host":       5,
	"internal/realtime":   5,
	"internal/status":     0,
	"internal/control":    0,
	"internal/poll":       0,
	"internal/seccomp":    0,
	"internal/fabric":     6,
	"internal/launch":     6,
	"internal/vm":         6,
	"internal/rdma":       6,
	"modbus/bmc":          7, // above internal/vm, whose packages and processes it uses
	"internal/daemon":     8,
	"internal/cli":        9,
	"cmd/cnuas":           10,
}

// wrapped are modules that only one package of ours may import.
var wrapped = map[string]string{
	"github.com/songgao/water":       "internal/host",
	"github.com/vishvananda/netns":   "internal/host",
	"github.com/vishvananda/netlink": "internal/host internal/rdma",
	"github.com/goburrow/serial":     "modbus/port",
	"github.com/BurntSushi/toml":     "internal/topology",
	"github.com/google/gopacket":     "internal/capture internal/dissect",
}

// forbidden in pure packages, with the reason.
var forbidden = map[string]string{
	"os":                         "makes results depend on the machine",
	"net":                        "makes results depend on the machine",
	"syscall":                    "makes results depend on the machine",
	"golang.org/x/sys/unix":      "makes results depend on the machine",
	"sync":                       "the engine has one thread",
	"time":                       "time is an argument, see sim.Time",
	"math/rand":                  "random streams come from sim.Proc",
	"github.com/google/gopacket": "allocates; never on the forwarding path",
}

// allowed exceptions to forbidden, with the reason.
var allowed = map[string]string{
	"hca/ring sync/atomic": "rings are shared with other processes",
	"modbus/orv3 sync":     "embedded tables are read once, by who asks first",
}

type file struct {
	pkg  string // directory below the module's root
	path string
	test bool
	ast  *ast.File
}

func load(t *testing.T) (*token.FileSet, []file) {
	t.Helper()
	root := filepath.Join("..", "..")
	set := token.NewFileSet()
	var l []file
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		a, err := parser.ParseFile(set, p, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		l = append(l, file{pkg: path.Dir(rel), path: rel, test: strings.HasSuffix(rel, "_test.go"), ast: a})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(l) < 50 {
		t.Fatalf("only %d Go files found: the walk is wrong", len(l))
	}
	return set, l
}

func imports(f *ast.File) (l []string) {
	for _, s := range f.Imports {
		p, _ := strconv.Unquote(s.Path.Value)
		l = append(l, p)
	}
	return l
}

// layer of a package: its own, or that of the nearest parent that has one.
func layer(pkg string) (int, bool) {
	for p := pkg; p != "."; p = path.Dir(p) {
		if n, ok := layers[p]; ok {
			return n, true
		}
	}
	return 0, false
}

func TestImportsPointDown(t *testing.T) {
	_, files := load(t)
	for _, f := range files {
		if f.test {
			continue
		}
		own, ok := layer(f.pkg)
		for _, imp := range imports(f.ast) {
			if !strings.HasPrefix(imp, module) || !ok {
				continue
			}
			to := strings.TrimPrefix(imp, module)
			n, known := layer(to)
			if !known || to == f.pkg || strings.HasPrefix(to, f.pkg+"/") || strings.HasPrefix(f.pkg, to+"/") {
				continue
			}
			if n >= own && !(n == 0 && own == 0) && !sameTree(f.pkg, to) {
				t.Errorf("%s: %s (layer %d) imports %s (layer %d): imports point down", f.path, f.pkg, own, to, n)
			}
		}
	}
}

func sameTree(a, b string) bool {
	x, _, _ := strings.Cut(a, "/")
	y, _, _ := strings.Cut(b, "/")
	return x == y && x != "internal"
}

// TestPeersDoNotImportEachOther: what one of these needs of another it declares
// as a small interface on its own side.
func TestPeersDoNotImportEachOther(t *testing.T) {
	_, files := load(t)
	peers := []string{"switch", "hca", "sm", "modbus"}
	of := func(pkg string) string {
		top, _, _ := strings.Cut(pkg, "/")
		for _, p := range peers {
			if top == p {
				return p
			}
		}
		return ""
	}
	for _, f := range files {
		own := of(f.pkg)
		if own == "" || f.test {
			continue
		}
		for _, imp := range imports(f.ast) {
			if o := of(strings.TrimPrefix(imp, module)); strings.HasPrefix(imp, module) && o != "" && o != own {
				t.Errorf("%s imports %s", f.path, imp)
			}
		}
	}
}

func TestThirdPartyModulesAreWrapped(t *testing.T) {
	_, files := load(t)
	for _, f := range files {
		if f.test || strings.HasPrefix(f.pkg, "scripts/") {
			continue
		}
		for _, imp := range imports(f.ast) {
			for mod, owner := range wrapped {
				if (imp == mod || strings.HasPrefix(imp, mod+"/")) && !contains(owner, f.pkg) {
					t.Errorf("%s imports %s, which only %s may", f.path, imp, owner)
				}
			}
		}
	}
}

func contains(list, pkg string) bool {
	for _, x := range strings.Fields(list) {
		if pkg == x || strings.HasPrefix(pkg, x+"/") {
			return true
		}
	}
	return false
}

func TestPurePackages(t *testing.T) {
	set, files := load(t)
	for _, f := range files {
		if f.test || !isPure(f.pkg) {
			continue
		}
		for _, imp := range imports(f.ast) {
			if _, ok := allowed[f.pkg+" "+imp]; ok {
				continue
			}
			for bad, why := range forbidden {
				if imp == bad || strings.HasPrefix(imp, bad+"/") && imp != "net/netip" && imp != "math/rand/v2" {
					t.Errorf("%s imports %s: %s", f.path, imp, why)
				}
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt:
				t.Errorf("%v: %T: the engine has one thread", set.Position(n.Pos()), n)
			case *ast.SelectorExpr:
				// Functions of math/rand/v2 itself draw from a global stream.
				if id, ok := x.X.(*ast.Ident); ok && id.Name == "rand" && globalRand[x.Sel.Name] {
					t.Errorf("%v: rand.%s draws from a global stream", set.Position(n.Pos()), x.Sel.Name)
				}
			}
			return true
		})
	}
}

var globalRand = map[string]bool{"Int": true, "IntN": true, "Int64": true, "Int64N": true, "Uint32": true, "Uint64": true,
	"Uint64N": true, "Float64": true, "Perm": true, "Shuffle": true, "N": true, "NormFloat64": true, "ExpFloat64": true}

func isPure(pkg string) bool {
	for _, p := range pure {
		if p == pkg {
			return true
		}
	}
	return false
}

func TestFilesAreShort(t *testing.T) {
	set, files := load(t)
	for _, f := range files {
		if n := set.File(f.ast.Pos()).LineCount(); n > 800 {
			t.Errorf("%s has %d lines: one concept a file, none above 800", f.path, n)
		}
	}
}

func TestPackagesAndExportedNamesAreDocumented(t *testing.T) {
	_, files := load(t)
	doc := map[string]bool{}
	total, with := 0, 0
	var without []string
	for _, f := range files {
		if f.test {
			continue
		}
		doc[f.pkg] = doc[f.pkg] || f.ast.Doc != nil
		for _, d := range f.ast.Decls {
			for name, ok := range exported(d) {
				total++
				if ok {
					with++
				} else {
					without = append(without, fmt.Sprintf("%s: %s", f.path, name))
				}
			}
		}
	}
	for pkg, ok := range doc {
		if !ok {
			t.Errorf("package %s has no doc comment", pkg)
		}
	}
	if with*100 < total*95 {
		t.Errorf("%d of %d exported names are documented, want 95%%:\n%s", with, total, strings.Join(without, "\n"))
	}
}

// exported returns the exported names that a declaration makes, and whether
// each has a comment, of its own or of its group.
func exported(d ast.Decl) map[string]bool {
	m := map[string]bool{}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
			m[d.Name.Name] = d.Doc != nil
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					m[s.Name.Name] = d.Doc != nil || s.Doc != nil
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() {
						m[n.Name] = d.Doc != nil || s.Doc != nil || s.Comment != nil
					}
				}
			}
		}
	}
	return m
}

func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
