package topology

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cnuas/topologies"
)

// Any bytes give problems or a Spec that is valid, that can be routed, and that
// survives JSON; never a panic.
func FuzzParse(f *testing.F) {
	for _, name := range Shipped() {
		data, err := topologies.Files.ReadFile(name + ".toml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	files, _ := filepath.Glob("testdata/*/*.t*")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		text, _, _ := strings.Cut(string(data), "---\n")
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, ps := Parse("fuzz.toml", data)
		if (s == nil) != (len(ps.Errors()) > 0) {
			t.Fatalf("a Spec with errors, or none without: %v", ps)
		}
		if s == nil {
			return
		}
		if err := s.Validate(); err != nil {
			t.Fatalf("not valid: %v", err)
		}
		if l := s.Load(); l.Scale < 1 || l.AllScale < l.Scale && len(s.Nodes) > 1 {
			t.Fatalf("load %+v", l)
		}
		if len(s.Nodes) < 64 {
			s.Routes()
		}
		if _, err := json.Marshal(s); err != nil {
			t.Fatal(err)
		}
	})
}
