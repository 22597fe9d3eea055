package e2e

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// ibStar is a topology of n nodes on one InfiniBand switch, all links alike.
func ibStar(prefix string, n int, link string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[[switch]]\nname = \"%ss\"\nkind = \"ib\"\n[defaults.link]\n%s\n", prefix, link)
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "[[node]]\nname = \"%s%d\"\n[[link]]\na = \"%s%d:ib0\"\nb = \"%ss:%d\"\n", prefix, i, prefix, i, prefix, i)
	}
	return b.String()
}

var inet = regexp.MustCompile(`inet (\d+\.\d+\.\d+\.\d+)/`)

// address is the first IPv4 address of an interface of a node.
func (l *lab) address(node, dev string) string {
	l.t.Helper()
	out, err := exec.Command("ip", "-n", node, "-4", "addr", "show", "dev", dev).CombinedOutput()
	m := inet.FindSubmatch(out)
	if err != nil || m == nil {
		l.t.Fatalf("%s: %s has no address: %v\n%s", node, dev, err, out)
	}
	return string(m[1])
}
