package uverbs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cnuas/hca"
)

// TestSysfs: the files state what the device is, follow it, and readers never
// see half a file.
func TestSysfs(t *testing.T) {
	r := newRig(t, Limits{})
	dir := t.TempDir()
	if err := WriteSysfs(dir, r.node); err != nil {
		t.Fatal(err)
	}
	if WriteSysfs(dir, r.node) == nil {
		t.Error("written twice")
	}
	read := func(path string) string {
		b, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			return err.Error()
		}
		return strings.TrimSuffix(string(b), "\n")
	}
	const port = "infiniband/rxe0/ports/1/"
	for path, want := range map[string]string{
		"infiniband_verbs/abi_version":         "6",
		"infiniband_verbs/uverbs0/ibdev":       "rxe0",
		"infiniband_verbs/uverbs0/abi_version": "2",
		"infiniband_verbs/uverbs0/dev":         "1:3",
		"infiniband/rxe0/node_type":            "1: CA",
		"infiniband/rxe0/node_guid":            "0000:0000:0000:0001",
		port + "state":                         "4: ACTIVE",
		port + "phys_state":                    "5: LinkUp",
		port + "rate":                          "100 Gb/sec (4X EDR)",
		port + "link_layer":                    "Ethernet",
		port + "gids/0":                        "0000:0000:0000:0000:0000:0000:0000:0000",
		port + "gids/1":                        "0000:0000:0000:0000:0000:ffff:0000:0001",
		port + "gid_attrs/types/1":             "RoCE v2",
		port + "gid_attrs/ndevs/1":             "eth0",
		port + "counters/port_xmit_packets":    "0",
	} {
		if got := read(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, port+"gid_attrs/types/0")); err == nil {
		t.Error("an empty GID has a type")
	}
	r.srv.do(func() { r.dev.LinkChanged(false) })
	until(t, "the port to be down", func() bool { return read(port+"state") == "1: DOWN" })
	r.srv.do(func() { r.dev.SetGID(1, hca.GIDEntry{}) })
	until(t, "the GID to go", func() bool {
		_, err := os.Stat(filepath.Join(dir, port+"gid_attrs/types/1"))
		return os.IsNotExist(err)
	})
	if left, _ := filepath.Glob(filepath.Join(dir, port, "*~")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestLinkRate(t *testing.T) {
	for bps, want := range map[int64]string{
		1: "2.5 Gb/sec (1X SDR)", 2e9: "2.5 Gb/sec (1X SDR)", 10e9: "10 Gb/sec (1X QDR)", 25e9: "25 Gb/sec (1X EDR)",
		40e9: "40 Gb/sec (4X FDR10)", 99e9: "50 Gb/sec (1X HDR)", 100e9: "100 Gb/sec (4X EDR)", 400e9: "400 Gb/sec (4X NDR)", 1e13: "800 Gb/sec (4X XDR)",
	} {
		if _, _, got := linkRate(bps); got != want {
			t.Errorf("%d b/s: %s, want %s", bps, got, want)
		}
	}
}
