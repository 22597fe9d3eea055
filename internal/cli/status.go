package cli

import (
	"encoding/json"
	"flag"
	"fmt"

	"cnuas/internal/control"
	"cnuas/internal/daemon"
	"cnuas/internal/status"
)

func (a *app) status(args []string) error {
	fs := flag.NewFlagSet("status", flag.ContinueOnError)
	asJSON := fs.Bool("json", false, "print JSON: one object for a named fabric, else an array of all")
	pos, err := a.parse(fs, args)
	if err != nil {
		return err
	}
	if len(pos) > 1 {
		return usageError("one fabric at a time, not %d", len(pos))
	}
	var list []string
	if len(pos) == 1 {
		list = pos
	} else {
		for _, f := range daemon.Live() {
			list = append(list, f.Name)
		}
	}
	all := []*status.Fabric{}
	for _, n := range list {
		s, err := fetchStatus(n)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	if *asJSON {
		e := json.NewEncoder(a.out)
		e.SetIndent("", "  ")
		if len(pos) == 1 {
			return e.Encode(all[0])
		}
		return e.Encode(all)
	}
	if len(all) == 0 {
		fmt.Fprintln(a.out, "no fabric is up")
	}
	for i, s := range all {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		s.Print(a.out)
	}
	for _, d := range daemon.Dead() {
		fmt.Fprintf(a.err, "cnuas status: the daemon of fabric %s is dead; cnuas down %s removes what it left\n", d.Name, d.Name)
	}
	return nil
}

func fetchStatus(name string) (*status.Fabric, error) {
	c, err := dialFabric(name)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var s status.Fabric
	if err := control.Call(c, daemon.OpStatus, nil, &s); err != nil {
		return nil, err
	}
	return &s, nil
}
