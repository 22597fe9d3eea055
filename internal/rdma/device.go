package rdma

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

// Where the kernel shows its devices.
const (
	classDir = "/sys/class/infiniband"
	devDir   = "/dev/infiniband"
)

// awaitTime bounds how long the kernel may take to make a device ready. GIDs
// appear up to 2 s after the device.
const awaitTime = 15 * time.Second

// Await waits until the device can be used: its port is active, and for RoCE
// each of the addresses is in its GID table. addrs are the interface's.
func Await(ctx context.Context, k Kind, name string, addrs []netip.Addr) error {
	ctx, cancel := context.WithTimeout(ctx, awaitTime)
	defer cancel()
	port := filepath.Join(classDir, name, "ports/1")
	var state string
	err := until(ctx, func() bool {
		b, _ := os.ReadFile(filepath.Join(port, "state")) // "4: ACTIVE"
		state = strings.TrimSpace(string(b))
		return strings.HasPrefix(state, "4:")
	})
	if err != nil {
		return fmt.Errorf("RDMA device %s: the port does not become active within %v: state %q", name, awaitTime, state)
	}
	if k != RXE {
		return nil // an iWARP port has one GID, its MAC address
	}
	var missing []string
	err = until(ctx, func() bool {
		have := gids(port)
		missing = missing[:0]
		for _, a := range addrs {
			if !have[netip.AddrFrom16(a.As16())] {
				missing = append(missing, a.String())
			}
		}
		return len(missing) == 0
	})
	if err != nil {
		return fmt.Errorf("RDMA device %s: no GID for %s within %v", name, strings.Join(missing, ", "), awaitTime)
	}
	return nil
}

// gids reads the GID table of a port.
func gids(port string) map[netip.Addr]bool {
	m := map[netip.Addr]bool{}
	list, _ := filepath.Glob(filepath.Join(port, "gids/*"))
	for _, f := range list {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // an index that is not in use
		}
		if a, ok := parseGID(strings.TrimSpace(string(b))); ok {
			m[a] = true
		}
	}
	return m
}

// parseGID reads eight groups of four digits; false for the zero GID.
func parseGID(s string) (netip.Addr, bool) {
	raw, err := hex.DecodeString(strings.ReplaceAll(s, ":", ""))
	if err != nil || len(raw) != 16 {
		return netip.Addr{}, false
	}
	a := netip.AddrFrom16([16]byte(raw))
	return a, a != netip.IPv6Unspecified()
}

// Files returns the character devices below /dev/infiniband that belong to the
// device, such as uverbs0 and umad0, in order. They appear with the device.
func Files(name string) []string {
	var l []string
	for _, class := range []string{"infiniband_verbs", "infiniband_mad"} {
		list, _ := filepath.Glob("/sys/class/" + class + "/*/ibdev")
		for _, f := range list {
			if b, err := os.ReadFile(f); err == nil && strings.TrimSpace(string(b)) == name {
				l = append(l, filepath.Base(filepath.Dir(f)))
			}
		}
	}
	sort.Strings(l)
	return l
}
