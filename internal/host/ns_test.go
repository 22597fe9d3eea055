package host

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"cnuas/internal/simtest"
)

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"h1": true, "leaf-1.a_b": true, strings.Repeat("x", MaxName): true,
		"": false, ".": false, "..": false, "-h": false, ".h": false, "a/b": false, "a b": false,
		"a\n": false, strings.Repeat("x", MaxName+1): false, "h\x00": false, "hä": false,
	} {
		if err := ValidName(name); (err == nil) != ok {
			t.Errorf("ValidName(%q): %v", name, err)
		}
	}
	for name, ok := range map[string]bool{
		"eth0": true, "a23456789012345": true, "-": true,
		"": false, ".": false, "..": false, "a234567890123456": false, "a/b": false, "a b": false, "a:b": false, "tap%d": false,
	} {
		if err := ValidIfName(name); (err == nil) != ok {
			t.Errorf("ValidIfName(%q): %v", name, err)
		}
	}
}

func TestMarkerRoundTrip(t *testing.T) {
	m := NewMarker("two-hosts")
	if got, ok := ParseMarker(m.String()); !ok || got != m {
		t.Errorf("%q read as %+v, %v", m.String(), got, ok)
	}
	if m == NewMarker("two-hosts") {
		t.Error("two runs of a fabric have the same token")
	}
	for _, s := range []string{"", "cnuas", "cnuas f", "other f t", "cnuas f t x", "cnuas /f t"} {
		if m, ok := ParseMarker(s); ok {
			t.Errorf("%q was taken for marker %+v", s, m)
		}
	}
}

func FuzzParseMarker(f *testing.F) {
	f.Add("cnuas two-hosts 0123456789abcdef")
	f.Add("some alias of a user")
	f.Fuzz(func(t *testing.T, s string) {
		if m, ok := ParseMarker(s); ok {
			if again, ok := ParseMarker(m.String()); !ok || again != m {
				t.Errorf("%q: %+v is not stable", s, m)
			}
		}
	})
}

func TestCreateAndDelete(t *testing.T) {
	simtest.Root(t)
	n := newNS(t, "a")
	if out := command(t, "ip", "netns", "list"); !strings.Contains(out, n.Name()) {
		t.Errorf("ip netns list does not show %s:\n%s", n.Name(), out)
	}
	if out := command(t, "ip", "-n", n.Name(), "link", "show", "lo"); !strings.Contains(out, ",UP") {
		t.Errorf("lo is not up:\n%s", out)
	}
	again, err := Open(n.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.Inode() != n.Inode() {
		t.Errorf("inode %d, opened again %d", n.Inode(), again.Inode())
	}
	if m, ok := again.Marker(); !ok || m != n.mark {
		t.Errorf("marker %+v, %v; created with %+v", m, ok, n.mark)
	}
	if err := again.Delete(); !errors.Is(err, ErrNotOurs) {
		t.Errorf("a namespace that was only opened was deleted: %v", err)
	}
	if err := n.Delete(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(n.Path()); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", n.Path(), err)
	}
	if _, err := Open(n.Name()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("open after delete: %v", err)
	}
}

// What was there before is refused and stays as it was.
func TestForeignIsUntouched(t *testing.T) {
	simtest.Root(t)
	simtest.Need(t, "ip")
	foreign := nsName(t, "foreign")
	command(t, "ip", "netns", "add", foreign)
	command(t, "ip", "-n", foreign, "link", "set", "lo", "alias", "theirs")
	if _, err := Create(foreign, NewMarker("test"), nil); !errors.Is(err, ErrExists) {
		t.Errorf("create over a foreign namespace: %v", err)
	}
	if _, err := remove(foreign, "token"); !errors.Is(err, ErrNotOurs) {
		t.Errorf("remove of a foreign namespace: %v", err)
	}
	if out := command(t, "ip", "-n", foreign, "link", "show", "lo"); !strings.Contains(out, "alias theirs") {
		t.Errorf("the foreign namespace was changed:\n%s", out)
	}

	file := nsName(t, "file")
	if err := os.WriteFile(Path(file), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(file, NewMarker("test"), nil); !errors.Is(err, ErrExists) {
		t.Errorf("create over a file: %v", err)
	}
	if _, err := remove(file, "token"); !errors.Is(err, ErrNotOurs) {
		t.Errorf("remove of a foreign file: %v", err)
	}
	if _, err := Open(file); err == nil || !strings.Contains(err.Error(), "not a network namespace") {
		t.Errorf("open of a plain file: %v", err)
	}
}

// A namespace that took the name after ours went away is not deleted.
func TestDeleteAfterReplacement(t *testing.T) {
	simtest.Root(t)
	n := newNS(t, "r")
	command(t, "ip", "netns", "del", n.Name())
	command(t, "ip", "netns", "add", n.Name())
	if err := n.Delete(); !errors.Is(err, ErrNotOurs) {
		t.Errorf("delete of somebody else's namespace: %v", err)
	}
	command(t, "ip", "-n", n.Name(), "link")
}

func TestCreateUndoesOnError(t *testing.T) {
	simtest.Root(t)
	name := nsName(t, "undo")
	stop := errors.New("stop")
	if _, err := Create(name, NewMarker("test"), func(uint64) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Lstat(Path(name)); !os.IsNotExist(err) {
		t.Errorf("the name exists: %v", err)
	}
}

// Programs in the namespace keep it, without a name, as with `ip netns del`.
func TestDeleteWhileInUse(t *testing.T) {
	simtest.Root(t)
	n := newNS(t, "used")
	c := exec.Command("ip", "netns", "exec", n.Name(), "sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { c.Process.Kill(); c.Wait() }()
	if err := n.Delete(); err != nil {
		t.Errorf("delete: %v", err)
	}
	if _, err := os.Lstat(n.Path()); !os.IsNotExist(err) {
		t.Errorf("the name is left: %v", err)
	}
}
