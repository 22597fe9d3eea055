package rdma

import (
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
)

// Port is what the kernel says of a device's port.
type Port struct {
	GIDs     []GID
	Counters map[string]uint64 // of the driver (hw_counters), those that count
	QPs      int               // queue pairs, the kernel's own for management (QP1) included
}

// GID is an entry of the GID table that is in use.
type GID struct {
	Index int
	Addr  netip.Addr
	Type  string // "RoCE v2"; empty where there is no choice, as with iWARP
}

// Query reads the state of a device. What the kernel does not tell is left out.
func Query(name string) Port {
	port := filepath.Join(classDir, name, "ports/1")
	p := Port{Counters: map[string]uint64{}}
	for i, miss := 0, 0; miss < 2; i++ { // entries in use come first, but for holes
		b, err := os.ReadFile(filepath.Join(port, "gids", strconv.Itoa(i)))
		if err != nil {
			break
		}
		a, ok := parseGID(strings.TrimSpace(string(b)))
		if !ok {
			miss++
			continue
		}
		t, _ := os.ReadFile(filepath.Join(port, "gid_attrs/types", strconv.Itoa(i)))
		p.GIDs = append(p.GIDs, GID{i, a, strings.TrimSpace(string(t))})
	}
	list, _ := filepath.Glob(filepath.Join(port, "hw_counters/*"))
	for _, f := range list {
		b, err := os.ReadFile(f)
		if err != nil || filepath.Base(f) == "lifespan" { // of cached values, in milliseconds
			continue
		}
		if v, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64); err == nil {
			p.Counters[filepath.Base(f)] = v
		}
	}
	res, _ := netlink.RdmaResourceList()
	for _, r := range res {
		if r.Name == name {
			p.QPs = int(r.RdmaResourceSummaryEntries["qp"])
		}
	}
	return p
}
