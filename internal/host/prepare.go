package host

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// sysctls are set before there is any interface, so that each one inherits
// them: an idle fabric then carries no frames, and an address can be used at
// once. Files that this kernel does not have are left out.
var sysctls = []struct{ path, value string }{
	// RFC 4862 duplicate address detection would delay addresses by a second.
	{"net/ipv6/conf/default/accept_dad", "0"},
	{"net/ipv6/conf/default/dad_transmits", "0"},
	// No router solicitations and no autoconfiguration (RFC 4861, RFC 4862):
	// addresses come from the topology.
	{"net/ipv6/conf/default/accept_ra", "0"},
	{"net/ipv6/conf/default/autoconf", "0"},
	{"net/ipv6/conf/default/router_solicitations", "0"},
	// MLD reports (RFC 3810) are sent once, when an address is added, and not
	// again after a random second: a switch floods them.
	{"net/ipv6/conf/default/mldv1_unsolicited_report_interval", "1000000000"},
	{"net/ipv6/conf/default/mldv2_unsolicited_report_interval", "1000000000"},
	// Addresses survive `ip link set eth0 down` as IPv4 ones do.
	{"net/ipv6/conf/default/keep_addr_on_down", "1"},
	// A link that fails and comes back does not lose neighbours that the HCA's
	// connections rest on.
	{"net/ipv4/conf/default/arp_evict_nocarrier", "0"},
	{"net/ipv6/conf/default/ndisc_evict_nocarrier", "0"},
}

// prepare is called on a thread in the new, unnamed namespace.
func (n *NS) prepare() error {
	lo, err := n.nl.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("namespace %s: find lo: %w", n.name, err)
	}
	if err := n.nl.LinkSetAlias(lo, n.mark.String()); err != nil {
		return fmt.Errorf("namespace %s: mark: %w%s", n.name, err, remedy(err))
	}
	if err := n.nl.LinkSetUp(lo); err != nil {
		return fmt.Errorf("namespace %s: set lo up: %w", n.name, err)
	}
	for _, s := range sysctls {
		if err := sysctl(s.path, s.value); err != nil {
			return fmt.Errorf("namespace %s: %w", n.name, err)
		}
	}
	return nil
}

// sysctl sets a value in the namespace of the present thread; one that the
// kernel does not know, or a read-only /proc/sys (an unprivileged container),
// is passed over: the values save noise and time, nothing depends on them.
func sysctl(path, value string) error {
	fd, err := unix.Open("/proc/sys/"+path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		_, err = unix.Write(fd, []byte(value))
		unix.Close(fd)
	}
	if err == nil || errors.Is(err, os.ErrNotExist) || err == unix.EROFS {
		return nil
	}
	return fmt.Errorf("sysctl %s=%s: %w%s", path, value, err, remedy(err))
}

// Marker reads whose the namespace is; false if it carries no marker.
func (n *NS) Marker() (Marker, bool) {
	lo, err := n.nl.LinkByName("lo")
	if err != nil {
		return Marker{}, false
	}
	return ParseMarker(lo.Attrs().Alias)
}
