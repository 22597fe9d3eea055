package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"cnuas/internal/control"
	"cnuas/internal/daemon"
)

const smForms = `one of
  cnuas sm start NODE[:PORT] [--engine minhop|updn|ftree|dfsssp] [--priority N] [--lmc N] [--sweep 10s] [--qos] [--partitions FILE] [--poll 10s] [--max-smps N]
  cnuas sm stop NODE[:PORT]
  cnuas sm sweep [NODE[:PORT]]
  cnuas sm status [--json] [--verify]`

func (a *app) sm(args []string) error {
	fs := flag.NewFlagSet("sm", flag.ContinueOnError)
	fabric := fs.String("fabric", "", "name of the fabric, if several are up")
	asJSON := fs.Bool("json", false, "status: print JSON")
	verify := fs.Bool("verify", false, "status: follow every path of the tables in large subnets too, which holds the fabric up for a while")
	engine := fs.String("engine", "", "start: routing engine: minhop, updn, ftree or dfsssp")
	priority := fs.Int("priority", 0, "start: 0 to 15; the highest becomes master")
	lmc := fs.Int("lmc", 0, "start: 2^lmc LIDs for each port, 0 to 7")
	sweep := fs.Duration("sweep", 0, "start: interval of light sweeps in simulated time; 0: only when a trap comes")
	qos := fs.Bool("qos", false, "start: program SL2VL and VL arbitration, a lane for each service level")
	parts := fs.String("partitions", "", "start: file of partitions, in the syntax of opensm's partitions.conf")
	poll := fs.Duration("poll", 0, "start: interval at which a standby asks the master, in simulated time; after four without an answer it takes over")
	smps := fs.Int("max-smps", 0, "start: SMPs outstanding, 1 to 256; 0 is opensm's 4")
	pos, err := a.parse(fs, args)
	if err != nil {
		return err
	}
	if len(pos) == 0 {
		return usageError("say what: %s", smForms)
	}
	req := daemon.SMArgs{Action: pos[0], Poll: *poll, MaxSMPs: *smps, Verify: *verify}
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case pos[0] == "status" && len(pos) == 1, pos[0] == "sweep" && len(pos) == 1:
	case (pos[0] == "start" || pos[0] == "stop" || pos[0] == "sweep") && len(pos) == 2:
		req.Port = pos[1]
	default:
		return usageError("%q is not understood; %s", strings.Join(pos, " "), smForms)
	}
	for name := range given {
		look := name == "json" || name == "verify"
		ok := name == "fabric" || pos[0] == "start" && !look || pos[0] == "status" && look
		if !ok {
			return usageError("--%s does not go with sm %s; %s", name, pos[0], smForms)
		}
	}
	if err := checkRange("--priority", *priority, 15); err != nil {
		return err
	}
	if err := checkRange("--lmc", *lmc, 7); err != nil {
		return err
	}
	if err := checkRange("--max-smps", *smps, 256); err != nil {
		return err
	}
	if given["engine"] {
		req.Engine = engine
	}
	if given["priority"] {
		req.Priority = new(uint8)
		*req.Priority = uint8(*priority)
	}
	if given["lmc"] {
		req.LMC = new(uint8)
		*req.LMC = uint8(*lmc)
	}
	if given["sweep"] {
		if *sweep != 0 && *sweep < time.Millisecond {
			return usageError("--sweep %v: use 1ms or more, or 0", *sweep)
		}
		req.Sweep = sweep
	}
	if given["qos"] {
		req.QoS = qos
	}
	if given["partitions"] {
		b, err := os.ReadFile(*parts)
		if err != nil {
			return fmt.Errorf("--partitions: %w", err)
		}
		text := string(b)
		req.Partitions = &text
	}
	return a.askSM(*fabric, req, *asJSON)
}

func checkRange(name string, v, most int) error {
	if v < 0 || v > most {
		return usageError("%s %d: use 0 to %d", name, v, most)
	}
	return nil
}

func (a *app) askSM(fabric string, req daemon.SMArgs, asJSON bool) error {
	dial := func() (*net.UnixConn, error) { return dialPort(fabric, req.Port) }
	if req.Port == "" {
		dial = func() (*net.UnixConn, error) { return dialFabric(fabric) }
	}
	c, err := dial()
	if err != nil {
		return err
	}
	defer c.Close()
	var r daemon.SMReply
	if err := control.Call(c, daemon.OpSM, req, &r); err != nil {
		return err
	}
	if asJSON {
		e := json.NewEncoder(a.out)
		e.SetIndent("", "  ")
		return e.Encode(r.Managers)
	}
	if r.Done != "" {
		fmt.Fprintln(a.out, r.Done)
		return nil
	}
	if len(r.Managers) == 0 {
		fmt.Fprintln(a.out, "no subnet manager of ours runs; cnuas sm start NODE starts one")
	}
	for i := range r.Managers {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		r.Managers[i].Print(a.out)
	}
	return nil
}
