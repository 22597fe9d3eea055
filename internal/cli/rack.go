package cli

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"net"
	"strings"
	"time"

	"cnuas/internal/control"
	"cnuas/internal/daemon"
	"cnuas/internal/topology"
	"cnuas/modbus/bus"
)

const rackForms = `one of
  cnuas rack status [--json]
  cnuas rack tty [SEGMENT] | socket [SEGMENT]
  cnuas rack show SHELF/SLOT [--json]
  cnuas rack set SHELF/SLOT NAME=VALUE...
  cnuas rack ac-loss SHELF [--phase N] | ac-restore SHELF [--phase N]
  cnuas rack unplug SHELF/SLOT | plug SHELF/SLOT
  cnuas rack load NODE POWER
  cnuas rack fault SEGMENT noise|bit-errors|drop|stray|late|wrong-crc|silent [--share 1%] [--delay 100ms] [--burst 2ms] [--every 50ms] [--slave SHELF/SLOT] [--for 10s]
  cnuas rack clear SEGMENT
  cnuas rack capture SEGMENT -w FILE|- [-c COUNT] [--duration 10s]
  cnuas rack probe TTY [--baud 19200,115200] [--parity even] [--stop 1] [--address 144-149 | --all] [--register 79 --count 4] [--timeout 70ms] [--echo] [--json]`

// rackFlags are the options of all rack commands; which go with which is
// checked when the action is known.
type rackFlags struct {
	fabric   *string
	json     *bool
	phase    *int
	share    *string
	delay    *time.Duration
	burst    *time.Duration
	every    *time.Duration
	slave    *string
	length   *time.Duration
	file     *string
	count    *uint64
	duration *time.Duration
	probe    probeFlags
}

// rackTakes tells how many arguments a rack command takes, and its options
// besides --fabric.
var rackTakes = map[string]struct {
	least, most int
	flags       string
}{
	"status":     {0, 0, "json"},
	"tty":        {0, 1, ""},
	"socket":     {0, 1, ""},
	"show":       {1, 1, "json"},
	"set":        {2, math.MaxInt, ""},
	"ac-loss":    {1, 1, "phase"},
	"ac-restore": {1, 1, "phase"},
	"unplug":     {1, 1, ""},
	"plug":       {1, 1, ""},
	"load":       {2, 2, ""},
	"fault":      {2, 2, "share delay burst every slave for"},
	"clear":      {1, 1, ""},
	"capture":    {1, 1, "w c duration"},
	"probe":      {1, 1, "json " + probeOptions},
}

// faultTakes are the options of rack fault that are not for all kinds.
var faultTakes = map[string]string{
	"noise":      "burst every",
	"bit-errors": "share slave",
	"drop":       "share slave",
	"stray":      "share slave",
	"late":       "share slave delay",
	"wrong-crc":  "share slave",
	"silent":     "share slave",
}

