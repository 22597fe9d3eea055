package e2e

import "fmt"

// star is a topology of n hosts at one switch, with the test's own names.
func star(prefix string, n int, rate, extra string) string {
	s := fmt.Sprintf("[defaults]\nlink = { rate = %q, delay = \"500ns\" }\nnode = { mtu = 4200 }\n%s\n[[switch]]\nname = \"%ss\"\n", rate, extra, prefix)
	for i := 1; i <= n; i++ {
		s += fmt.Sprintf("[[node]]\nname = \"%s%d\"\nip = [\"10.0.0.%d/24\", \"fd00::%d/64\"]\n[[link]]\na = \"%s%d:eth0\"\nb = \"%ss:%d\"\n", prefix, i, i, i, prefix, i, prefix, i)
	}
	return s
}
