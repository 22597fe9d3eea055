package cli

import (
	"flag"
	"fmt"
	"strconv"

	"cnuas/internal/control"
	"cnuas/internal/daemon"
	"cnuas/internal/launch"
)

func (a *app) exec(args []string) error {
	fs := flag.NewFlagSet("exec", flag.ContinueOnError)
	fabric := fs.String("fabric", "", "name of the fabric; needed only if two have a node of this name")
	nice := fs.Int("nice", launch.DefaultNice, "nice value of the program, 1 to 19: a program that polls must not take the engine's core; -1 leaves it alone")
	fs.SetOutput(a.err)
	fs.Usage = func() {
		fmt.Fprintln(a.err, "usage: cnuas exec [--fabric NAME] [--nice N] NODE -- PROGRAM [ARG...]")
		fs.PrintDefaults()
	}
	// Options end at the node's name: what follows belongs to the program.
	if err := fs.Parse(args); err != nil {
		if err == flag.ErrHelp {
			return err
		}
		return &exitError{status: exitExecErr}
	}
	rest := fs.Args()
	if len(rest) > 1 && rest[1] == "--" {
		rest = append(rest[:1:1], rest[2:]...)
	}
	if len(rest) < 2 {
		return &exitError{status: exitExecErr, err: fmt.Errorf("name a node and a program: cnuas exec h1 -- ib_write_bw -d rxe0")}
	}
	node, argv := rest[0], rest[1:]
	c, name, err := dialNode(*fabric, node)
	if err != nil {
		return &exitError{status: exitExecErr, err: err}
	}
	defer c.Close()
	var r daemon.ExecReply
	if err := control.Call(c, daemon.OpExec, daemon.ExecArgs{Node: node}, &r); err != nil {
		return &exitError{status: exitExecErr, err: err}
	}
	if r.VM {
		status, err := a.execLab(c, r.SelfContained, append([]string{"cnuas", "exec", "--nice", strconv.Itoa(*nice), node, "--"}, argv...))
		if status != 0 || err != nil {
			return programError(status, err)
		}
		return nil
	}
	status, err := launch.Exec(launch.Config{
		Conn: c, Fabric: name, Node: node, NetNS: r.NetNS, SysfsDir: r.SysfsDir, Kernel: r.Kernel, Argv: argv, Nice: *nice,
	})
	if status != 0 || err != nil {
		return programError(status, err)
	}
	return nil
}
