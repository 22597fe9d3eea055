package topology

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with testdata/name, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update)", err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got; run with -update if it is meant):\n%s", path, d)
	}
}

// Spec and routes of every shipped topology, twice the same.
func TestShipped(t *testing.T) {
	names := Shipped()
	if len(names) < 5 {
		t.Fatalf("shipped: %v", names)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			var out [2][]byte
			for i := range out {
				s, err := Load(name)
				if err != nil {
					t.Fatal(err)
				}
				if len(s.Warnings) > 0 {
					t.Errorf("warnings: %v", s.Warnings)
				}
				if err := s.Validate(); err != nil {
					t.Error(err)
				}
				if s.Name != name {
					t.Errorf("the name is %q", s.Name)
				}
				out[i] = encode(t, s)
			}
			if !bytes.Equal(out[0], out[1]) {
				t.Error("two runs differ")
			}
			golden(t, name+".json", out[0])
		})
	}
}

// encode writes a Spec with its routes, short lists on one line.
func encode(t *testing.T, s *Spec) []byte {
	t.Helper()
	b, err := json.Marshal(struct {
		*Spec
		Routes [][]Route
	}{s, s.Routes()})
	if err != nil {
		t.Fatal(err)
	}
	var back Spec
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	back.File, back.Warnings = s.File, s.Warnings
	if d := cmp.Diff(s, &back, compareNetip); d != "" {
		t.Errorf("JSON loses something:\n%s", d)
	}
	var buf bytes.Buffer
	if err := json.Indent(&buf, b, "", " "); err != nil {
		t.Fatal(err)
	}
	return compactLists(buf.Bytes())
}
