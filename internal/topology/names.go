package topology

import (
	"fmt"
	"slices"
	"strings"
)

// maxName is the length of node, switch and fabric names: they become file
// names under /run, and status prints them in columns.
const maxName = 32

// maxInterface is IFNAMSIZ - 1 of Linux.
const maxInterface = 15

// checkName tells what is wrong with the name of a node (it becomes a network
// namespace), a switch or a fabric.
func checkName(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("the name is empty")
	case len(s) > maxName:
		return fmt.Errorf("the name %q is longer than %d characters", s, maxName)
	case !alnum(s[0]):
		return fmt.Errorf("the name %q does not begin with a letter or digit", s)
	}
	for i := range len(s) {
		if c := s[i]; !alnum(c) && c != '-' && c != '_' && c != '.' {
			return fmt.Errorf("the name %q contains %q", s, c)
		}
	}
	return nil
}

const nameRemedy = "use letters, digits, '-', '_' and '.', at most 32 of them"

// checkInterface tells what is wrong with an interface name.
func checkInterface(s string) error {
	if err := checkName(s); err != nil {
		return err
	}
	switch {
	case len(s) > maxInterface:
		return fmt.Errorf("the interface name %q is longer than %d characters", s, maxInterface)
	case s == "lo":
		return fmt.Errorf("the interface name %q is the loopback's", s)
	case s == "all" || s == "default":
		return fmt.Errorf("the interface name %q has a meaning of its own in /proc/sys/net", s)
	}
	return nil
}

func alnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// synonyms are words that other programs use for keys of ours.
var synonyms = map[string]string{
	"address": "ip", "adress": "ip", "addr": "ip", "addresses": "ip", "ips": "ip", "ipv4": "ip", "ipv6": "ip",
	"speed": "rate", "bandwidth": "rate", "bw": "rate", "latency": "delay", "impair": "loss",
	"ethernet": "mac", "dscp": "roce_dscp", "host": "node", "hosts": "node", "topology": "generate",
	"vlans": "trunk", "tagged": "trunk", "native": "vlan", "pvid": "vlan", "access": "vlan",
}

// suggest returns a remedy that names the known word nearest to got, or the
// list of all of them if none is near.
func suggest(got string, known []string) string {
	best, dist := synonyms[strings.ToLower(got)], 3
	if !slices.Contains(known, best) {
		best = ""
		for _, k := range known {
			if d := distance(strings.ToLower(got), strings.ToLower(k)); d < dist && 3*d <= len(k) {
				best, dist = k, d
			}
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("did you mean %q?", best)
	case len(known) == 0:
		return ""
	case len(known) > 16:
		known = append(known[:16:16], "...")
	}
	return "known: " + strings.Join(known, ", ")
}

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours that turn a into b (optimal string alignment).
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	var prev2, prev, cur [65]int
	for j := range len(b) + 1 {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev = prev, cur
	}
	return prev[len(b)]
}

// compareNames orders eth2 before eth10.
func compareNames(a, b string) int {
	pa, pb := strings.TrimRight(a, "0123456789"), strings.TrimRight(b, "0123456789")
	if pa != pb {
		return strings.Compare(pa, pb)
	}
	na, nb := a[len(pa):], b[len(pb):]
	if len(na) != len(nb) {
		return len(na) - len(nb)
	}
	return strings.Compare(na, nb)
}

// CheckName tells what is wrong with the name of a device or a fabric.
func CheckName(s string) error { return checkName(s) }
