package topology

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(name, text string) string {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	s, err := Load(write("mine.toml", pair("")))
	if err != nil || s.Name != "mine" || s.File != "mine.toml" {
		t.Errorf("%+v, %v", s, err)
	}
	s, err = Load(write(filepath.Join(dir, "named.toml"), pair("name = 'other'")))
	if err != nil || s.Name != "other" {
		t.Errorf("%+v, %v", s, err)
	}
	// A file comes before a shipped topology of its name.
	for _, path := range []string{"two-hosts", "two-hosts.toml"} {
		if s, err = Load(path); err != nil || s.Links[0].Rate != 10e9 || s.Nodes[0].Name != "h1" {
			t.Errorf("shipped: %+v, %v", s, err)
		}
	}
	write("two-hosts.toml", pair(""))
	if s, err = Load("two-hosts.toml"); err != nil || s.Links[0].Rate != DefaultRate {
		t.Errorf("the file: %+v, %v", s, err)
	}
	if s, err = Load(write("warns.toml", pair("[defaults.node]\nmtu = 600"))); err != nil || len(s.Warnings) != 1 {
		t.Errorf("warnings: %v, %v", s, err)
	}
	var ps Problems
	_, err = Load(write("bad.toml", pair("color = 1\n[defaults.node]\nmtu = 600")))
	if !errors.As(err, &ps) || len(ps.Errors()) != 1 || len(ps.Warnings()) != 1 || ps.Err() == nil || ps.Warnings().Err() != nil {
		t.Errorf("%v", err)
	}
	if lines := strings.Split(ps.Error(), "\n"); len(lines) != 2 || !strings.HasPrefix(lines[0], "bad.toml:1: color: unknown key") {
		t.Errorf("%q", lines)
	}
	for path, want := range map[string]string{
		"two-hots":        `did you mean "two-hosts"?`,
		"nothing-like-it": "none of that name is shipped (known: hybrid",
		"./two-hosts":     "topology ./two-hosts: no such file",
		".":               "is a directory",
		"10.toml/x":       "topology 10.toml/x: no such file",
	} {
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Load(%q): %v, want %q", path, err, want)
		}
	}
	if _, err := Load(write("a b.toml", pair(""))); err == nil || !strings.Contains(err.Error(), `add name = "..."`) {
		t.Errorf("a name that a fabric cannot have: %v", err)
	}
}

// Sizes that no honest file has end soon and without a crash.
func TestHugeFiles(t *testing.T) {
	for name, text := range map[string]string{
		"too long":      strings.Repeat("#", maxFile+1),
		"nested lists":  "a = " + strings.Repeat("[", maxFile/2),
		"nested, valid": "a = " + strings.Repeat("[", maxFile/4) + strings.Repeat("]", maxFile/4),
		"nested tables": "a = " + strings.Repeat("{a=", maxFile/8),
		"dotted key":    "a" + strings.Repeat(".a", 2000) + " = 1",
		"nodes":         strings.Repeat("[[node]]\nname='x'\n", maxFile/20),
		"many nodes":    strings.Repeat("[[node]]\n", maxFile/10),
		"many links":    strings.Repeat("[[link]]\na='h1'\nb='h2'\n", maxFile/40) + "[[node]]\nname='h1'\n[[node]]\nname='h2'\n",
		"many ips":      pair("") + "[[node]]\nname='h3'\nip=[" + strings.Repeat("'10.0.0.1/24',", maxFile/20) + "]",
	} {
		start := time.Now()
		if s, ps := Parse("huge.toml", []byte(text)); s != nil || len(ps) == 0 {
			t.Errorf("%s: accepted", name)
		}
		t.Logf("%s: %v", name, time.Since(start))
	}
}
