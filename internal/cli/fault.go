package cli

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cnuas/internal/control"
	"cnuas/internal/daemon"
)

const faultForms = `one of
  cnuas fault link PORT down|up
  cnuas fault loss PORT PROBABILITY
  cnuas fault storm NODE:PORT --priority 3 --duty 100% [--for 100ms]
  cnuas fault mute PORT on|off
  cnuas fault clear`

func (a *app) fault(args []string) error {
	fs := flag.NewFlagSet("fault", flag.ContinueOnError)
	fabric := fs.String("fabric", "", "name of the fabric, if several are up")
	prio := fs.String("priority", "3", "storm: priorities to stop, 0 to 7, separated by commas, or all")
	duty := fs.String("duty", "100%", "storm: share of the time for which they are stopped; 0 ends the storm")
	length := fs.String("for", "", "storm: let it end by itself after so much simulated time, such as 100ms")
	pos, err := a.parse(fs, args)
	if err != nil {
		return err
	}
	if len(pos) == 0 {
		return usageError("say which: %s", faultForms)
	}
	req := daemon.FaultArgs{Kind: pos[0]}
	if *length != "" {
		d, err := time.ParseDuration(*length)
		if err != nil || d <= 0 || pos[0] != "storm" {
			return usageError(`--for %q: a storm can last for a time above 0, such as "100ms"`, *length)
		}
		req.ForNS = d.Nanoseconds()
	}
	switch {
	case pos[0] == "clear" && len(pos) == 1:
	case pos[0] == "link" && len(pos) == 3 && (pos[2] == "up" || pos[2] == "down"):
		req.Port, req.Up = pos[1], pos[2] == "up"
	case pos[0] == "mute" && len(pos) == 3 && (pos[2] == "on" || pos[2] == "off"):
		req.Port, req.Up = pos[1], pos[2] == "off"
	case pos[0] == "loss" && len(pos) == 3:
		if req.Share, err = fraction(pos[2]); err != nil {
			return usageError("loss: %v", err)
		}
		req.Port = pos[1]
	case pos[0] == "storm" && len(pos) == 2:
		if req.Share, err = fraction(*duty); err != nil {
			return usageError("--duty: %v", err)
		}
		if req.Priorities, err = priorities(*prio); err != nil {
			return usageError("--priority: %v", err)
		}
		req.Port = pos[1]
	default:
		return usageError("%q is not understood; %s", strings.Join(pos, " "), faultForms)
	}
	return a.applyFault(*fabric, req)
}

func (a *app) applyFault(fabric string, req daemon.FaultArgs) error {
	c, err := dialPort(fabric, req.Port)
	if req.Kind == "clear" {
		c, err = dialFabric(fabric)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	var done string
	if err := control.Call(c, daemon.OpFault, req, &done); err != nil {
		return err
	}
	fmt.Fprintln(a.out, done)
	return nil
}

func priorities(s string) (uint8, error) {
	if s == "all" {
		return 0xff, nil
	}
	var m uint8
	for _, x := range strings.Split(s, ",") {
		n, err := strconv.Atoi(x)
		if err != nil || n < 0 || n > 7 {
			return 0, fmt.Errorf("%q is not a priority from 0 to 7", x)
		}
		m |= 1 << n
	}
	return m, nil
}
