package daemon

import (
	"strings"
	"testing"

	"cnuas/internal/topology"
)

// TestDevice: how people name devices.
func TestDevice(t *testing.T) {
	spec, problems := topology.Parse("x", []byte("[[rack.shelf]]\nkind = \"orv3-psu\"\n[[rack.shelf]]\nname = \"pump\"\nkind = \"rpu\"\n"))
	if spec == nil {
		t.Fatal(problems)
	}
	d := &Daemon{cfg: Config{Spec: spec}}
	for _, c := range []struct{ name, want, err string }{
		{"shelf1/psu3", "shelf1/psu3", ""},
		{"shelf1/3", "shelf1/psu3", ""},
		{"pump/rpu", "pump/rpu", ""},
		{"pump", "pump/rpu", ""},
		{"shelf1", "", "shelf1 is a shelf: name one of its devices, such as shelf1/psu1; it has psu1, psu2"},
		{"shelf1/psu9", "", `no "psu9"; it has psu1`},
		{"shelf7", "", "it has shelf1, pump"},
	} {
		s, x, err := d.device(c.name)
		switch {
		case c.err == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.err == "":
			if got := s.Name + "/" + x.Name; got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
		case err == nil || !strings.Contains(err.Error(), c.err):
			t.Errorf("%s: %v, want %q", c.name, err, c.err)
		}
	}
}
