package topology

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each file of testdata/bad is a topology, a line ---, and all its problems in
// order.
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text, _, ok := strings.Cut(string(data), "---\n")
			if !ok {
				t.Fatal("no line ---")
			}
			s, ps := Parse("bad.toml", []byte(text))
			if (s == nil) != (len(ps.Errors()) > 0) {
				t.Errorf("a Spec with errors, or none without: %v", ps)
			}
			if len(ps) == 0 {
				t.Error("no problem found")
			}
			for _, p := range ps {
				if p.Msg == "" || p.Line == 0 && p.Key != "" {
					t.Errorf("no message or no line: %#v", p)
				}
			}
			golden(t, filepath.Join("bad", filepath.Base(file)), []byte(text+"---\n"+ps.Error()+"\n"))
		})
	}
}
