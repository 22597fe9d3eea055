// Command smtool measures the subnet manager for scripts/bench/sm.
//
//	smtool export FILE        the fabric as ibnetdiscover prints it, for ibsim
//	smtool run [flags] FILE   brings the fabric up and prints a line of key=value
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"time"

	"cnuas/internal/sim"
	"cnuas/internal/topology"
	"cnuas/internal/wire/mad"
	"cnuas/sm"
	"cnuas/sm/route"
)

var (
	engine  = flag.String("engine", "minhop", "routing engine")
	smps    = flag.Int("smps", 4, "SMPs outstanding")
	verify  = flag.Bool("verify", false, "follow all paths afterwards, and look for credit loops")
	attrs   = flag.Bool("attrs", false, "print the SMPs by attribute, one a line")
	profile = flag.String("cpuprofile", "", "write a CPU profile of the bring-up")
)

func main() {
	if len(os.Args) < 3 {
		fail("usage: smtool export FILE | smtool run [flags] FILE")
	}
	cmd := os.Args[1]
	flag.CommandLine.Parse(os.Args[2:])
	spec, err := topology.Load(flag.Arg(0))
	if err != nil {
		fail("%v", err)
	}
	switch cmd {
	case "export":
		os.Stdout.Write(topology.ExportIBNet(spec))
	case "run":
		run(spec)
	default:
		fail("unknown command %s", cmd)
	}
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "smtool: "+format+"\n", args...)
	os.Exit(1)
}

func run(spec *topology.Spec) {
	begin := time.Now()
	n := build(spec)
	built := time.Since(begin)
	runtime.GC() // what building left is not the manager's
	m := n.manage(spec.Nodes[spec.SMs[0].Node].Name, sm.Config{Engine: route.Engine(*engine), MaxSMPs: *smps, Strict: true})
	stop := func() {}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			fail("%v", err)
		}
		pprof.StartCPUProfile(f)
		stop = func() { pprof.StopCPUProfile(); f.Close() }
	}
	begin = time.Now()
	fired := n.eng.Fired()
	m.Start()
	for m.Subnet() == nil && n.eng.Now() < 1000*sim.Second {
		n.eng.RunUntil(n.eng.Now() + sim.Millisecond)
	}
	wall := time.Since(begin)
	stop()
	s := m.Status()
	bad := n.inactive()
	if s.State != mad.SMMaster.String() || s.Stats.SweepErrors > 0 || bad > 0 || s.Routing.Engine != *engine {
		fail("not up: %s, %d ports not active, %v", s.State, bad, s.Errors)
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	if *verify {
		if v := m.Subnet().Verify(); !v.OK() || v.Paths == 0 {
			fail("the routes are wrong: %v", v.Lines())
		}
	}
	if *attrs {
		for _, a := range s.Attributes {
			fmt.Printf("%04x %d %d\n", uint16(a.Attr), a.Get, a.Set)
		}
		return
	}
	fmt.Printf("wall=%.3f virtual=%.4f built=%.2f nodes=%d switches=%d smps=%d events=%d heap=%d lanes=%d\n", wall.Seconds(), s.Stats.LastHeavy.Seconds(), built.Seconds(),
		s.Stats.Nodes, s.Stats.Switches, s.Stats.SMPs, n.eng.Fired()-fired, mem.HeapAlloc>>20, s.Routing.VLs)
}