func (a *app) rack(args []string) error {
	fs := flag.NewFlagSet("rack", flag.ContinueOnError)
	o := rackFlags{
		fabric:   fs.String("fabric", "", "name of the fabric, if several with a rack are up"),
		json:     fs.Bool("json", false, "status, show, probe: print JSON"),
		phase:    fs.Int("phase", 0, "ac-loss, ac-restore: only this phase, 1 to 3; 0 is all"),
		share:    fs.String("share", "", "fault: probability, such as 1% or 1e-3: of a bit, a byte or a reply"),
		delay:    fs.Duration("delay", 100*time.Millisecond, "fault late: how much later replies come"),
		burst:    fs.Duration("burst", 2*time.Millisecond, "fault noise: length of a burst"),
		every:    fs.Duration("every", 50*time.Millisecond, "fault noise: mean time from one burst to the next"),
		slave:    fs.String("slave", "", "fault: only replies of this device"),
		length:   fs.Duration("for", 0, "fault: let it end by itself after this time, such as 10s"),
		file:     fs.String("w", "", "capture: file to write, pcapng; - is standard output"),
		count:    fs.Uint64("c", 0, "capture: stop after this many frames; 0 goes on until interrupted"),
		duration: fs.Duration("duration", 0, "capture: stop after this time, such as 10s; 0 goes on until interrupted"),
		probe:    probeOptionsOf(fs),
	}
	pos, err := a.parse(fs, args)
	if err != nil {
		return err
	}
	if len(pos) == 0 {
		return usageError("say what: %s", rackForms)
	}
	action := pos[0]
	takes, ok := rackTakes[action]
	if !ok {
		return usageError("%q is not understood; %s", strings.Join(pos, " "), rackForms)
	}
	if n := len(pos) - 1; n < takes.least || n > takes.most {
		return usageError("%q is not understood; write %s", strings.Join(pos, " "), formOf(rackForms, action))
	}
	fs.Visit(func(f *flag.Flag) {
		if f.Name != "fabric" && !wordIn(takes.flags, f.Name) || f.Name == "fabric" && action == "probe" {
			err = usageError("--%s does not go with rack %s; write %s", f.Name, action, formOf(rackForms, action))
		}
	})
	if err != nil {
		return err
	}
	switch action {
	case "fault":
		if err := checkFault(fs, pos[2]); err != nil {
			return err
		}
	case "probe":
		if err := checkProbe(fs); err != nil {
			return err
		}
	case "capture":
		if *o.duration < 0 {
			return usageError("--duration %v: use a time above 0, such as 10s", *o.duration)
		}
	}
	switch action {
	case "capture":
		return a.rackCapture(&o, pos[1])
	case "probe":
		return a.rackProbe(&o, pos[1])
	}
	req, err := rackRequest(&o, pos)
	if err != nil {
		return err
	}
	return a.askRack(&o, req)
}

// checkFault refuses options that mean nothing to the kind of a fault.
func checkFault(fs *flag.FlagSet, kind string) (err error) {
	takes, ok := faultTakes[kind]
	if !ok {
		return usageError("there is no fault %q of a segment; use one of %s", kind, strings.Join(bus.FaultKinds(), ", "))
	}
	fs.Visit(func(f *flag.Flag) {
		if f.Name != "fabric" && f.Name != "for" && !wordIn(takes, f.Name) {
			err = usageError("--%s does not go with the fault %s, which takes --%s", f.Name, kind, strings.Join(append(strings.Fields(takes), "for"), ", --"))
		}
	})
	return err
}

// checkProbe refuses options that the probe would pass over.
func checkProbe(fs *flag.FlagSet) (err error) {
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, x := range [][2]string{{"parity", "baud"}, {"stop", "baud"}, {"count", "register"}} {
		if given[x[0]] && !given[x[1]] {
			return usageError("--%s goes with --%s only: add it", x[0], x[1])
		}
	}
	return nil
}

func wordIn(list, word string) bool {
	for _, x := range strings.Fields(list) {
		if x == word {
			return true
		}
	}
	return false
}

// rackRequest is what the daemon is asked. pos has the right length.
func rackRequest(o *rackFlags, pos []string) (r daemon.RackArgs, err error) {
	r.Action = pos[0]
	if len(pos) > 1 {
		r.Name = pos[1]
	}
	switch pos[0] {
	case "show", "set", "unplug", "plug":
		// A shelf alone is enough if it has one device: the daemon knows.
		if shelf, slot, ok := strings.Cut(r.Name, "/"); shelf == "" || ok && slot == "" {
			return r, usageError("%q is not a device: write SHELF/SLOT, such as shelf1/psu3; cnuas rack status lists shelves", r.Name)
		}
	}
	switch pos[0] {
	case "set":
		for _, x := range pos[2:] {
			name, value, ok := strings.Cut(x, "=")
			if !ok || name == "" || value == "" {
				return r, usageError("%q: write NAME=VALUE: a fault, such as fan_fault=true, or a register by name or number, such as 79=0xC800", x)
			}
			r.Set = append(r.Set, daemon.RackSetting{Name: name, Value: value})
		}
	case "ac-loss", "ac-restore":
		if *o.phase < 0 || *o.phase > 3 {
			return r, usageError("--phase %d: use 1 to 3, or 0 for all", *o.phase)
		}
		r.Phase = *o.phase
	case "load":
		if r.Watts, err = topology.ParsePower(pos[2]); err != nil {
			return r, usageError("%v; write it as 600W or 1.2kW", err)
		}
	case "fault":
		if r.Fault, err = rackFault(o, pos[2]); err != nil {
			return r, err
		}
	}
	return r, nil
}

