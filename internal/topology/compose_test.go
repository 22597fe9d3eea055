package topology

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// composer writes topologies in correct TOML whose contents are chosen by the
// bytes of the fuzzer: most are wrong somewhere, and many are wrong only in
// how the parts fit together, which random bytes never reach.
type composer struct {
	choice []byte
	b      strings.Builder
}

func (c *composer) pick(n int) int {
	if len(c.choice) == 0 {
		return 0
	}
	x := int(c.choice[0]) % n
	c.choice = c.choice[1:]
	return x
}

// key writes one of the lines, or more often nothing.
func (c *composer) key(lines ...string) {
	if c.pick(7) == 0 {
		c.b.WriteString(lines[c.pick(len(lines))] + "\n")
	}
}

func (c *composer) text() string {
	c.key(`name = "x"`, `seed = 7`, `ipv6 = false`)
	c.b.WriteString("[defaults.switch]\n")
	c.key(`mode = "router"`, `mode = "router"`, `mode = "bridge"`, `ports = 3`, `qos = "q"`)
	c.b.WriteString("[qos]\n")
	c.key(`pfc = false`, `lossless = [0, 1, 2, 3, 4, 5, 6, 7]`, `lossless = []`, `buffer = "100KB"`, `xoff = "5KB"`, `headroom = "1MB"`, `trust = "pcp"`)
	c.b.WriteString("[qos.q]\n")
	c.key(`xon = "5KB"`, `xoff = "6KB"`, `ecn = { kmin = "1GB" }`, `ecn = { kmax = "1B" }`, `buffer = "10GB"`)
	generated := c.pick(4) == 0
	if generated {
		c.b.WriteString("[generate]\n")
		c.b.WriteString([]string{"type = 'star'\nhosts = 3\n", "type = 'leaf-spine'\nspines = 2\nleaves = 2\nhosts_per_leaf = 2\n", "type = 'fat-tree'\nk = 2\n"}[c.pick(3)])
	}
	nodes, switches := 1+c.pick(5), c.pick(5)
	for i := range nodes {
		fmt.Fprintf(&c.b, "[[node]]\nname = 'n%d'\n", i+1)
		c.key(`ip = "10.0.0.1/24"`, `ip = ["10.0.1.1/24", "fd00::9/64"]`, `ip = []`, `ip = ["10.0.0.2/31", "10.0.0.1/30"]`, `ip = "fd00:0:0:1::1/128"`)
		c.key(`gateway = "10.0.0.254"`, `gateway = ["10.0.1.9", "fe80::1"]`)
		c.key(`mtu = 68`, `mtu = 1279`, `mtu = 65521`, `mac = "02:01:00:01:00:00"`)
		c.key(`stack = "none"`, `roce_dscp = 0`, `qos = "q"`, `qos = "nope"`)
		if c.pick(6) == 0 {
			fmt.Fprintf(&c.b, "[[node.port]]\nname = 'eth%d'\n", c.pick(3))
			c.key(`ip = "10.0.0.7/24"`, `mtu = 9000`, `gateway = "10.0.0.6"`)
		}
	}
	for i := range switches {
		fmt.Fprintf(&c.b, "[[switch]]\nname = 's%d'\n", i+1)
		c.key(`mode = "router"`, `mode = "bridge"`)
		c.key(`ip = "10.0.0.254/24"`, `vlan_ip = { 10 = "10.0.1.254/24" }`, `vlan_ip = { 1 = ["10.0.0.3/30", "fd00::1/64"] }`, `qos = "q"`, `ports = 2`)
	}
	// A tree of switches with the nodes at it, and now and then one link more.
	for i := range nodes {
		if switches == 0 {
			c.link(fmt.Sprintf("n%d", i+1), fmt.Sprintf("n%d", (i^1)+1))
		} else {
			c.link(fmt.Sprintf("n%d", i+1), fmt.Sprintf("s%d", 1+c.pick(switches)))
		}
	}
	for i := 1; i < switches; i++ {
		c.link(fmt.Sprintf("s%d", i+1), fmt.Sprintf("s%d", 1+c.pick(i)))
	}
	for range c.pick(3) * c.pick(3) {
		c.link([]string{"n1", "s1", "n2", "s2", "h1", "core1", "leaf1:1"}[c.pick(7)], []string{"s1", "s3", "s4", "s2:2", "n1:eth1", "spine1", "h2"}[c.pick(7)])
	}
	if c.pick(3) == 0 {
		c.rack()
	}
	return c.b.String()
}

func (c *composer) rack() {
	for range c.pick(3) {
		c.b.WriteString("[[rack.segment]]\n")
		c.key(`name = "b1"`, `name = "bus1"`, `baud = 115200`, `parity = "none"`, `turnaround = "0s"`, `echo = true`)
	}
	for range 1 + c.pick(5) {
		fmt.Fprintf(&c.b, "[[rack.shelf]]\nkind = '%s'\n", []string{"orv3-psu", "orv3-bbu", "hpr-psu", "hpr-bbu", "rpu", "orv2-psu"}[c.pick(6)])
		c.key(`slots = 3`, `slots = [2, 1]`, `slots = []`, `slots = 6`, `slots = 1`)
		c.key(`address = 144`, `address = [7, 8]`, `address = 250`, `address = []`, `pmm = false`, `pmm = true`, `pmm = 9`)
		c.key(`segment = "bus1"`, `segment = "bus0"`, `baud = 9600`, `feeds = ["n1"]`, `feeds = []`, `backs = "shelf1"`, `backs = ""`)
	}
	if c.pick(3) == 0 {
		c.b.WriteString("[rack.bmc]\n")
		c.key(`ports = []`, `ports = ["bus1", "", "", ""]`, `name = "n1"`, `ports = ["", "", "", "", "bus0"]`)
	}
}

func (c *composer) link(a, b string) {
	fmt.Fprintf(&c.b, "[[link]]\na = '%s'\nb = '%s'\n", a, b)
	c.key(`vlan = 10`, `vlan = 10`, "vlan = 10\ntrunk = [20]", `trunk = [10, 20]`, `trunk = []`)
	c.key(`rate = "1Mbps"`, `rate = "1.6Tbps"`, `delay = "1s"`, `length = "10m"`, `up = false`, `loss = 0.5`)
}

func checkComposed(t *testing.T, choice []byte) (valid bool) {
	text := (&composer{choice: choice}).text()
	s, ps := Parse("compose.toml", []byte(text))
	if (s == nil) != (len(ps.Errors()) > 0) {
		t.Fatalf("a Spec with errors, or none without: %v\n%s", ps, text)
	}
	for _, p := range ps {
		if p.Line == 0 && p.Key != "" {
			t.Errorf("no line: %v\n%s", p, text)
		}
	}
	if s == nil {
		return false
	}
	if err := s.Validate(); err != nil {
		t.Fatalf("not valid: %v\n%s", err, text)
	}
	checkRoutes(t, s)
	return true
}

func TestComposed(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	const runs = 1500
	valid := 0
	choice := make([]byte, 200)
	for range runs {
		for i := range choice {
			choice[i] = byte(rnd.Uint32())
		}
		if checkComposed(t, choice) {
			valid++
		}
	}
	if valid < runs/20 {
		t.Errorf("%d of %d topologies are valid: too few to prove anything", valid, runs)
	}
	t.Logf("%d of %d valid", valid, runs)
}

func FuzzCompose(f *testing.F) {
	f.Add([]byte("a plain seed, and a little more of it to have some links"))
	f.Add([]byte{1, 0, 0, 1, 1, 1, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, choice []byte) { checkComposed(t, choice) })
}
