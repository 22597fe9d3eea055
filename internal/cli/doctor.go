package cli

import (
	"flag"
	"fmt"
	"slices"
	"text/tabwriter"

	"cnuas/internal/host"
	"cnuas/internal/rdma"
	"cnuas/internal/seccomp"
	"cnuas/internal/vm"
	"cnuas/modbus/bmc"
)

// doctor prints one line per thing that a fabric needs or can use.
func (a *app) doctor(args []string) error {
	pos, err := a.parse(flag.NewFlagSet("doctor", flag.ContinueOnError), args)
	if err != nil {
		return err
	}
	if len(pos) > 0 {
		return usageError("takes no arguments")
	}
	bad := 0
	t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	line := func(name string, ok, needed bool, detail, remedy string) {
		mark := "ok"
		switch {
		case !ok && needed:
			mark = "MISSING"
			bad++
		case !ok:
			mark = "absent"
		}
		if !ok && remedy != "" {
			detail += "; " + remedy
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", mark, name, detail)
	}
	for _, c := range slices.Concat(host.Probe(), rdma.Checks(), vm.Probe(), bmc.Probe()) {
		line(c.Name, c.OK, c.Need, c.Detail, c.Remedy)
	}
	for _, c := range seccomp.Probe() {
		line(string(c.Feature), c.OK, !c.Optional, c.Detail, c.Remedy)
	}
	t.Flush()
	if bad > 0 {
		return &exitError{status: exitFailed, err: fmt.Errorf("%d things that a fabric needs are missing", bad)}
	}
	return nil
}