// rackFault reads the options of a fault of a segment.
func rackFault(o *rackFlags, kind string) (*daemon.RackFault, error) {
	f := &daemon.RackFault{Kind: kind, Slave: *o.slave, For: *o.length, Share: 1}
	switch kind {
	case "drop":
		f.Share = 0.01
	case "bit-errors":
		f.Share = 0.001
	case "noise":
		f.Burst, f.Every = *o.burst, *o.every
	case "late":
		f.Delay = *o.delay
	}
	if *o.share != "" {
		v, err := fraction(*o.share)
		if err != nil || v == 0 {
			return nil, usageError("--share %s: use a share above 0 and up to 1, such as 1%% or 1e-3", *o.share)
		}
		f.Share = v
	}
	if *o.length < 0 || *o.delay <= 0 || *o.burst <= 0 || *o.every < *o.burst {
		return nil, usageError("--for, --delay, --burst and --every are times above 0, such as 10s, and bursts end before the next")
	}
	if s := *o.slave; s != "" && !strings.Contains(s, "/") {
		return nil, usageError("--slave %q is not a device: write SHELF/SLOT, such as shelf1/psu3", s)
	}
	return f, nil
}

func (a *app) askRack(o *rackFlags, req daemon.RackArgs) error {
	c, err := dialRack(*o.fabric, req)
	if err != nil {
		return err
	}
	defer c.Close()
	var r daemon.RackReply
	if err := control.Call(c, daemon.OpRack, req, &r); err != nil {
		return err
	}
	switch {
	case *o.json && r.Device != nil:
		return a.printJSON(r.Device)
	case *o.json:
		return a.printJSON(r.Rack)
	case r.Device != nil:
		r.Device.Print(a.out)
	case r.Rack != nil:
		r.Rack.Print(a.out)
	default:
		fmt.Fprintln(a.out, r.Done)
	}
	return nil
}

func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

var errNoRackUp = errors.New("no fabric is up; bring one with a rack up: cnuas up rack")

// dialRack connects to the daemon of the fabric that has the rack. With several
// racks up it is the one that has what the request names.
func dialRack(fabric string, req daemon.RackArgs) (*net.UnixConn, error) {
	live := daemon.Live()
	if fabric == "" && len(live) == 0 {
		return nil, errNoRackUp
	}
	if fabric != "" || len(live) < 2 {
		return dialFabric(fabric)
	}
	var racks, found []daemon.Instance
	for _, f := range live {
		c, err := dialFabric(f.Name)
		if err != nil {
			continue
		}
		var names daemon.RackReply
		if control.Call(c, daemon.OpRack, daemon.RackArgs{Action: "names", Name: req.Name}, &names) == nil {
			racks = append(racks, f)
			if names.Done != "" {
				found = append(found, f)
			}
		}
		c.Close()
	}
	switch {
	case len(racks) == 0:
		return nil, fmt.Errorf("no fabric that is up (%s) has a rack", names(live))
	case len(racks) == 1:
		return dialFabric(racks[0].Name)
	case len(found) == 1:
		return dialFabric(found[0].Name)
	}
	return nil, fmt.Errorf("several fabrics (%s) have a rack: say which with --fabric NAME", names(racks))
}
