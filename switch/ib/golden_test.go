package ib

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden tables under testdata")

// golden runs a scenario twice, wants the same text both times, and compares
// it with testdata/name.golden.
func golden(t *testing.T, name string, run func() string) {
	t.Helper()
	got, again := run(), run()
	if got != again {
		t.Errorf("%s: two runs differ:\n%s\nand\n%s", name, got, again)
	}
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run the test with -update", err)
	}
	if got != string(want) {
		t.Errorf("%s:\n got:\n%s\nwant:\n%s", name, got, want)
	}
}
