package cli

import (
	"flag"
	"fmt"

	"cnuas/internal/daemon"
	"cnuas/internal/status"
	"cnuas/internal/topology"
	"cnuas/internal/vm"
)

// warn prints what is questionable about a topology, and the scale that this
// machine would need.
func (a *app) warn(s *topology.Spec) {
	for _, w := range s.Warnings {
		fmt.Fprintln(a.err, w)
	}
	if e := s.Load(); e.Scale > 1 {
		fmt.Fprintf(a.err, "%s: %v: bytes then keep, times are multiplied and rates divided by it\n", s.Name, e)
	}
}

func (a *app) up(args []string) error {
	fs := flag.NewFlagSet("up", flag.ContinueOnError)
	foreground := fs.Bool("foreground", false, "stay, and take the fabric down when interrupted")
	scale := fs.Float64("scale", 1, "run the fabric this many times slower than the wall clock")
	sm := fs.String("sm", "", "none: no subnet manager, InfiniBand ports stay in state Init; or the node where ours is to run, such as h1 or h1:ib0; without it what the topology says")
	noIPoIB := fs.Bool("no-ipoib", false, "no IP interfaces on InfiniBand ports: the ports send nothing by themselves")
	lab := labOptions(fs)
	pos, err := a.parse(fs, args)
	if err != nil {
		return err
	}
	if err := checkLab(fs); err != nil {
		return err
	}
	if len(pos) != 1 {
		return usageError("name one topology file, or a shipped one: cnuas topologies lists them")
	}
	s, err := topology.Load(pos[0])
	if err != nil {
		return err
	}
	if *scale == 1 {
		a.warn(s)
	}
	if *sm != "" && !s.HasIB() {
		return usageError("--sm %s: fabric %s has no InfiniBand port, so no subnet manager", *sm, s.Name)
	}
	cfg := daemon.Config{Spec: s, Scale: *scale, SM: *sm, NoIPoIB: *noIPoIB, Log: a.err}
	var v *vm.Config
	if lab.on {
		if err := daemon.RackOutsideVM(s); err != nil {
			return err
		}
		if v, err = a.prepareLab(lab, s); err != nil {
			return err
		}
	} else if lab.given(fs) {
		return usageError("--kernel, --cpus, --memory, --self-contained and --with are about the lab VM: say --vm too")
	}
	if *foreground && v != nil {
		return daemon.RunVM(cfg, pos[0], *v, func(*daemon.Ready) {
			fmt.Fprintf(a.out, "fabric %s is up in a lab VM; interrupt to take it down\n", s.Name)
		})
	}
	if *foreground {
		return daemon.Run(cfg, func(*daemon.Ready) { fmt.Fprintf(a.out, "fabric %s is up; interrupt to take it down\n", s.Name) })
	}
	more := lab.args()
	if *noIPoIB {
		more = append(more, "--no-ipoib")
	}
	r, err := daemon.Start(*scale, *sm, pos[0], more...)
	if err != nil {
		return err
	}
	where := ""
	if v != nil {
		where = " in a lab VM"
	}
	fmt.Fprintf(a.out, "fabric %s is up%s: %s in %.2f s\n", s.Name, where, extent(s), r.Seconds)
	fmt.Fprint(a.out, "  ")
	if len(s.Nodes) > 0 {
		fmt.Fprintf(a.out, "cnuas exec %s -- PROGRAM    ", s.Nodes[0].Name)
	}
	if s.Rack != nil {
		fmt.Fprintf(a.out, "cnuas rack tty %s    ", s.Rack.Segments[0].Name)
	}
	fmt.Fprintf(a.out, "cnuas status    cnuas down %s\n", s.Name)
	return nil
}

// extent says how large a fabric is, and its rack.
func extent(s *topology.Spec) string {
	l := status.Extent(len(s.Nodes), len(s.Switches), len(s.Links))
	if r := s.Rack; r != nil {
		devices := 0
		for i := range r.Shelves {
			devices += len(r.Shelves[i].Devices())
		}
		l += ", " + status.RackExtent(len(r.Shelves), devices, len(r.Segments))
	}
	return l
}

// daemon is what up starts in the background.
func (a *app) daemon(args []string) error {
	fs := flag.NewFlagSet("daemon", flag.ContinueOnError)
	scale := fs.Float64("scale", 1, "")
	sm := fs.String("sm", "", "")
	noIPoIB := fs.Bool("no-ipoib", false, "")
	fd := fs.Int("ready-fd", -1, "descriptor on which to tell when the fabric is up")
	lab := labOptions(fs)
	pos, err := a.parse(fs, args)
	if err != nil {
		return err
	}
	if len(pos) != 1 || *fd < 0 {
		return usageError("started by cnuas up")
	}
	var v *vm.Config
	if lab.on {
		if v, err = lab.config(a.err); err != nil {
			return err
		}
	}
	return daemon.Background(pos[0], daemon.Config{Scale: *scale, SM: *sm, NoIPoIB: *noIPoIB, Log: a.err}, *fd, v)
}

func (a *app) down(args []string) error {
	fs := flag.NewFlagSet("down", flag.ContinueOnError)
	all := fs.Bool("all", false, "every fabric, and what dead daemons left")
	pos, err := a.parse(fs, args)
	if err != nil {
		return err
	}
	if len(pos) > 1 || *all && len(pos) > 0 {
		return usageError("one name, or --all")
	}
	name := ""
	if len(pos) == 1 {
		name = pos[0]
	}
	done, err := daemon.Down(name, *all)
	for _, d := range done {
		fmt.Fprintln(a.out, d)
	}
	return err
}
