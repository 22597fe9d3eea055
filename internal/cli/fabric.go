package cli

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sort"
	"strings"

	"cnuas/internal/control"
	"cnuas/internal/daemon"
)

// dialFabric connects to the daemon of the named fabric; with no name to that
// of the only one that is up.
func dialFabric(name string) (*net.UnixConn, error) {
	if name == "" {
		live := daemon.Live()
		switch len(live) {
		case 0:
			return nil, fmt.Errorf("no fabric is up; bring one up with: cnuas up two-hosts")
		case 1:
			name = live[0].Name
		default:
			return nil, fmt.Errorf("several fabrics are up (%s): say which with --fabric NAME", names(live))
		}
	}
	if !daemon.ValidName(name) {
		return nil, fmt.Errorf("%q cannot be the name of a fabric", name)
	}
	c, err := control.Dial(daemon.Socket(name))
	if errors.Is(err, os.ErrPermission) {
		return nil, fmt.Errorf("fabric %s: permission denied: run as root (sudo cnuas ...)", name)
	}
	if err != nil {
		for _, d := range daemon.Dead() {
			if d.Name == name {
				return nil, fmt.Errorf("the daemon of fabric %s is dead; cnuas down %s removes what it left", name, name)
			}
		}
		for _, f := range daemon.Live() {
			if f.Name == name {
				return nil, fmt.Errorf("fabric %s is coming up or going down (daemon %d); try again in a while, or end it with cnuas down %s", name, f.PID, name)
			}
		}
		return nil, fmt.Errorf("fabric %s is not up%s", name, alternatives())
	}
	return c, nil
}

// dialPort connects to the daemon of the fabric that has the device of a port.
// With several fabrics up, a device that more than one has needs the name.
func dialPort(fabric, port string) (*net.UnixConn, error) {
	device, _, _ := strings.Cut(port, ":")
	live := daemon.Live()
	if fabric != "" || len(live) < 2 {
		return dialFabric(fabric)
	}
	var found []daemon.Instance
	for _, f := range live {
		if has(f.Name, device) {
			found = append(found, f)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no fabric that is up (%s) has a device %q; cnuas status lists ports", names(live), device)
	case 1:
		return dialFabric(found[0].Name)
	}
	return nil, fmt.Errorf("several fabrics (%s) have a device %q: say which with --fabric NAME", names(found), device)
}

// has asks a fabric whether it has a device.
func has(fabric, device string) bool {
	c, err := dialFabric(fabric)
	if err != nil {
		return false
	}
	defer c.Close()
	var list []string
	return control.Call(c, daemon.OpDevices, nil, &list) == nil && slices.Contains(list, device)
}

// dialNode connects to the daemon of the fabric that has the node.
func dialNode(fabric, node string) (*net.UnixConn, string, error) {
	if fabric == "" {
		for _, f := range daemon.Live() {
			for _, n := range f.Nodes {
				if n == node {
					fabric = f.Name
				}
			}
		}
		if fabric == "" {
			return nil, "", fmt.Errorf("no fabric that is up has a node %q; cnuas status lists nodes", node)
		}
	}
	c, err := dialFabric(fabric)
	return c, fabric, err
}

func alternatives() string {
	if l := daemon.Live(); len(l) > 0 {
		return " (these are: " + names(l) + ")"
	}
	return ""
}

func names(l []daemon.Instance) string {
	var s []string
	for _, f := range l {
		s = append(s, f.Name)
	}
	sort.Strings(s)
	return strings.Join(s, ", ")
}
