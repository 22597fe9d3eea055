package topology

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cnuas/topologies"

	"github.com/BurntSushi/toml"
)

// maxFile bounds a file in bytes: a fabric of 1024 hosts written out by hand
// has about 150 KB.
const maxFile = 256 << 10

// maxDepth bounds how deep lists, tables and dotted keys are nested; a topology
// needs four levels. Work and stack of a TOML parser grow with the depth.
const maxDepth = 64

// tooDeep returns the first line that nests deeper than maxDepth, 0 if none
// does. It looks at brackets and dots only, in comments and strings too.
func tooDeep(data []byte) int {
	line, depth, dots := 1, 0, 0
	for i, c := range data {
		switch c {
		case '[', '{':
			depth++
			dots = 0
		case ']', '}':
			depth = max(depth-1, 0)
			dots = 0
		case '.':
			if i > 0 && data[i-1] != '.' { // a row of dots is no key
				dots++
			}
		case '\n':
			line++
			dots = 0
		case '=', ',':
			dots = 0
		}
		if depth > maxDepth || dots > maxDepth {
			return line
		}
	}
	return 0
}

// Load reads the topology file at path. If there is no such file and path is a
// bare name, it is looked for among the shipped ones: "two-hosts". The error
// holds Problems, errors and warnings, if the file is at fault; warnings alone
// are in Spec.Warnings.
func Load(path string) (*Spec, error) {
	file, data, err := Source(path)
	if err != nil {
		return nil, err
	}
	s, problems := parse(file, data, nil, beside(file))
	if s == nil {
		return nil, problems
	}
	return s, nil
}

// Source is the text that Load reads, and the name of the file for messages.
func Source(path string) (file string, data []byte, err error) {
	data, err = os.ReadFile(path)
	file = path
	if errors.Is(err, fs.ErrNotExist) && filepath.Base(path) == path {
		name := strings.TrimSuffix(path, ".toml")
		if shipped, e := topologies.Files.ReadFile(name + ".toml"); e == nil {
			data, err, file = shipped, nil, name+".toml"
		} else {
			return "", nil, fmt.Errorf("topology %s: no such file, and none of that name is shipped (%s)", path, suggest(name, Shipped()))
		}
	}
	if err != nil {
		return "", nil, fmt.Errorf("topology %s: %w", path, errors.Unwrap(err))
	}
	return file, data, nil
}

// Shipped returns the names of the topologies in the binary, sorted.
func Shipped() []string {
	entries, _ := topologies.Files.ReadDir(".") // an embedded directory can be read
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".toml"))
	}
	return names
}

// Parse reads a topology from memory. name is the file's name, for messages
// and as the fabric's name if the file gives none. The Spec is nil if one of
// the problems is an error; warnings alone are also in Spec.Warnings.
func Parse(name string, data []byte) (*Spec, Problems) {
	return parse(name, data, nil, nil)
}

// beside reads files that a topology names, relative to its own directory.
func beside(topology string) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(topology), name)
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, maxPartitions+1))
	}
}

func parse(name string, data []byte, keys map[string]bool, read func(string) ([]byte, error)) (*Spec, Problems) {
	r := &reader{file: name, keys: keys}
	if isIBNet(name, data) {
		d := r.ibnet(data)
		if d == nil {
			return nil, r.problems
		}
		return build(r, d, read)
	}
	if len(data) > maxFile {
		r.errorf("", "use [generate]", "the file has %d bytes, more than %d", len(data), maxFile)
		return nil, r.problems
	}
	if n := tooDeep(data); n > 0 {
		return nil, Problems{{File: name, Line: n, Msg: fmt.Sprintf("more than %d levels of lists, tables or dots", maxDepth), Remedy: "use fewer levels"}}
	}
	var m map[string]any
	if _, err := toml.Decode(string(data), &m); err != nil {
		var pe toml.ParseError
		p := Problem{File: name, Msg: err.Error()}
		if errors.As(err, &pe) {
			p.Line, p.Key, p.Msg = pe.Position.Line, pe.LastKey, pe.Message
			if p.Msg == "" {
				p.Msg = strings.TrimPrefix(err.Error(), "toml: ")
			}
		}
		return nil, Problems{p}
	}
	r.lines = locate(string(data))
	d := r.read(m)
	if d.gen != nil {
		d.combine(d.gen.run(r))
	}
	return build(r, d, read)
}

// build makes the Spec of a document.
func build(r *reader, d *document, read func(string) ([]byte, error)) (*Spec, Problems) {
	name := r.file
	b := &builder{r: r, d: d, s: &Spec{File: name, Seed: uint64(d.seed.get(1))}, read: read}
	b.s.Name = d.name.get(stem(name))
	if err := checkName(b.s.Name); err != nil && !d.name.set {
		r.errorf("", `add name = "..."`, "the file's name does not make a fabric's name: %v", err)
	}
	b.run()
	slices.SortStableFunc(r.problems, func(x, y Problem) int { return x.Line - y.Line })
	r.problems = compact(r.problems)
	if len(r.problems.Errors()) > 0 {
		return nil, r.problems
	}
	b.s.Warnings = r.problems
	return b.s, r.problems
}

// compact removes problems that were found twice, as in a profile that others
// inherit from.
func compact(ps Problems) Problems {
	seen := map[Problem]bool{}
	return slices.DeleteFunc(ps, func(p Problem) bool {
		dup := seen[p]
		seen[p] = true
		return dup
	})
}

func stem(path string) string {
	name := filepath.Base(path)
	for _, ext := range []string{".toml", IBNetExt, ".topo"} {
		if s, ok := strings.CutSuffix(name, ext); ok {
			return s
		}
	}
	return name
}

// run is the order of the steps.
func (b *builder) run() {
	if !b.addDevices() {
		return
	}
	b.addLinks()
	b.orderPorts()
	b.checkCounts()
	b.addVLANs()
	b.addSubnets()
	b.fill()
	b.addTunnels()
	b.assignAddresses()
	b.addQoS()
	b.addSMs()
	b.addRack()
	b.addPower()
	b.addManagement()
	b.checkMTUs()
	b.checkParts()
	b.checkSubnets()
}
